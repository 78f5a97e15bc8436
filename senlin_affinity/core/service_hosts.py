"""Service hosts with several hypervisors: Nova counts the members of a group by the service host.

The way of the data: the rooms of the hosts come in, one for each hypervisor; where a service host
has several, what they have together is no more than the slots that the group leaves there. In most
clouds there is no such host, and nothing is done.

Units: numbers of servers; a room of None is no number that anybody knows.

Source: document 002; Nova's filters for affinity and anti-affinity compare service hosts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from senlin_affinity.core.objects import Host, Question


def are_counted(question: Question) -> bool:
    """Does a service host of the snapshot have several hypervisors, and does a group count them?"""
    return question.server_group is not None and question.snapshot.has_shared_services


def slots(question: Question, host: str) -> int | None:
    """How many servers more of the group a service host takes; None: no limit."""
    group = question.server_group
    return None if group is None else group.free_slots(question.members_on.get(host, 0))


def rooms(
    question: Question, hosts: Sequence[Host], rooms: Sequence[int | None]
) -> Iterator[int | None]:
    """The room of each service host: that of its hypervisors together."""
    for name, indexes in by_name(hosts):
        known = [room for index in indexes if (room := rooms[index]) is not None]
        limit = slots(question, name)
        if len(known) < len(indexes):
            yield None
        else:
            yield sum(known) if limit is None else min(sum(known), limit)


def by_name(hosts: Iterable[Host]) -> Iterable[tuple[str, list[int]]]:
    """The name of each service host, and the places of its hypervisors among the hosts."""
    found: dict[str, list[int]] = {}
    for index, host in enumerate(hosts):
        found.setdefault(host.host, []).append(index)
    return found.items()
