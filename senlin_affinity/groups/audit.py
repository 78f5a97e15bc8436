"""Report who uses each server group, and which members violate its policy.

The input is Nova's groups with their members, and the bindings and ownership records of a project
(``registry``). The output is a status per group, and findings. The module performs no I/O.

Example::

    GroupStatus(group, MADE, ('mycluster',), is_orphan=False)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from senlin_affinity.groups.registry import GroupRegistry
from senlin_affinity.model.member_locations import Place
from senlin_affinity.model.member_locations import places as places
from senlin_affinity.model.server_group import AFFINITY, ServerGroup
from senlin_affinity.policy.group_lookup import mismatch
from senlin_affinity.policy.properties import Properties

#: Who created a group: a policy; probably a policy, according to a record with its name; others.
BY_POLICY, PERHAPS_BY_POLICY, BY_OTHERS = 'policy', 'policy, by its name', '-'


@dataclass(frozen=True)
class GroupStatus:
    """A group, who created it, and its ``users``: the names of the clusters that use it."""

    group: ServerGroup
    made_by: str
    users: tuple[str, ...]
    is_orphan: bool


def statuses(
    groups: Sequence[ServerGroup],
    registry: GroupRegistry,
    hints: Collection[str] = (),
    specs: Mapping[str, Properties] | None = None,
) -> Iterator[GroupStatus]:
    """Yield the status of each group.

    An orphan was created by a policy (perhaps, if only its name says so), has no members, and no
    cluster and no profile uses it.

    :param hints: names and ids of groups in profiles, whose servers need these groups.
    :param specs: the properties of policies by id, as far as known. A record of a policy does not
        refer to a group that the policy would not have created.
    """
    users = {group.id: tuple(registry.users_of(group.id)) for group in groups}
    named = {
        group.id: group.name
        for group in groups
        if not users[group.id] and _is_named(group, registry, specs or {})
    }
    names = list(named.values())
    for group in groups:
        made_by = BY_POLICY if registry.is_policy_made(group.id) else BY_OTHERS
        if made_by == BY_OTHERS and group.id in named and names.count(group.name) == 1:
            made_by = PERHAPS_BY_POLICY
        is_used = bool(group.members or users[group.id] or {group.id, group.name} & {*hints})
        yield GroupStatus(group, made_by, users[group.id], made_by != BY_OTHERS and not is_used)


def _is_named(group: ServerGroup, registry: GroupRegistry, specs: Mapping[str, Properties]) -> bool:
    return any(
        policy not in specs or mismatch(group, specs[policy], is_ours=True) is None
        for policy in registry.policies_intending(group.name)
    )


def up_to(places: Iterable[Place], most: int) -> tuple[Place, ...]:
    """Return the places with the fewest members that together have at most ``most`` members.

    The time of a violation can only be determined from all members of a place.
    """
    found: list[Place] = []
    for place in sorted(places, key=lambda place: len(place.servers)):
        most -= len(place.servers)
        if most < 0:
            break
        found.append(place)
    return tuple(found)


def violated_since(group: ServerGroup, place: Place, last_moves: Mapping[str, str]) -> str | None:
    """Return when the members of a place first violated the policy; None if unknown.

    :param last_moves: when each server came to its host, as ISO 8601 in UTC, as far as known.
    """
    if group.policy == AFFINITY:
        times = [last_moves[server] for server in place.servers if server in last_moves]
        return min(times) if len(times) == len(place.servers) else None
    times = sorted(last_moves[server] for server in place.servers if server in last_moves)
    limit = group.max_server_per_host or 0
    return times[limit] if len(times) == len(place.servers) > limit else None


def servers_outside(group: ServerGroup, servers: Iterable[str]) -> tuple[str, ...]:
    """Return the servers of a cluster that are not in its group."""
    return tuple(sorted({*servers} - {member.server for member in group.members}))


def conflicting_policies(registry: GroupRegistry) -> Iterator[tuple[str, str]]:
    """Yield the clusters with enabled policies for different groups, and a list of these."""
    for cluster, name in sorted(registry.clusters.items(), key=lambda item: (item[1], item[0])):
        here = [each for each in registry.bound if each.cluster == cluster and each.is_enabled]
        if len({each.binding.servergroup_id for each in here}) > 1:
            words = (
                f'{each.policy_name} ({each.policy_type}): {each.binding.servergroup_id}'
                for each in sorted(here, key=lambda each: each.policy_type)
            )
            yield name, '; '.join(words)
