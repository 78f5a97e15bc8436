"""Answer with ``plan`` whether more servers fit, on which hosts, and which changes would help.

The options (and the specs of a policy and a profile) become a question. The snapshot comes from the
cloud or a file; ``api`` answers; the answer is drawn as a table or printed in cliff's formats.

Units: exit statuses are 0 (fits), 4 (fits by an upper bound only), 3 (does not fit), 1 (unknown), 2
(usage).
"""

from __future__ import annotations

import argparse
import dataclasses
import logging
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

from senlin_affinity import api
from senlin_affinity.cli import base, config_file, given, plan_notes
from senlin_affinity.conf.installed import load_constraints
from senlin_affinity.conf.settings import Settings
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.model.image import NONE
from senlin_affinity.planner import planner
from senlin_affinity.policy import properties
from senlin_affinity.policy.profile import check_applicable, group_hint
from senlin_affinity.preflight.question import ask

LOG = logging.getLogger(__name__)

_STATUS = {True: 0, False: 3, None: 1}
_UNSURE = 4
_NO_IMAGE = 'none'
#: Every server that fits is placed: more would cost memory and not change the capacity.
_MOST = 1_000_000
_REPEATED: Mapping[str, Any] = {'action': 'append', 'default': []}
_SPREAD = 'by=rack[,max_skew=N][,max_per_domain=N][,mode=soft]'


class Plan(base.ShowOne):
    """Say whether more servers fit: how many, where, why not more, and what would help."""

    _answer: plan_notes.Answer

    def _add_arguments(self, add: base.Add) -> None:
        add(
            '--count',
            metavar='N',
            type=_count,
            default=1,
            help='how many more servers (default: 1)',
        )
        add('--flavor', metavar='F', help='the name or id of their flavor')
        add('--profile', metavar='FILE', help='the spec of a Senlin profile: flavor, zone, group')
        add('--policy', metavar='FILE', help='the spec of an affinity policy that they keep to')
        add('--server-group', metavar='G', help='the name or id of the server group they join')
        add(
            '--project',
            metavar='P',
            help='the name or id of the project they belong to (default: that of their server '
            'group, or else your own)',
        )
        add('--availability-zone', metavar='Z', help='the zone they must be in')
        add(
            '--member-of',
            metavar='E',
            **_REPEATED,
            help='aggregates that their hosts must or must not be in, by name or id: in:a,b or !c; '
            'may be repeated',
        )
        add(
            '--spread',
            metavar='S',
            **_REPEATED,
            type=_pairs,
            help=f'domains that they are spread over, {_SPREAD}; by a metadata key of aggregates, '
            'or availability_zone; may be repeated',
        )
        add(
            '--hint',
            metavar='KEY=VALUE',
            **_REPEATED,
            type=_pair,
            help='a scheduler hint, such as same_host=ID or group=ID, in place of that of the '
            'profile; may be repeated, also with the same key',
        )
        add(
            '--image',
            metavar='I',
            help='the name or id of their image, or "none" for one that asks for nothing; a '
            'snapshot holds no images',
        )
        add(
            '--image-property',
            metavar='K=V',
            **_REPEATED,
            type=_pair,
            help='a property of their image, such as trait:CUSTOM_X=required, beside those that '
            'it has; may be repeated',
        )
        add(
            '--boot-from-volume',
            action='store_true',
            help='their root disk is a volume: a host needs no room for it',
        )
        add(
            '--enabled-filters',
            metavar='LIST',
            help="nova.conf's enabled_filters, with commas (default: the option of the file, or "
            "Nova's own)",
        )
        add(
            '--option',
            metavar='NAME=VALUE',
            **_REPEATED,
            type=_pair,
            help="an option of a rule, in place of the file's (constraint list names them); may be "
            'repeated',
        )
        add(
            '--config-file',
            metavar='FILE',
            help="options of this project, such as senlin.conf, or nova.conf's enabled_filters",
        )
        add(
            '--nova-conf',
            metavar='FILE',
            **_REPEATED,
            help='nova.conf, or a directory of *.conf: what it says of where servers go, and '
            "Nova's default of what it does not say; may be repeated",
        )
        add(
            '--snapshot',
            metavar='FILE',
            help='plan on a saved snapshot, without a cloud ("-": from standard input)',
        )
        add(
            '--strict',
            action='store_true',
            help='count what nobody told as unsure: exit status 4 where the answer rests on it',
        )
        add(
            '--accept-upper-bound',
            action='store_true',
            help='exit status 0, not 4, for servers that only fit if the host takes as many as '
            '"at most" says',
        )
        add(
            '--no-skipped',
            action='store_true',
            help='omit the verdicts with the outcome SKIP from -f json and similar formats; for '
            'many hosts, these verdicts are most of the output',
        )
        base.add_file_size(add)
        base.add_timeout(add)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Build the question, fetch the snapshot and return the decision."""
        if not parsed_args.flavor and not parsed_args.profile:
            raise base.UsageError('name a flavor with --flavor, or a profile with --profile')
        constraints = load_constraints()
        settings, found = config_file.settings(
            parsed_args.config_file,
            parsed_args.nova_conf,
            constraints,
            are_filters_given=parsed_args.enabled_filters is not None,
        )
        asked, view = self._view(parsed_args, _question(parsed_args, settings, constraints))
        looked_up = ask(asked, view)
        modelled = {name for constraint in constraints for name in constraint.filters}
        for name, near in plan_notes.misspelt(looked_up.request.enabled_filters, modelled):
            LOG.warning('enabled_filters: unknown filter %s: did you mean %s?', name, near)
        decision = planner.decide(looked_up, constraints)
        is_file = parsed_args.snapshot is not None
        self._answer = plan_notes.Answer(decision, looked_up, view, found, is_file)
        self.exit_status = _status(
            decision, parsed_args.strict, is_bound_enough=parsed_args.accept_upper_bound
        )
        answer = decision.as_dict(skipped=not parsed_args.no_skipped)
        return tuple(answer), tuple(answer.values())

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Any, data: Any) -> Any:
        """Print a table of this project, or one of cliff's other formats."""
        if parsed_args.formatter != 'table' or parsed_args.columns:
            for file, options in self._answer.options.items():
                if options:
                    LOG.info('options read from %s: %s', file, ', '.join(options))
            return super().produce_output(parsed_args, column_names, data)
        # Imported here: only tables need rich.
        from senlin_affinity.cli import plan_view

        plan_view.show(self._answer, self.app.stdout)
        return 0

    def _view(
        self, parsed_args: argparse.Namespace, question: api.Question
    ) -> tuple[api.Question, api.CloudView]:
        """Return the question with the id of its project, and the snapshot."""
        project, timeout = parsed_args.project, parsed_args.timeout
        if parsed_args.snapshot is not None:
            given.check_image(question.image)
            view = given.view(parsed_args.snapshot, self.app.stdin, parsed_args.max_file_size)
            given.check_project(project, view.snapshot)
            return question, view
        connection = self.cloud_in_place_of_file(timeout)
        from senlin_affinity.cloud import projects

        if project is not None:
            project = projects.find(api.clients_of(connection).owner, project, timeout)
            question = dataclasses.replace(question, project_id=project)
        return question, api.fetch(connection, question, timeout)


def _question(
    parsed_args: argparse.Namespace,
    settings: Settings,
    constraints: Sequence[Constraint],
) -> api.Question:
    filters, values = settings.filters, settings.values
    if parsed_args.option:
        from senlin_affinity.conf import opts

        values = {**values, **opts.read(dict(parsed_args.option), constraints, '--option ')}
    if parsed_args.enabled_filters is not None:
        names = (name.strip() for name in parsed_args.enabled_filters.split(','))
        filters = tuple(name for name in names if name)
    return api.Question(
        parsed_args.count,
        parsed_args.flavor,
        server_group=parsed_args.server_group,
        policy=given.spec(parsed_args.policy, properties.load) if parsed_args.policy else None,
        profile=given.spec(parsed_args.profile, _profile) if parsed_args.profile else None,
        availability_zone=parsed_args.availability_zone,
        member_of=tuple(parsed_args.member_of),
        spread=tuple(parsed_args.spread),
        image_properties=dict(parsed_args.image_property) or None,
        is_volume_booted=parsed_args.boot_from_volume,
        project_id=parsed_args.project,
        enabled_filters=filters,
        options=values,
        explicit_options=settings.keys,
        image=NONE if parsed_args.image == _NO_IMAGE else parsed_args.image,
        scheduler_hints=_hints(parsed_args.hint),
    )


def _hints(pairs: Sequence[tuple[str, str]]) -> Mapping[str, Any]:
    """Return the hints as ``openstack server create`` sends them: a key given twice is a list."""
    values: dict[str, list[str]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    return {key: each if len(each) > 1 else each[0] for key, each in values.items()}


def _status(decision: api.Decision, is_strict: bool, *, is_bound_enough: bool) -> int:
    """Return the exit status: 4 if it fits by an upper bound or, if strict, by assumptions."""
    is_assumed = is_strict and decision.wanted > 0 and bool(decision.assumptions)
    is_bounded = decision.fits_by_upper_bound and not is_bound_enough
    return _UNSURE if decision.fits and (is_assumed or is_bounded) else _STATUS[decision.fits]


def _profile(spec: Any) -> Mapping[str, Any]:
    checked = check_applicable(spec)
    group_hint(checked)
    return checked


def _count(text: str) -> int:
    digits = text.lstrip('0') or '0'
    is_number = text.isascii() and text.isdigit() and len(digits) <= len(str(_MOST))
    if not is_number or int(digits) > _MOST:
        shown = reprlib.repr(text)
        raise argparse.ArgumentTypeError(f'must be a number from 0 to {_MOST:,}, not {shown}')
    return int(digits)


def _pairs(text: str) -> Mapping[str, str]:
    """Parse ``by=rack,max_skew=1`` into a mapping of strings for ``model.spread``."""
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
