"""A new server group in place of the one that is asked for: Nova changes none that is there.

Data flow: a group, with something of it changed, is planned without its servers, which stay in the
old one. A rule is raised by as little as is enough.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import replace
from typing import Any

from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.planning.actions import unused
from senlin_affinity.core.planning.replanner import Planned, Replanner
from senlin_affinity.core.quotas import room_for_group
from senlin_affinity.core.server_group import (
    MAX_SERVER_PER_HOST,
    NOT_YET,
    SOFT_ANTI_AFFINITY,
    ServerGroup,
)

#: As many as a range can have.
_MOST_STEPS = 2**31 - 1


def may_create(planner: Replanner, group: ServerGroup) -> bool:
    """May the project have one more?"""
    resolved = planner.resolved
    known = resolved.snapshot.quotas
    if group.id == NOT_YET or not known or not resolved.has_quotas:
        return True
    return bool(room_for_group(known))


def planned(planner: Replanner, group: ServerGroup, **other: Any) -> Planned:
    """The question with a group like this one, without its servers."""
    return planner.plan({'server_group': like(planner.resolved, group, **other)})


def like(resolved: ResolvedRequest, group: ServerGroup, **other: Any) -> dict[str, Any]:
    """The same group without its servers, under a name that is free."""
    name = group.name
    if group.id != NOT_YET:
        known = resolved.snapshot.server_groups or ()
        name = next(unused(name, (each.name for each in known)))
    same = {'name': name, 'policy': group.policy, 'rules': dict(group.rules)}
    project = resolved.project_id
    whose = {} if project is None else {'project_id': project}
    return {**same, **other, 'name': name, **whose}


def softer(group: ServerGroup) -> dict[str, Any]:
    """The same group with a policy that refuses nothing."""
    policy = f'soft-{group.policy.removeprefix("soft-")}'
    return {'name': group.name, 'policy': policy, 'rules': {}}


def raised(planner: Replanner, group: ServerGroup, now: int) -> tuple[int, Planned]:
    """By how much the rule is raised, which allows so many servers on a host ``now``."""

    def attempt(limit: int) -> Planned:
        return planned(planner, group, rules={**group.rules, MAX_SERVER_PER_HOST: now + limit})

    guess = _guess_rule(planner, group) - now
    return planner.smallest(planner.wanted, guess, attempt)


def _guess_rule(planner: Replanner, group: ServerGroup) -> int:
    """The smallest rule that should do, by the rooms of the hosts as if there were none."""
    soft = replace(group, policy=SOFT_ANTI_AFFINITY, members=())
    numbers = Counter(planner.rooms(planner.hosts, server_group=soft))
    target = min(planner.wanted, sum(room * times for room, times in numbers.items()))

    def is_enough(limit: int) -> bool:
        return sum(min(room, limit) * times for room, times in numbers.items()) >= target

    return bisect_left(range(_MOST_STEPS), True, key=is_enough)
