"""``plan``: will so many servers more fit, where would they go, if not why, and what would help?

Data flow: the options (and a policy's and a profile's spec) become a question, the cloud or a file
is looked at; ``api`` answers; the answer is drawn, or printed as it is.

Units: exit statuses are 0 (fits), 4 (fits by an upper bound only), 3 (does not fit), 1 (could not
find out), 2 (usage).
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
from senlin_affinity.conf.told import Told
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.core import planner
from senlin_affinity.core.image import NONE
from senlin_affinity.policy import properties
from senlin_affinity.policy.profile import check_applicable, group_hint
from senlin_affinity.policy.question import ask

LOG = logging.getLogger(__name__)

_STATUS = {True: 0, False: 3, None: 1}
_UNSURE = 4
_NO_IMAGE = 'none'
#: Every server that fits is placed: more would only cost memory, for the capacity is the same.
_MOST = 1_000_000
_REPEATED: Mapping[str, Any] = {'action': 'append', 'default': []}
_SPREAD = 'by=rack[,max_skew=N][,max_per_domain=N][,mode=soft]'


class Plan(base.ShowOne):
    """Say whether more servers fit: how many, where, why not more, and what would help."""

    _answer: plan_notes.Answer

    def _add_arguments(self, add: base.Add) -> None:
        add('--count', metavar='N', type=_count, required=True, help='how many servers more')
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
        base.add_file_size(add)
        base.add_timeout(add)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Ask, look, answer."""
        if not parsed_args.flavor and not parsed_args.profile:
            raise base.UsageError('name a flavor with --flavor, or a profile with --profile')
        constraints = load_constraints()
        told, found = config_file.told(
            parsed_args.config_file,
            parsed_args.nova_conf,
            constraints,
            are_filters_given=parsed_args.enabled_filters is not None,
        )
        asked, look = self._look(parsed_args, _question(parsed_args, told, constraints))
        looked_up = ask(asked, look)
        modelled = {name for constraint in constraints for name in constraint.filters}
        for name, near in plan_notes.misspelt(looked_up.request.enabled_filters, modelled):
            LOG.warning('enabled_filters: unknown filter %s: did you mean %s?', name, near)
        decision = planner.decide(looked_up, constraints)
        self._answer = plan_notes.Answer(decision, looked_up, look, found)
        self.exit_status = _status(
            decision, parsed_args.strict, is_bound_enough=parsed_args.accept_upper_bound
        )
        answer = decision.as_dict()
        return tuple(answer), tuple(answer.values())

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Any, data: Any) -> Any:
        """Draw a table of our own; every other format is cliff's."""
        if parsed_args.formatter != 'table' or parsed_args.columns:
            for file, options in self._answer.options.items():
                if options:
                    LOG.info('options read from %s: %s', file, ', '.join(options))
            return super().produce_output(parsed_args, column_names, data)
        # Imported here: rich is for tables only.
        from senlin_affinity.cli import plan_view

        plan_view.show(self._answer, self.app.stdout)
        return 0

    def _look(
        self, parsed_args: argparse.Namespace, question: api.Question
    ) -> tuple[api.Question, api.Look]:
        """The question, with the id of its project, and the cloud, from the file or live."""
        project, timeout = parsed_args.project, parsed_args.timeout
        if parsed_args.snapshot is not None:
            given.check_image(question.image)
            look = given.look(parsed_args.snapshot, self.app.stdin, parsed_args.max_file_size)
            given.check_project(project, look.snapshot)
            return question, look
        connection = self.cloud_in_place_of_file(timeout)
        from senlin_affinity.cloud import projects

        if project is not None:
            project = projects.find(api.eyes_of(connection).owner, project, timeout)
            question = dataclasses.replace(question, project_id=project)
        return question, api.look(connection, question, timeout)


def _question(
    parsed_args: argparse.Namespace,
    told: Told,
    constraints: Sequence[Constraint],
) -> api.Question:
    filters, values = told.filters, told.values
    if parsed_args.option:
        from senlin_affinity.conf import opts

        values = {**values, **opts.read(dict(parsed_args.option), constraints, '--option ')}
    if parsed_args.enabled_filters is not None:
        names = (name.strip() for name in parsed_args.enabled_filters.split(','))
        filters = tuple(name for name in names if name)
    return api.Question(
        parsed_args.count,
        parsed_args.flavor,
        parsed_args.server_group,
        given.spec(parsed_args.policy, properties.load) if parsed_args.policy else None,
        given.spec(parsed_args.profile, _profile) if parsed_args.profile else None,
        parsed_args.availability_zone,
        tuple(parsed_args.member_of),
        tuple(parsed_args.spread),
        dict(parsed_args.image_property) or None,
        parsed_args.boot_from_volume,
        parsed_args.project,
        filters,
        values,
        told.keys,
        NONE if parsed_args.image == _NO_IMAGE else parsed_args.image,
    )


def _status(decision: api.Decision, is_strict: bool, *, is_bound_enough: bool) -> int:
    """The exit status: 4 for servers that fit as far as somebody can tell."""
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
