"""Answer with ``plan`` whether more servers fit, on which hosts, and which changes would help.

With ``--server`` and ``--action``, it answers whether Nova finds a host for an existing server.
With a file, it is about all of its requests together: see :mod:`~senlin_affinity.cli.workload`.

Exit statuses are 0 (fits), 4 (fits by an upper bound only; or no order was found in which several
requests fit), 3 (does not fit), 1 (unknown), 2 (usage).
"""

from __future__ import annotations

import argparse
import dataclasses
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from senlin_affinity import api, engine
from senlin_affinity.answers.suggestions import suggested
from senlin_affinity.cli import base, given, request_options, view_notes, workload
from senlin_affinity.cli.view import show_plan
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.nova.actions import Action, ServerAction
from senlin_affinity.policy import properties
from senlin_affinity.policy.profile import check_applicable, group_hint
from senlin_affinity.preflight.question import resolve_question
from senlin_affinity.preflight.server_action import asking, describe, question_of
from senlin_affinity.scenario.scenario import Scenario

LOG = logging.getLogger(__name__)

_SPREAD = 'by=rack[,max_skew=N][,max_per_domain=N][,mode=soft]'
_ACTIONS = tuple(each.value for each in Action)
#: The options that only new servers have.
_OF_NEW = (
    *('count', 'profile', 'policy', 'server_group', 'project', 'user', 'ignore_quotas'),
    *('availability_zone', 'member_of', 'spread', 'hint', 'boot_from_volume', 'snapshot'),
)
#: The options that an action must have.
_NEEDED: Mapping[Action, str] = {Action.RESIZE: 'flavor', Action.REBUILD: 'image'}
_WITH_HOST = frozenset((Action.MIGRATE, Action.LIVE_MIGRATE, Action.EVACUATE, Action.UNSHELVE))


class Plan(base.ShowOne):
    """Show whether more servers fit and where, why hosts are rejected, and what would help."""

    example = '--count 6 --flavor m1.small --server-group web'

    _answer: view_notes.Answer
    _options: Mapping[str, Sequence[str]]
    _shown: workload.Shown | None = None

    def _add_arguments(self, add: base.Add) -> None:
        add(
            'file',
            nargs='?',
            metavar='FILE',
            help='plan all servers of a file together: a list of servers in YAML, the output of '
            '"terraform show -json PLANFILE", or a Heat template',
        )
        add(
            '--parameter',
            metavar='K=V',
            **request_options.REPEATED,
            type=request_options.pair,
            help='a parameter of the Heat template in FILE; may be repeated',
        )
        add(
            '--count',
            metavar='N',
            type=request_options.count,
            help='the number of new servers (default: 1)',
        )
        add('--flavor', metavar='F', help='the flavor of the servers, by name or id')
        add(
            '--server',
            metavar='S',
            help='ask about an action on this server, by name or id, instead of new servers',
        )
        add(
            '--action',
            metavar='A',
            choices=_ACTIONS,
            help=f'the action: {", ".join(_ACTIONS)}; a resize needs --flavor, a rebuild the new '
            '--image, and the others take --host',
        )
        add('--profile', metavar='FILE', help='a profile spec: flavor, zone and server group')
        add('--policy', metavar='FILE', help='the affinity policy of the servers')
        add('--server-group', metavar='G', help='the server group of the servers, by name or id')
        add(
            '--project',
            metavar='P',
            help='the project of the servers, by name or id (default: the project of the server '
            'group, or your own)',
        )
        add(
            '--user',
            metavar='U',
            help='the user who requests the servers, by name or id (default: you; in another '
            'project, the creator of the server group)',
        )
        add(
            '--ignore-quotas',
            action='store_true',
            help='answer for the hosts alone, as if there were no quotas',
        )
        add('--availability-zone', metavar='Z', help='the availability zone of the servers')
        add(
            '--host',
            metavar='H',
            help='ask about this host only; the scheduler filters apply, unlike for '
            '--availability-zone ZONE:HOST',
        )
        add(
            '--member-of',
            metavar='E',
            **request_options.REPEATED,
            help='aggregates that the hosts must be in (in:a,b) or must not be in (!c), by name or '
            'id; may be repeated',
        )
        add(
            '--spread',
            metavar='S',
            **request_options.REPEATED,
            type=_pairs,
            help=f'spread the servers over domains, {_SPREAD}; "by" is availability_zone or a '
            'metadata key of aggregates; may be repeated',
        )
        request_options.add_hint(add)
        add(
            '--image',
            metavar='I',
            help='the image of the servers, by name or id; "none": an image without requirements '
            '(the only value with --snapshot)',
        )
        request_options.add_image_properties(add)
        request_options.add_settings(add)
        base.add_snapshot(add, 'plan on a saved snapshot instead of a cloud')
        add('--long', action='store_true', help='list all hosts, with their reason codes')
        request_options.add_outcome(add)
        base.add_limits(add)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Build the question, fetch the snapshot and return the decision."""
        if parsed_args.file is not None:
            return self._several(parsed_args)
        if parsed_args.parameter:
            raise base.UsageError('--parameter needs a file: the Heat template')
        if parsed_args.server or parsed_args.action:
            return self._of_action(parsed_args)
        if not parsed_args.flavor and not parsed_args.profile:
            raise base.UsageError('specify --flavor or --profile, or a file of requests')
        constraints, settings, found = request_options.read_settings(parsed_args)
        self._options = found
        asked = _question(parsed_args, settings)
        if parsed_args.snapshot is not None:
            given.check_image(asked.image)
        whose, view = self._view(parsed_args, asked)
        asked = dataclasses.replace(asked, **whose)
        request, cloud = resolve_question(asked, view)
        modelled = {name for constraint in constraints for name in constraint.filters}
        for name, near in view_notes.misspelt(request.settings.enabled_filters, modelled):
            LOG.warning('enabled_filters: unknown filter %s: did you mean %s?', name, near)
        is_file = parsed_args.snapshot is not None
        decision = engine.plan(request, Scenario.of(cloud), constraints, remedies=is_file)
        if not is_file:
            connection = self.connection(parsed_args.timeout)
            view = api.with_leftovers(connection, view, decision)
            request, cloud = resolve_question(asked, view)
            decision = engine.plan(request, Scenario.of(cloud), constraints)
        self._answer = view_notes.Answer(
            decision,
            request,
            cloud,
            view,
            asked,
            found,
            is_file,
            suggestions=(*suggested(decision, request, cloud, constraints),),
        )
        self.exit_status = request_options.status(decision, parsed_args)
        answer = decision.as_dict(skipped=not parsed_args.no_skipped)
        return tuple(answer), tuple(answer.values())

    def _of_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Fetch the server and the cloud, and return the decision about its action."""
        action = _checked_action(parsed_args)
        constraints, settings, found = request_options.read_settings(parsed_args)
        self._options = found
        connection = self.cloud_in_place_of_file(parsed_args.timeout)
        from senlin_affinity.cloud import named_servers

        server = named_servers.find(api.clients_of(connection), parsed_args.server)
        named = ServerAction(action, server)
        given = request_options.question(parsed_args, settings)
        asked = question_of(named, dataclasses.replace(given, host=parsed_args.host))
        view = api.fetch(connection, asked)
        repeated = asking(named, asked, view)
        decision = repeated.decide(constraints)
        after = api.with_leftovers(connection, view, decision)
        if after is not view:
            view, repeated = after, asking(named, asked, after)
            decision = repeated.decide(constraints)
        self._answer = view_notes.Answer(
            decision,
            repeated.request,
            repeated.cloud,
            view,
            asked,
            found,
            is_explained=True,
            action=repeated.asked,
        )
        self.exit_status = request_options.status(decision, parsed_args)
        own = describe(repeated.asked)
        answer = {**own, **decision.as_dict(skipped=not parsed_args.no_skipped)}
        return tuple(answer), tuple(answer.values())

    def _several(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Return the plan of all requests of a file."""
        constraints, settings, found = request_options.read_settings(parsed_args)
        self._options = found
        requests = workload.read(parsed_args, settings)
        whose, view = self._view(parsed_args, requests)
        requests = requests.but(**whose)
        with given.file(parsed_args.file):
            plan = api.plan_workload(requests, view, constraints)
        is_file = parsed_args.snapshot is not None
        self._shown = workload.Shown(plan, requests, view, found, is_file=is_file)
        self.exit_status = workload.status(plan, parsed_args)
        answer = plan.as_dict(skipped=not parsed_args.no_skipped)
        return tuple(answer), tuple(answer.values())

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Any, data: Any) -> Any:
        """Print a table of this project, or one of cliff's other formats."""
        if parsed_args.formatter != 'table' or parsed_args.columns:
            request_options.log_files(self._options)
            return super().produce_output(parsed_args, column_names, data)
        if self._shown is not None:
            self._shown.show(self.app.stdout, self.formatter, parsed_args)
            return 0
        show_plan(self._answer, self.app.stdout, is_long=parsed_args.long)
        return 0

    def _view(
        self, parsed_args: argparse.Namespace, asked: api.Question | api.Workload
    ) -> tuple[dict[str, Any], Cloud]:
        """Return the ids of the project and the user that are named, and the snapshot."""
        project, user = parsed_args.project, parsed_args.user
        if parsed_args.snapshot is not None:
            view = given.view(parsed_args.snapshot, self.app.stdin, parsed_args.max_file_size)
            given.check_ids(project, user, view)
            return {}, view
        connection = self.cloud_in_place_of_file(parsed_args.timeout)
        from senlin_affinity.cloud import projects

        owner, whose = api.clients_of(connection).owner, dict[str, Any]()
        if project is not None:
            whose['project_id'] = projects.find(owner, project)
        if user is not None:
            whose['user_id'] = projects.find_user(owner, user)
        if isinstance(asked, api.Workload):
            return whose, api.fetch(connection, asked.but(**whose))
        return whose, api.fetch(connection, dataclasses.replace(asked, **whose))


def _question(parsed_args: argparse.Namespace, settings: api.Question) -> api.Question:
    """Return the question of the arguments, with the settings of the cloud."""
    return dataclasses.replace(
        request_options.question(parsed_args, settings),
        count=1 if parsed_args.count is None else parsed_args.count,
        policy=given.spec(parsed_args.policy, properties.load) if parsed_args.policy else None,
        profile=given.spec(parsed_args.profile, _profile) if parsed_args.profile else None,
        member_of=tuple(parsed_args.member_of),
        spread=tuple(parsed_args.spread),
        project_id=parsed_args.project,
        user_id=parsed_args.user,
        are_quotas_ignored=parsed_args.ignore_quotas,
        host=parsed_args.host,
    )


def _checked_action(parsed_args: argparse.Namespace) -> Action:
    """Return the action; raise UsageError for options that do not go with it."""
    used = {key for key, value in vars(parsed_args).items() if value not in (None, [], False)}
    if not {'server', 'action'} <= used:
        raise base.UsageError('--server and --action go together')
    action = Action(parsed_args.action)
    wrong = [name for name in _OF_NEW if name in used]
    wrong += [name for each, name in _NEEDED.items() if each is not action and name in used]
    if action is not Action.REBUILD:
        wrong += ['image_property'] if 'image_property' in used else []
    if action not in _WITH_HOST and 'host' in used:
        wrong.append('host')
    if wrong:
        options = ', '.join(f'--{name.replace("_", "-")}' for name in wrong)
        raise base.UsageError(f'{options}: not with --action {action.value}')
    if _NEEDED.get(action, 'server') not in used:
        raise base.UsageError(f'--action {action.value} needs --{_NEEDED[action]}')
    return action


def _profile(spec: Any) -> Mapping[str, Any]:
    checked = check_applicable(spec)
    group_hint(checked)
    return checked


def _pairs(text: str) -> Mapping[str, str]:
    """Parse ``by=rack,max_skew=1`` into a mapping of strings for ``model.spread``."""
    pairs = [part.partition('=') for part in text.split(',')]
    values = {key.strip(): value.strip() for key, equals, value in pairs if equals}
    if len(values) < len(pairs):
        raise argparse.ArgumentTypeError(f'must be {_SPREAD}, each key once, not {text!r}')
    return values
