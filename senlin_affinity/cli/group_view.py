"""Build the rows of ``group list`` and ``group audit``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from senlin_affinity.cli import base, wrapping
from senlin_affinity.cli.servers_view import rule
from senlin_affinity.groups import audit
from senlin_affinity.groups.audit import GroupStatus
from senlin_affinity.model.server_group import Place, ServerGroup
from senlin_affinity.model.terminal_text import escaped

COLUMNS = ('ID', 'Name', 'Rule', 'Members', 'Made By', 'Used By', 'Orphan')
FINDINGS = ('Server Group', 'Rule', 'Host', 'Servers', 'Names', 'State')
STATE = FINDINGS.index('State')
#: The states in ``group audit``.
FINE, VIOLATED, NOWHERE, OUTSIDE, DOUBLED, GONE, TWO_OWNERS, ORPHAN, UNUSED = (
    'ok', 'violated', 'no host known', 'outside of the group', 'two policies', 'no such group',
    'two owners', 'left behind', 'perhaps left behind',
)  # fmt: skip
HARMLESS = (FINE, NOWHERE, UNUSED)


def of_status(status: GroupStatus) -> tuple[Any, ...]:
    """Return the row of ``group list`` for one group."""
    group = status.group
    users = base.Cell(list(status.users), escaped(', '.join(status.users)) or '-')
    members = len(group.members)
    return (
        group.id, group.name, rule(group), members, status.made_by, users,
        status.is_orphan,
    )  # fmt: skip


def located(
    groups: Sequence[ServerGroup], compute: Any, *, is_administrator: bool
) -> tuple[Sequence[ServerGroup], dict[str, str]]:
    """Return the groups with their members' hosts, and the names of servers by their ids."""
    if not any(group.members for group in groups):
        return groups, {}
    from senlin_affinity.cloud import members

    known, names = members.listed(compute, groups, is_administrator=is_administrator)
    return members.with_members(groups, known), names


def _servers(servers: Sequence[str], names: Mapping[str, str]) -> tuple[base.Cell, base.Cell]:
    """Return the ids and the names; the name of an unknown server is None."""
    found = [names.get(server) for server in servers]
    shown = '\n'.join(escaped(name or '?') for name in found)
    return base.Cell(list(servers), '\n'.join(servers)), base.Cell(found, shown)


def finding(group: ServerGroup, place: Place, names: Mapping[str, str]) -> tuple[Any, ...]:
    """Return the row of the members on one host."""
    state = VIOLATED if place.is_violated else FINE
    if place.host is None:
        state = NOWHERE
    host, servers = place.host or '', _servers(place.servers, names)
    return group.name, rule(group), host, *servers, state


def outside(
    group: ServerGroup, servers: Sequence[str], names: Mapping[str, str], compute: Any
) -> Iterator[tuple[Any, ...]]:
    """Yield one row of the nodes' servers that exist and are not members, if there are any."""
    from senlin_affinity.cloud import members

    found = sorted({*servers} - {member.server for member in group.members})
    of_others = members.names_of(compute, [each for each in found if each not in names])
    known = {**names, **of_others}
    if there := [each for each in found if each in known]:
        yield group.name, rule(group), '', *_servers(there, known), OUTSIDE


def without_group(what: str, state: str, cluster: str = '') -> tuple[Any, ...]:
    """Return the row of a finding that does not concern the members of one group."""
    return what, '', '', cluster, '', state


def unused(statuses: Sequence[GroupStatus]) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each group that is left behind, certainly or perhaps."""
    for each in statuses:
        if each.is_orphan or each.made_by == audit.PERHAPS_BY_POLICY:
            yield without_group(each.group.name, ORPHAN if each.is_orphan else UNUSED)


def advice(statuses: Sequence[GroupStatus], width: int) -> str:
    """Return how to delete the groups that are perhaps left behind; '' if there are none."""
    found = [each.group for each in statuses if each.made_by == audit.PERHAPS_BY_POLICY]
    texts: list[str] = []
    for group in found:
        words = f'server group {escaped(group.name)} ({group.id}): a policy names it, but nothing '
        texts += wrapping.lines(f'{words}uses it; to delete it:', width)
        texts += wrapping.command_lines(f'openstack server group delete {group.id}', width)
    return ''.join(f'{text}\n' for text in texts)
