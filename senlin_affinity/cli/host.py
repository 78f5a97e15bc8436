"""Show one host with ``host show``: what is free, reserved and stranded, and which flavors fit.

Exit status 2: there is no such host, or a service host with several hypervisors is named.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from msgspec import structs

from senlin_affinity import api
from senlin_affinity.cli import base, given, request_options
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.host import Host, Leftover

_ALL = ('*',)
_FORBIDDEN = 403


class ShowHost(base.ShowOne):
    """Show what is free, reserved and stranded on a host, and which flavors still fit."""

    example = 'cmp-1'

    def _add_arguments(self, add: base.Add) -> None:
        add('host', metavar='HOST', help='the service host, or the hostname of a hypervisor')
        request_options.add_settings(add)
        base.add_snapshot(
            add,
            'show the host of a saved snapshot, which does not contain reserved amounts and '
            'consumers',
        )
        base.add_limits(add)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Return the fields of the host."""
        constraints, question, _files = request_options.read_settings(parsed_args)
        reserved: Mapping[str, int] | None = None
        servers: int | None = None
        consumers, unknown = '', ''
        if parsed_args.snapshot is not None:
            view = given.view(parsed_args.snapshot, self.app.stdin, parsed_args.max_file_size)
            host = given.host(view, parsed_args.host)
            servers = view.number_of_servers(host)
            unknown = 'reserved amounts and consumers: not in a snapshot'
        else:
            connection = self.cloud_in_place_of_file(parsed_args.timeout)
            view = api.fetch(connection, question, flavors=_ALL)
            host = given.host(view, parsed_args.host)
            from senlin_affinity.cloud import host_use

            try:
                use = host_use.fetch(api.clients_of(connection), host.hypervisor_hostname)
            except CloudError as error:
                if error.status != _FORBIDDEN:
                    raise
                unknown = f'reserved amounts and consumers: {error}'
            else:
                reserved, servers, host = use.reserved, use.servers, use.complete(host)
                consumers = '\n'.join(map(_consumer, use.consumers)) or '(none)'
        only = structs.replace(view, hosts=(host,))
        found = api.capacity(only, question=question, constraints=constraints)
        servers = host.servers if servers is None else servers
        fields = {
            'host': host.host,
            'hypervisor': host.hypervisor_hostname,
            'zone': host.availability_zone,
            'state': _state(host),
            'aggregates': ', '.join(_aggregates(view, host)),
            'servers': base.Cell(servers, 'not known' if servers is None else str(servers)),
            'resources': _resources(host, found, reserved),
            'flavors that fit': _flavors(found),
            'consumers that are not servers': consumers,
            'not known': '\n'.join(filter(None, (unknown, _unknown_flavors(found)))),
        }
        return tuple(fields), tuple(fields.values())


def _state(host: Host) -> str:
    state = f'{"enabled" if host.enabled else "disabled"} and {"up" if host.up else "down"}'
    return f'{state} ({host.disabled_reason})' if host.disabled_reason else state


def _aggregates(view: Cloud, host: Host) -> list[str]:
    """Return the names of the host's aggregates; their UUIDs if the aggregates are unknown."""
    known = view.aggregates_by_uuid
    return sorted(known[uuid].name if uuid in known else uuid for uuid in host.aggregates)


def _resources(host: Host, found: api.Capacity, reserved: Mapping[str, int] | None) -> base.Cell:
    """Return the amounts by resource class; in a table, one line for each class."""
    stranded = {each.resource_class: each.stranded for each in found.amounts}
    values: dict[str, dict[str, Any]] = {}
    lines = []
    for name, has in sorted((host.resources or {}).items()):
        free = max(0, has.capacity - has.used)
        own = {'capacity': has.capacity, 'used': has.used, 'free': free}
        line = f'{name}: {free} of {has.capacity} free'
        if reserved is not None:
            own['reserved'] = reserved.get(name, 0)
            line += f', {own["reserved"]} reserved'
        if name in stranded:
            own['stranded'] = stranded[name]
            line += f', {stranded[name]} stranded'
        if has.pool is not None:
            line += ' (a shared pool)'
        values[name] = own
        lines.append(line)
    return base.Cell(values, '\n'.join(lines) or 'not known')


def _flavors(found: api.Capacity) -> base.Cell:
    """Return how many servers of each flavor fit, the scarcest first, without those that do not."""
    fitting = {
        each.flavor.name: each.bounds.upper for each in found.flavors if each.bounds.expected
    }
    words = (
        f'{each.flavor.name} ({"at most " * each.is_at_most}{each.bounds.upper})'
        for each in found.flavors
        if each.bounds.expected
    )
    return base.Cell(fitting, ', '.join(words) or '(none)')


def _unknown_flavors(found: api.Capacity) -> str:
    """Return the flavors of which it is not known whether they fit, or ''."""
    names = [
        each.flavor.name
        for each in found.flavors
        if not each.bounds.expected and each.bounds.upper != 0
    ]
    return f'whether these flavors fit: {", ".join(names)}' if names else ''


def _consumer(each: Leftover) -> str:
    amounts = ', '.join(f'{amount} {name}' for name, amount in sorted(each.amounts.items()))
    kind = 'no server here, and no migration'
    if each.server == each.consumer:
        kind = f'server {each.server}, which is being created or moved here'
    elif each.server is not None:
        kind = f'migration of {each.server}'
    return f'{each.consumer}: {amounts} ({kind})'
