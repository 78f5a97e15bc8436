"""Charge the quotas of a project with servers that are planned, but do not exist yet.

Example::

    charged({'instances': Quota(10, 4)}, [(request, 3)], another)   {'instances': Charged(10, 7)}

Nova may count cores and ram in several ways (:class:`~senlin_affinity.nova.quotas.Counting`). The
least of them is charged, so that a rejection is certain; what may be used beyond it is ``doubt``.

Units: as in :mod:`~senlin_affinity.nova.quotas`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from senlin_affinity.model.cloud import Quota
from senlin_affinity.model.option import Option
from senlin_affinity.model.request import Request
from senlin_affinity.nova import quotas
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.quotas import Charged, Cost, Counting

DRIVER = Option(
    'quota_driver',
    'nova.quota.DbQuotaDriver',
    'The quota driver. Use the value in section [quota] of nova.conf.',
    'driver',
    'quota',
    nova='quota',
)
USAGE = Option(
    'is_usage_from_placement',
    False,
    'Whether Nova reads the usage of cores and ram from Placement. Use the value in section '
    '[quota] of nova.conf.',
    'count_usage_from_placement',
    'quota',
    nova='quota',
)
_UNIFIED = 'nova.quota.UnifiedLimitsDriver'
_GROUPS = quotas.SERVER_GROUPS
_UNITS: Mapping[str, str] = {quotas.RAM: 'MiB of ram'}
#: The least and the most that servers may use, by quota.
_Use = Mapping[str, tuple[int, int]]


def ways_of(request: Request) -> frozenset[Counting]:
    """Return the ways in which Nova may count usage, as explicit options allow."""
    rules, driver = request.settings, request.option(DRIVER)
    ways = frozenset(Counting)
    if rules.is_explicit(DRIVER):
        if driver == _UNIFIED:
            return frozenset([Counting.UNIFIED])
        if driver == DRIVER.default:
            ways -= {Counting.UNIFIED}
    if rules.is_explicit(USAGE):
        ways -= {Counting.DATABASE if request.option(USAGE) else Counting.PLACEMENT}
    return ways


def costs_of(request: Request) -> Mapping[str, frozenset[Cost]]:
    """Return the possible costs of a server by quota."""
    return quotas.costs(request.flavor, demand_of(request), ways_of(request))


def charged(
    known: Mapping[str, Quota], earlier: Iterable[tuple[Request, int]], request: Request
) -> Mapping[str, Quota]:
    """Return the quotas of a request after so many servers of each earlier request.

    Only servers of its project count, and those of its user for the quotas of the user. Earlier
    requests that ignore quotas do not count. Each new server group counts once.
    """
    own = [
        (each, number)
        for each, number in earlier
        if each.project_id == request.project_id and not each.are_quotas_ignored
    ]
    of_user = [(each, number) for each, number in own if each.user_id == request.user_id]
    members, mine = _members(own, request), _members(of_user, request)
    of_project, of_user_only = _use(own), _use(of_user)
    return {
        name: Charged(quota.limit, mine, quota.of_user, members - mine)
        if name == quotas.SERVER_GROUP_MEMBERS
        else _charged(name, quota, of_project, of_user_only)
        for name, quota in known.items()
    }


def _members(servers: Iterable[tuple[Request, int]], request: Request) -> int:
    """Return how many of the servers are in the group of the request."""
    groups = ((each.server_group, number) for each, number in servers)
    own = request.server_group
    return sum(number for group, number in groups if group and own and group.id == own.id)


def _charged(name: str, quota: Quota, use: _Use, of_user: _Use) -> Quota:
    """Return a quota with this use; unchanged without a known usage."""
    if quota.used is None or name not in use:
        return quota
    least, most = use[name]
    inner = None if quota.of_user is None else _charged(name, quota.of_user, of_user, of_user)
    return Charged(quota.limit, quota.used + least, inner, most - least)


def _use(servers: Iterable[tuple[Request, int]]) -> _Use:
    """Return the least and the most that the servers may use, by quota."""
    least, most = Counter[str](), Counter[str]()
    groups = set()
    for request, number in servers:
        for name, costs in costs_of(request).items():
            each = [cost.each * number for cost in costs]
            least[name] += min(each)
            most[name] += max(each)
        if request.server_group is not None and request.server_group.is_planned:
            groups.add(request.server_group.id)
    least[_GROUPS] = most[_GROUPS] = len(groups)
    return {name: (least[name], most[name]) for name in most}


class Total(NamedTuple):
    """What all servers of a list need of a quota, and what is ``left`` of it.

    ``what`` is the quota in words. They need ``least`` or more, and at most ``most``.
    """

    what: str
    least: int
    most: int
    left: int


def totals(
    known: Mapping[str, Quota], requests: Sequence[Request], new_groups: int
) -> Iterator[Total]:
    """Yield what the requests need of each known quota with a limit.

    :param requests: of one project and user.
    :param new_groups: the number of server groups that are created.
    """
    use = {**_use((each, each.count) for each in requests), _GROUPS: (new_groups, new_groups)}
    costs = [costs_of(each) for each in requests]
    for name, (least, most) in use.items():
        # The first server may cost more, until Placement counts it.
        of_all = (cost for each in costs for cost in each.get(name, ()))
        more = max((cost.first - cost.each for cost in of_all), default=0)
        quota, whose = known.get(name), 'the project'
        while quota is not None:
            if quota.limit is not None and quota.used is not None:
                unit = _UNITS.get(name, name.replace('_', ' '))
                left = max(0, quota.limit - quota.used)
                yield Total(f'{unit} of {whose}', least, most + max(0, more), left)
            quota, whose = quota.of_user, 'the user'
    groups = {each.server_group.id: each for each in requests if each.server_group is not None}
    for request in groups.values():
        group, user = request.server_group, request.user_id
        wanted = _members(((each, each.count) for each in requests), request)
        if group is not None:
            verdict = quotas.room_for_members(known, group, wanted, user, ways_of(request))
            lower, _expected, upper = verdict.bounds
            if upper is not None:
                most = wanted + upper - (lower or 0)
                yield Total(f'members of server group {group.name}', wanted, most, upper)
