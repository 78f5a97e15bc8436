"""What holds of server groups now: who uses them, and whether their rules do.

Data flow: Nova's groups with their members, and the bindings and notes of a project (``ledger``),
come in; for each group where it stands, and findings, go out. It asks nobody.

Shapes::

    Standing(group, MADE, ('mycluster',), is_orphan=False)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from senlin_affinity.core.group_places import Place
from senlin_affinity.core.group_places import places as places
from senlin_affinity.core.server_group import AFFINITY, ServerGroup
from senlin_affinity.policy.ledger import Ledger
from senlin_affinity.policy.matching import mismatch
from senlin_affinity.policy.properties import Properties

#: Who made a group: a policy; a policy, as far as a note of its name tells; somebody else.
MADE, PERHAPS, OTHERS = 'policy', 'policy, by its name', '-'


@dataclass(frozen=True)
class Standing:
    """Whose a group is; ``users`` are the names of clusters."""

    group: ServerGroup
    made_by: str
    users: tuple[str, ...]
    is_orphan: bool


def standings(
    groups: Sequence[ServerGroup],
    ledger: Ledger,
    hints: Collection[str] = (),
    specs: Mapping[str, Properties] | None = None,
) -> Iterator[Standing]:
    """Where each group stands. An orphan is ours, empty, and nobody's: no binding's, no kept one's.

    :param hints: names and ids of groups that profiles name: their servers need these.
    :param specs: what the policies ask for, by their ids; it may lack some. A group that a policy
        would not have created is none of those that its notes name.
    """
    users = {group.id: tuple(ledger.users(group.id)) for group in groups}
    named = {
        group.id: group.name
        for group in groups
        if not users[group.id] and _is_named(group, ledger, specs or {})
    }
    names = list(named.values())
    for group in groups:
        made_by = MADE if ledger.is_made(group.id) else OTHERS
        if made_by == OTHERS and group.id in named and names.count(group.name) == 1:
            made_by = PERHAPS
        is_used = bool(group.members or users[group.id] or {group.id, group.name} & {*hints})
        yield Standing(group, made_by, users[group.id], made_by != OTHERS and not is_used)


def _is_named(group: ServerGroup, ledger: Ledger, specs: Mapping[str, Properties]) -> bool:
    return any(
        policy not in specs or mismatch(group, specs[policy], is_ours=True) is None
        for policy in ledger.naming(group.name)
    )


def fitting(places: Iterable[Place], most: int) -> tuple[Place, ...]:
    """Places with no more servers than that in all: the smallest first, as time needs them all."""
    found: list[Place] = []
    for place in sorted(places, key=lambda place: len(place.servers)):
        most -= len(place.servers)
        if most < 0:
            break
        found.append(place)
    return tuple(found)


def since(group: ServerGroup, place: Place, arrived: Mapping[str, str]) -> str | None:
    """When the rule was first violated at a place.

    :param arrived: when each server came to its host, as ISO 8601 in UTC; it may lack some.
    """
    if group.policy == AFFINITY:
        times = [arrived[server] for server in place.servers if server in arrived]
        return min(times) if len(times) == len(place.servers) else None
    times = sorted(arrived[server] for server in place.servers if server in arrived)
    limit = group.max_server_per_host or 0
    return times[limit] if len(times) == len(place.servers) > limit else None


def outside(group: ServerGroup, servers: Iterable[str]) -> tuple[str, ...]:
    """The servers of a cluster that are not in its group."""
    return tuple(sorted({*servers} - {member.server for member in group.members}))


def doubled(ledger: Ledger) -> Iterator[tuple[str, str]]:
    """The clusters with two enabled policies of different groups, and which these are."""
    for cluster, name in sorted(ledger.clusters.items(), key=lambda item: (item[1], item[0])):
        here = [each for each in ledger.bound if each.cluster == cluster and each.is_enabled]
        if len({each.binding.servergroup_id for each in here}) > 1:
            words = (
                f'{each.policy_name} ({each.policy_type}): {each.binding.servergroup_id}'
                for each in sorted(here, key=lambda each: each.policy_type)
            )
            yield name, '; '.join(words)
