"""``plan``: will so many servers more fit, where would they go, if not why, and what would help?

The way of the data: the options (and a policy's and a profile's spec) become a request, the cloud
or a file becomes a snapshot; the preflight answers; the answer is drawn, or printed as it is.

Units: exit statuses are 0 (fits), 3 (does not), 1 (could not find out), 2 (usage).
"""

from __future__ import annotations

import argparse
import dataclasses
import logging
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

from senlin_affinity.cli import (
    base,
    config_file,
    plan_notes,
    plan_view,
    snapshot_source,
    spec_file,
)
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.core import planner, question, spread
from senlin_affinity.core.decision import Decision
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.objects import CloudSnapshot
from senlin_affinity.policy import properties, request
from senlin_affinity.policy.profile import check_applicable, group_hint

LOG = logging.getLogger(__name__)

_STATUS = {True: 0, False: 3, None: 1}
#: Every server that fits is placed: more would only cost memory, for the capacity is the same.
_MOST = 1_000_000
_SPREAD = 'by=rack[,max_skew=N][,max_per_domain=N][,mode=soft]'


class Plan(base.ShowOne):
    """Say whether more servers fit: how many, where, why not more, and what would help."""

    _decision: Decision
    _snapshot: CloudSnapshot
    _notes: plan_notes.Notes

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add the request and the snapshot."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--count', metavar='N', type=_count, required=True, help='how many servers more'
        )
        parser.add_argument('--flavor', metavar='F', help='the name or id of their flavor')
        parser.add_argument(
            '--profile', metavar='FILE', help='the spec of a Senlin profile: flavor, zone, group'
        )
        parser.add_argument(
            '--policy', metavar='FILE', help='the spec of an affinity policy that they keep to'
        )
        parser.add_argument(
            '--server-group', metavar='G', help='the name or id of the server group they join'
        )
        parser.add_argument(
            '--project',
            metavar='P',
            help='the name or id of the project they belong to (default: that of their server '
            'group, or else your own)',
        )
        parser.add_argument('--availability-zone', metavar='Z', help='the zone they must be in')
        parser.add_argument(
            '--member-of',
            metavar='E',
            action='append',
            default=[],
            help='aggregates that their hosts must or must not be in, by name or id: in:a,b or !c; '
            'may be repeated',
        )
        parser.add_argument(
            '--spread',
            metavar='S',
            action='append',
            default=[],
            type=_pairs,
            help=f'domains that they are spread over, {_SPREAD}; by a metadata key of aggregates, '
            'or availability_zone; may be repeated',
        )
        parser.add_argument(
            '--image-property',
            metavar='K=V',
            action='append',
            default=[],
            type=_pair,
            help='a property of their image, such as trait:CUSTOM_X=required; may be repeated',
        )
        parser.add_argument(
            '--boot-from-volume',
            action='store_true',
            help='their root disk is a volume: a host needs no room for it',
        )
        parser.add_argument(
            '--enabled-filters',
            metavar='LIST',
            help="nova.conf's enabled_filters, with commas (default: the option of the file, or "
            "Nova's own)",
        )
        parser.add_argument(
            '--option',
            metavar='NAME=VALUE',
            action='append',
            default=[],
            type=_pair,
            help="an option of a rule, in place of the file's (constraint list names them); may be "
            'repeated',
        )
        parser.add_argument(
            '--config-file',
            metavar='FILE',
            help="options of this project, such as senlin.conf, or nova.conf's enabled_filters",
        )
        parser.add_argument(
            '--snapshot',
            metavar='FILE',
            help='plan on a saved snapshot, without a cloud ("-": from standard input)',
        )
        base.add_timeout(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        """Ask, plan, answer."""
        from senlin_affinity import preflight

        if not parsed_args.flavor and not parsed_args.profile:
            raise base.UsageError('name a flavor with --flavor, or a profile with --profile')
        constraints = preflight.load_constraints()
        options = _options(parsed_args, constraints)
        asked = _asked(parsed_args, options)
        self._snapshot, unknown, project = self._look(parsed_args, asked)
        asked = dataclasses.replace(asked, project_id=project)
        asked_request, snapshot, rules = request.build(asked, self._snapshot)
        if parsed_args.boot_from_volume:
            asked_request = dataclasses.replace(asked_request, is_volume_booted=True)
        looked_up = question.ask(asked_request, snapshot, rules)
        self._notes = plan_notes.notes(
            asked_request, self._snapshot, snapshot, unknown, looked_up.server_group
        )
        self._notes = dataclasses.replace(
            self._notes,
            config_file=parsed_args.config_file,
            options=options.found,
            question=looked_up,
        )
        modelled = {name for constraint in constraints for name in constraint.filters}
        for name, near in plan_notes.misspelt(asked_request.enabled_filters, modelled):
            LOG.warning('enabled_filters: nobody knows %s: did you mean %s?', name, near)
        self._decision = planner.decide(looked_up, constraints)
        self.exit_status = _STATUS[self._decision.fits]
        answer = self._decision.as_dict()
        return tuple(answer), tuple(answer.values())

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Any, data: Any) -> Any:
        """Draw a table of our own; every other format is cliff's."""
        if parsed_args.formatter != 'table' or parsed_args.columns:
            if self._notes.options:
                named = ', '.join(self._notes.options)
                LOG.info('options read from %s: %s', parsed_args.config_file, named)
            return super().produce_output(parsed_args, column_names, data)
        plan_view.show(self._decision, self._snapshot, self.app.stdout, self._notes)
        return 0

    def _look(
        self, parsed_args: argparse.Namespace, asked: request.Asked
    ) -> tuple[CloudSnapshot, Mapping[str, str], str | None]:
        """The cloud, from the file or live; why parts of it are not known; and whose plan it is."""
        path, project = parsed_args.snapshot, parsed_args.project
        if path is not None:
            read = snapshot_source.read(path, self.app.stdin)
            snapshot_source.check_project(project, read)
            return read, {}, project
        if not self.has_cloud():
            raise base.UsageError('name a cloud with --os-cloud, or a file with --snapshot')
        from senlin_affinity.cloud import projects, snapshot

        groups, timeout = request.groups(asked), parsed_args.timeout
        connection = self.connection(timeout)
        taken = snapshot.take(
            connection,
            server_groups=groups,
            project_id=None if project is None else projects.find(connection, project, timeout),
            is_project_of_group=True,
            timeout=timeout,
        )
        unknown = dict(taken.unknown)
        if not groups:  # then it says no more than that none was asked about
            unknown.pop('server_groups', None)
        # A group says itself whose it is; a project that was named goes before.
        return taken.snapshot, unknown, None if project is None else taken.snapshot.project_id


def _options(
    parsed_args: argparse.Namespace, constraints: Sequence[Constraint]
) -> config_file.Options:
    """Those of the file and those that are given, with a warning where the file says nothing."""
    options = _of_file(parsed_args, constraints)
    if not parsed_args.option:
        return options
    given = config_file.values(parsed_args.option, constraints)
    rules = dataclasses.replace(options.rules, options={**options.rules.options, **given})
    return dataclasses.replace(options, rules=rules)


def _of_file(
    parsed_args: argparse.Namespace, constraints: Sequence[Constraint]
) -> config_file.Options:
    """Those of the file, with a warning where it says nothing, or two things."""
    path = parsed_args.config_file
    if path is None:
        return config_file.Options()
    options = config_file.read(path, constraints)
    if not options.found:
        LOG.warning('%s has none of the options that count in a plan', path)
    if parsed_args.enabled_filters is not None:
        return options.without_filters()
    if options.is_ambiguous:
        LOG.warning(
            '%s: [affinity] enabled_filters counts, and [filter_scheduler] has other filters', path
        )
    return options


def _asked(parsed_args: argparse.Namespace, options: config_file.Options) -> request.Asked:
    filters = options.filters
    if parsed_args.enabled_filters is not None:
        names = (name.strip() for name in parsed_args.enabled_filters.split(','))
        filters = tuple(name for name in names if name)
    return request.Asked(
        parsed_args.count,
        parsed_args.flavor,
        _read(parsed_args.policy, properties.load),
        _read(parsed_args.profile, _profile),
        parsed_args.server_group,
        parsed_args.availability_zone,
        tuple(parsed_args.member_of),
        dict(parsed_args.image_property) or None,
        enabled_filters=filters,
        rules=options.rules,
        spread=spread.read_all(parsed_args.spread, 'spread'),
    )


def _profile(spec: Any) -> Mapping[str, Any]:
    checked = check_applicable(spec)
    group_hint(checked)
    return checked


def _read(path: str | None, reader: Any) -> Any:
    """What the reader makes of a file; its errors name the file."""
    if path is None:
        return None
    spec = spec_file.read(path)
    try:
        return reader(spec)
    except InvalidSpec as error:
        raise InvalidSpec(str(error), path) from error


def _count(text: str) -> int:
    digits = text.lstrip('0') or '0'
    is_number = text.isascii() and text.isdigit() and len(digits) <= len(str(_MOST))
    if not is_number or int(digits) > _MOST:
        shown = reprlib.repr(text)
        raise argparse.ArgumentTypeError(f'must be a number from 0 to {_MOST:,}, not {shown}')
    return int(digits)


def _pairs(text: str) -> Mapping[str, str]:
    """What ``core.spread`` reads, with its numbers as they were written."""
    pairs = [part.partition('=') for part in text.split(',')]
    values = {key.strip(): value.strip() for key, equals, value in pairs if equals}
    if len(values) < len(pairs):
        raise argparse.ArgumentTypeError(f'must be {_SPREAD}, each key once, not {text!r}')
    return values


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition('=')
    if not key or not equals:
        raise argparse.ArgumentTypeError(f'must be K=V, not {text!r}')
    return key, value
