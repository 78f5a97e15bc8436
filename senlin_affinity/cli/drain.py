"""Plan with ``host drain`` how all servers of hosts move to others, and write the script for it.

Nothing is carried out. Exit statuses are 0 (all servers move), 3 (a server cannot move), 4 (a
target was not found, or is not certain), 1 (unknown), 2 (usage).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import Any

from senlin_affinity import api
from senlin_affinity.cli import (
    base,
    drain_script,
    given,
    progress,
    request_options,
    view_drain,
    view_notes,
)
from senlin_affinity.engine.drain import DrainPlan
from senlin_affinity.engine.drain_batches import RollingPlan
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.suggestion import meant

_STATUS = {True: 0, False: 3, None: 4}


class DrainHost(base.ShowOne):
    """Show how all servers of hosts can move to others, in which order, and what is stuck."""

    example = 'cmp-7 --to rack-2'

    _plan: DrainPlan | RollingPlan
    _view: Cloud

    def _add_arguments(self, add: base.Add) -> None:
        add(
            'hosts',
            metavar='HOST',
            nargs='+',
            help='the service hosts to drain; hosts that are drained together take no servers from '
            'each other',
        )
        add(
            '--to',
            metavar='NAME',
            nargs='+',
            help='the only hosts that may take the servers: service hosts, and aggregates by name '
            'or UUID (default: all other hosts)',
        )
        add(
            '--waves',
            action='store_true',
            help='plan rolling maintenance: empty the hosts in batches, one after the other; the '
            'hosts of a batch take servers again before the next one',
        )
        add(
            '--max-unavailable',
            metavar='K',
            type=request_options.count,
            help='the largest number of hosts in a batch of --waves (default: 1)',
        )
        add(
            '--script',
            action='store_true',
            help='print a shell script that carries out the plan with "openstack", checks each '
            'server, and stops at the first difference',
        )
        request_options.add_settings(add)
        base.add_snapshot(add, 'plan on a file of "snapshot save --servers" instead of a cloud')
        base.add_long(add)
        base.add_limits(add)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Fetch the servers of the hosts and the cloud, and return the plan."""
        if parsed_args.script and parsed_args.formatter != 'table':
            raise base.UsageError('--script and --format exclude each other')
        most = parsed_args.max_unavailable
        if most is not None and not parsed_args.waves:
            raise base.UsageError('--max-unavailable needs --waves')
        if most == 0:
            raise base.UsageError('--max-unavailable must be at least 1')
        constraints, question, _files = request_options.read_settings(parsed_args)
        view = self._view = self._fetched(parsed_args, question)
        hosts = [*dict.fromkeys(_service_host(view, name) for name in parsed_args.hosts)]
        targets = None if parsed_args.to is None else [*_targets(view, parsed_args.to)]
        lacking = [host for host in hosts if host not in view.servers_by_host]
        if lacking:
            names = ', '.join(lacking)
            raise CloudError(
                f'the servers of {names} are not in the snapshot: save it with "snapshot save '
                '--servers"'
            )
        with progress.shown('Planning', self.app.stderr):
            plan: DrainPlan | RollingPlan
            if parsed_args.waves:
                plan = api.drain_in_batches(
                    hosts,
                    most or 1,
                    view,
                    targets=targets,
                    question=question,
                    constraints=constraints,
                )
            else:
                plan = api.drain(
                    hosts, view, targets=targets, question=question, constraints=constraints
                )
            self._plan = plan
        self.exit_status = _STATUS[plan.fits]
        answer = plan.as_dict()
        answer['differences'] = [
            each.as_dict() for each in view_drain.differences(view, plan.hosts)
        ]
        answer['not_known'] = [*view_notes.unavailable(view, is_long=True)]
        return tuple(answer), tuple(answer.values())

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Any, data: Any) -> Any:
        """Print the script, the plan in words, or one of cliff's other formats."""
        if parsed_args.script:
            self._write_script(parsed_args)
        elif parsed_args.formatter == 'table' and not parsed_args.columns:
            view_drain.show(self._plan, self._view, self.app.stdout, is_long=parsed_args.long)
        else:
            return super().produce_output(parsed_args, column_names, data)
        return 0

    def _fetched(self, parsed_args: argparse.Namespace, question: api.Question) -> Cloud:
        if parsed_args.snapshot is not None:
            return given.view(parsed_args.snapshot, self.app.stdin, parsed_args.max_file_size)
        connection = self.cloud_in_place_of_file(parsed_args.timeout)
        with progress.shown('Reading the cloud', self.app.stderr):
            return api.fetch(connection, question, servers_on=parsed_args.hosts)

    def _write_script(self, parsed_args: argparse.Namespace) -> None:
        off = [each.host for each in self._view.hosts or () if not each.enabled]
        cloud = base.cloud_name(self.app_args) if parsed_args.snapshot is None else ''
        for line in drain_script.lines(self._plan, off, cloud, self._view.taken_at):
            self.app.stdout.write(f'{line}\n')
        if self.exit_status:
            self.app.stderr.write(f'warning: {self._plan.line()}\n')


def _service_host(view: Cloud, name: str) -> str:
    """Return the service host of a name; raise UsageError if it has several hypervisors."""
    found = given.host(view, name).host
    number = view.host_names.count(found)
    if number > 1:
        raise base.UsageError(
            f'{found} has {number} hypervisors: only a host with one hypervisor can be drained'
        )
    return found


def _targets(view: Cloud, names: Iterable[str]) -> Iterator[str]:
    """Yield the service hosts of the names of ``--to``: of a host, or else of an aggregate."""
    hosts, aggregates = view.hosts or (), view.aggregates or ()
    for name in names:
        if name in view.hosts_by_name:
            yield name
            continue
        found = [each.uuid for each in aggregates if name in (each.uuid, each.name)]
        if len(found) > 1:
            uuids = ', '.join(sorted(found))
            raise base.UsageError(
                f'--to: {len(found)} aggregates are called {name!r}: use a UUID, {uuids}'
            )
        if not found:
            known = sorted({*view.hosts_by_name, *(each.name for each in aggregates)})
            raise base.UsageError(
                f'--to: there is no host and no aggregate {name!r}: {meant(name, known)}'
            )
        yield from (each.host for each in hosts if found[0] in each.aggregates)
