"""Check with ``status`` whether the policy, its engines, options and server groups are healthy.

Example::

    | Check      | State   | Object | Details                         | Fix                      |
    | engines    | ok      | ctl-1  | has 0.10.0 (options a420124...) |                          |
    | aggregates | finding | cmp-7  | is in fast in Nova, but not in  | nova-manage placement    |
    |            |         |        | Placement                       | sync_aggregates          |

Exit statuses are 0 (healthy), 3 (there are findings), 1 (no findings, but a check failed), 2
(usage).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any

from senlin_affinity.cli import base, config_file, configuration_check, group_view
from senlin_affinity.cli.configuration_check import CheckResult
from senlin_affinity.cli.group import AuditGroups, add_common
from senlin_affinity.conf.constraint_plugins import load_constraints
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.terminal_text import escaped

OK, FINDING, UNKNOWN, NOT_CHECKED = 'ok', 'finding', 'unknown', 'not checked'
_Check = Callable[[], Iterable[CheckResult]]
COLUMNS = ('Check', 'State', 'Object', 'Details', 'Fix')
_STATE = COLUMNS.index('State')
#: How to fix each finding of ``group audit``.
_FIXES = {
    group_view.VIOLATED: 'migrate or delete servers that violate the policy of the group',
    group_view.OUTSIDE: 'replace the node: an existing server cannot join a group',
    group_view.DOUBLED: 'detach or disable one of the policies',
    group_view.GONE: 'detach the policy, and attach it again',
    group_view.TWO_OWNERS: 'detach the policy from all clusters but one, with on_detach: keep',
    group_view.ORPHAN: 'senlin-affinity group delete --orphans',
}
#: A right that the policy does not need. Nova 26 and older grant it to every role.
_SUPERFLUOUS = 'os_compute_api:servers:index'
#: What the policy reads: service, path, query, and the policy rule.
_NOVA, _PLACEMENT = 'Nova', 'Placement'
_RIGHTS: tuple[tuple[str, str, Mapping[str, str | int], str], ...] = (
    (_NOVA, '/os-hypervisors/detail', {'limit': 1}, 'os_compute_api:os-hypervisors:list-detail'),
    (_NOVA, '/os-services', {'binary': 'nova-compute'}, 'os_compute_api:os-services:list'),
    (_NOVA, '/os-aggregates', {}, 'os_compute_api:os-aggregates:index'),
    (_NOVA, '/os-migrations', {'limit': 1}, 'os_compute_api:os-migrations:index:all_projects'),
    (_NOVA, '/servers', {'limit': 1}, _SUPERFLUOUS),
    (_PLACEMENT, '/resource_providers', {'name': '-'}, 'placement:resource_providers:list'),
    (
        _PLACEMENT,
        '/allocation_candidates',
        {'resources': 'VCPU:1', 'limit': 1},
        'placement:allocation_candidates:list',
    ),
)
#: The parts of a snapshot that the check of aggregates needs.
_COMPARED = ('hosts', 'aggregates')
_MIGRATIONS, _TREES = (2, 59), (1, 29)


class Skipped(Exception):
    """A check that does not apply, with the reason."""


class Status(AuditGroups):
    """Check engines, credentials, options, aggregates, server groups and abandoned actions.

    Run it as an administrator. --config-file and --nova-conf add the checks of the configuration,
    on the host of an engine or with copies of its files.
    """

    example = '-f prometheus'

    formatter_namespace = 'senlin_affinity.status_formatters'

    def _add_arguments(self, add: base.Add) -> None:
        add('--config-file', metavar='FILE', help="the engine's senlin.conf")
        add(
            '--nova-conf',
            metavar='PATH',
            action='append',
            default=[],
            help="nova-scheduler's nova.conf, or its directory (may be repeated)",
        )
        add_common(add)

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Create a parser whose table fits the terminal."""
        parser = super().get_parser(prog_name)
        parser.set_defaults(fit_width=True)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Run all checks; return a row for each finding, and one for each check without any."""
        parsed_args.group = parsed_args.cluster = None
        parsed_args.all_projects = True
        self._asked = parsed_args
        checks: dict[str, _Check] = {
            'engines': lambda: engines(self._clients()),
            'credentials': self._credentials,
            'options': self._options,
            'filters': self._filters,
            'aggregates': lambda: aggregates(self._clients()),
            'groups': self._groups,
            'actions': lambda: actions(self._clients()),
        }
        rows = [row for name, check in checks.items() for row in self._rows(name, check)]
        states = {row[_STATE] for row in rows}
        self.exit_status = 3 if FINDING in states else int(UNKNOWN in states)
        return COLUMNS, rows

    def _rows(self, name: str, check: _Check) -> Iterator[tuple[Any, ...]]:
        try:
            yield from rows_of(name, check)
        finally:
            self.end_operation()

    def _groups(self) -> Iterator[CheckResult]:
        _, rows = super().take_action(self._asked)
        for row in rows:
            state = row[group_view.STATE]
            if state not in group_view.HARMLESS:
                group, _, host, _, servers, *_ = map(_text, row)
                details = ', '.join(filter(None, (state, host, servers.replace('\n', ' '))))
                yield CheckResult(group, details, _FIXES[state])

    def _credentials(self) -> Iterator[CheckResult]:
        conf = self._configuration
        from senlin_affinity.cloud import clients, connection, service_user

        what = f'[{service_user.GROUP.name}]'
        if service_user.section(conf) is None:
            details = 'there are no operator credentials'
            return iter([CheckResult(what, details, f'set them: {configuration_check.TENANTS}')])
        own = conf.affinity
        try:
            made = service_user.connect(conf, own.request_timeout, own.max_answer_size)
            operator = clients.of(made)
            nova = connection.compute(operator.owner)
            placement = connection.placement(operator.operator)
        except CloudError as error:
            fix = f'correct them: {configuration_check.TENANTS}'
            return iter([CheckResult(what, f'they do not work: {error}', fix)])
        answers = [
            (rule, _is_allowed(nova if service == _NOVA else placement, path, query))
            for service, path, query, rule in _RIGHTS
        ]
        return configuration_check.rights(answers, _SUPERFLUOUS)

    def _options(self) -> Iterator[CheckResult]:
        from senlin_affinity.conf import nova_conf, opts

        conf, constraints = self._configuration, self._constraints
        nova = config_file.read_nova(self._nova_conf(), constraints)
        own = nova_conf.with_nova_conf(conf, constraints)
        return configuration_check.differing_options(own, nova, opts.options_of(constraints))

    def _filters(self) -> Iterator[CheckResult]:
        settings = config_file.read_nova(self._nova_conf())
        from senlin_affinity.cloud import connection

        yield from configuration_check.doubled_filters(settings.filters or ())
        yield from configuration_check.contradicting_prefixes(
            settings, connection.ports(self._clients()).inventory.aggregates()
        )

    def _clients(self) -> Any:
        from senlin_affinity.cloud import clients

        return clients.of(self.connection(self._asked.timeout))

    @cached_property
    def _constraints(self) -> tuple[Constraint, ...]:
        return load_constraints()

    @cached_property
    def _configuration(self) -> Any:
        if self._asked.config_file is None:
            raise Skipped("name the engine's senlin.conf with --config-file")
        return config_file.parsed(self._asked.config_file, self._constraints)

    def _nova_conf(self) -> list[str]:
        if not self._asked.nova_conf:
            raise Skipped("name nova-scheduler's nova.conf with --nova-conf")
        return list(self._asked.nova_conf)


def rows_of(name: str, check: _Check) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each finding of a check, and one without any."""
    try:
        found = [*check()]
    except Skipped as reason:
        yield name, NOT_CHECKED, '', str(reason), ''
    except CloudError as error:
        yield name, UNKNOWN, '', escaped(' '.join(str(error).split())), ''
    else:
        for each in found:
            yield name, FINDING if each.fix else OK, *map(escaped, each)
        if not found:
            yield name, OK, '', '', ''


def engines(clients: Any) -> Iterator[CheckResult]:
    """Check whether all engines of Senlin have the policy, and equal options."""
    from senlin_affinity.cloud import senlin

    return configuration_check.engines(senlin.engines(_clustering(clients)))


def actions(clients: Any) -> Iterator[CheckResult]:
    """Check for actions that an engine has abandoned."""
    from senlin_affinity.cloud.senlin import abandoned_actions

    return configuration_check.abandoned(abandoned_actions(_clustering(clients)))


def aggregates(clients: Any) -> Iterator[CheckResult]:
    """Check whether Nova and Placement have the same hosts in each aggregate."""
    from senlin_affinity.cloud import placement_aggregates
    from senlin_affinity.cloud.snapshot import take

    cloud = take(clients, server_groups=())
    hidden = cloud.unavailable
    if cloud.hosts is None or cloud.aggregates is None:
        raise CloudError('; '.join(hidden[part] for part in _COMPARED if part in hidden))
    sets = [frozenset({each.uuid}) for each in cloud.aggregates]
    compared = placement_aggregates.compare(clients.operator, cloud, sets)
    if sets and compared is cloud:
        raise CloudError(hidden.get('resources', 'Placement does not show the aggregates'))
    return configuration_check.differing_aggregates(compared)


def _clustering(clients: Any) -> Any:
    from senlin_affinity.cloud import connection

    if not connection.has_clustering(clients.owner):
        raise Skipped('this cloud has no Senlin')
    return connection.clustering(clients.owner)


def _is_allowed(service: Any, path: str, query: Mapping[str, str | int]) -> bool:
    """Check whether a service permits a request; its answer is not used."""
    from senlin_affinity.cloud.paging import allowed

    microversion = service.pick(_TREES if service.name == _PLACEMENT else _MIGRATIONS)
    read = partial(service.get, path, f'check {path}', microversion, params=query)
    return allowed(read) is not None


def _text(cell: Any) -> str:
    return cell.human_readable() if isinstance(cell, base.Cell) else str(cell)
