"""Check whether the quotas of a project allow more servers, or one more server group.

Source: ``GET /limits``, and ``GET /os-quota-sets/<project>/detail?user_id=`` for quotas of users,
which only the database driver has. Nova counts in several ways (:class:`Counting`), which
nova.conf's ``[quota]`` determines. If that is unknown, the way that leaves the most room decides
about a rejection, and the way that leaves the least room gives the guaranteed number ``least``:

* members: the database driver counts the requesting user's servers, unified limits the whole group;
* cores and ram: the database driver counts the flavor's figures, unified limits the server's
  request to Placement (which ``resources:`` and ``hw:cpu_policy`` change). With
  ``count_usage_from_placement``, the database driver counts the flavor's figures for a new server,
  and the usage in Placement for earlier servers. It checks the latter again after the new server
  has been scheduled, unless ``recheck_quota`` is off: both are possible.

Units: ram in MiB; a limit of None is "no limit" (-1 in Nova); a missing quota is unknown: SKIP.
``room`` is a number of servers, also in a REJECT.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from senlin_affinity.model.bounds import Bounds
from senlin_affinity.model.cloud import Cloud, Flavor, Quota
from senlin_affinity.model.flavor import MEMORY_MB, PCPU, VCPU, Demand
from senlin_affinity.model.request import Request
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.value import Capacity
from senlin_affinity.model.verdict import Outcome, Reason, Verdict, tenant_reason

INSTANCES, CORES, RAM = 'instances', 'cores', 'ram'
SERVER_GROUPS = 'server_groups'
SERVER_GROUP_MEMBERS = 'server_group_members'
METADATA_ITEMS = 'metadata_items'
#: Caveats.
DRIVERS = "quotas, which Nova's drivers count in two ways"
UNKNOWN_USERS = 'members of the group that may belong to the same user'
#: What new servers need, and what a resized server needs, in a sentence.
NEW_NEED = '{wanted} server(s) need(s) {needed}'
RESIZE_NEEDS = 'the resize needs {needed} more'
#: The fact with each other exceeded quota, and the beginning of the codes that may have it.
_ALSO, _CODES = 'also', 'quota.'

REASONS: Mapping[str, Reason] = {
    'quota.server_groups': tenant_reason(
        'the project has {used} of {limit} server groups: no room for one more',
        advice='delete a server group that is not in use, name an existing one, or raise the '
        'quota server_groups',
    ),
    'quota.server_group_members': tenant_reason(
        'server group {group} has {members} of {limit} allowed members: no room for {wanted} more',
        advice='raise the quota server_group_members, or split the cluster over two groups',
    ),
    'quota.instances': tenant_reason(
        'the project has {used} of {limit} instances: no room for {wanted} more',
        advice='raise the instances quota, or delete servers',
    ),
    'quota.cores': tenant_reason(
        f"the project's quota of cores has {{left}} of {{limit}} left, but {NEW_NEED}",
        advice='raise the cores quota, delete servers, or use a smaller flavor',
    ),
    'quota.ram': tenant_reason(
        f"the project's quota of ram has {{left}} of {{limit}} MiB left, but {NEW_NEED}",
        advice='raise the ram quota, delete servers, or use a smaller flavor',
    ),
    'quota.user_instances': tenant_reason(
        'the user has {used} of {limit} instances: no room for {wanted} more',
        advice="raise the user's instances quota, or delete servers",
    ),
    'quota.user_cores': tenant_reason(
        f"the user's quota of cores has {{left}} of {{limit}} left, but {NEW_NEED}",
        advice="raise the user's cores quota, delete servers, or use a smaller flavor",
    ),
    'quota.user_ram': tenant_reason(
        f"the user's quota of ram has {{left}} of {{limit}} MiB left, but {NEW_NEED}",
        advice="raise the user's ram quota, delete servers, or use a smaller flavor",
    ),
    'quota.metadata_items': tenant_reason(
        'each server has {items} metadata items, but the quota metadata_items allows {limit}',
        advice='remove metadata from the profile, or raise the quota metadata_items',
    ),
    'quota.ok': Reason('the quotas leave room'),
    'quota.unlimited': Reason('there is no limit'),
    'quota.unknown': Reason('the quota is not known'),
}


#: The quotas by the fact ``quota`` of a PASS, for a sentence.
IN_WORDS: Mapping[str, str] = {
    SERVER_GROUP_MEMBERS: 'the quota of server group members',
    METADATA_ITEMS: 'the quota metadata_items',
    **{name: f"the project's quota of {name}" for name in (INSTANCES, CORES, RAM)},
    **{f'user_{name}': f"the user's quota of {name}" for name in (INSTANCES, CORES, RAM)},
}


class Counting(enum.Enum):
    """A way in which Nova counts the usage of quotas."""

    DATABASE = 'the database driver'
    PLACEMENT = 'the database driver with count_usage_from_placement'
    UNIFIED = 'unified limits'


class Charged(Quota, frozen=True):
    """A quota with servers that are planned, but do not exist yet.

    ``used`` includes the least that they use, and ``doubt`` is how much more they may use. Of the
    quota of group members, ``used`` are the planned members of the request's group that are of its
    user, ``doubt`` those of other users.
    """

    doubt: Capacity = 0


class Resized(Quota, frozen=True):
    """A quota without what a server that is resized uses, which Nova counts: ``own``."""

    own: Capacity = 0

    @classmethod
    def of(cls, quota: Quota, own: int) -> Resized:
        """Return a quota, and that of its user, without this usage."""
        of_user = None if quota.of_user is None else cls.of(quota.of_user, own)
        used = quota.with_less_usage(own).used
        return cls(quota.limit, used, of_user, (quota.used or 0) - (used or 0))


class Cost(NamedTuple):
    """The usage of a quota: by a new server (``first``), and by each server created before it."""

    first: int
    each: int

    def room(self, free: int) -> float:
        """Return the number of servers that can be created one by one in a free amount."""
        if free < self.first:
            return 0
        return 1 + (free - self.first) // self.each if self.each else math.inf

    def of(self, servers: int) -> int:
        """Return the free amount that this many servers need when created one by one."""
        return max(0, self.first + self.each * (servers - 1)) if servers else 0


def room_for_group(quotas: Mapping[str, Quota]) -> Verdict:
    """Check whether the project may have one more server group."""
    quota = quotas.get(SERVER_GROUPS)
    if quota is None or quota.used is None:
        return Verdict.skipped('quota.unknown')
    if quota.room is None:
        return Verdict.passed('quota.unlimited')
    if quota.room < 1:
        return Verdict.rejected('quota.server_groups', used=quota.used, limit=quota.limit)
    return Verdict.passed('quota.ok', room=quota.room)


def room_for_members(
    quotas: Mapping[str, Quota],
    group: ServerGroup,
    wanted: int,
    user: str | None = None,
    ways: Collection[Counting] = frozenset(Counting),
) -> Verdict:
    """Check whether a group may take ``wanted`` more servers; ``room`` is the allowed number.

    :param user: the requesting user; None: unknown. A member whose user is unknown may be this
        user's, and so may any member if ``user`` is None. Without any known user, all members
        count.
    """
    quota = quotas.get(SERVER_GROUP_MEMBERS)
    if quota is None:
        return Verdict.skipped('quota.unknown')
    if quota.limit is None:  # the database driver uses the lower number, and "no limit" is -1
        return Verdict.passed('quota.unlimited')
    of_user = quota.limit if quota.of_user is None else quota.of_user.limit
    of_user = None if of_user is None else min(quota.limit, of_user)
    owners = [member.user for member in group.members]
    new, every = 0, len(owners)
    if isinstance(quota, Charged):
        new = quota.used or 0
        every += new + quota.doubt
    counted = new + (len(owners) if user is None and not any(owners) else owners.count(user or ''))
    most = every if user is None else counted + owners.count(None)
    is_unified = Counting.UNIFIED in ways
    if {*ways} == {Counting.UNIFIED}:
        of_user, counted, most = quota.limit, every, every
    doubts = {UNKNOWN_USERS: most > counted, DRIVERS: is_unified and every > most}
    caveats = tuple(text for text, is_doubt in doubts.items() if is_doubt)
    most = every if is_unified else most
    if of_user is None:
        least = max(0, quota.limit - most) if is_unified else None
        return Verdict.passed('quota.unlimited', least=least, caveats=(DRIVERS,))
    room = max(0, of_user - counted)
    bounds = Bounds.at_most(room, max(0, of_user - most))
    if wanted <= room:
        return Verdict(Outcome.PASS, 'quota.ok', {'quota': SERVER_GROUP_MEMBERS}, bounds, caveats)
    facts = {'group': group.name, 'members': counted, 'limit': of_user, 'wanted': wanted}
    return Verdict(Outcome.REJECT, 'quota.server_group_members', facts, bounds, caveats)


def too_much_metadata(quotas: Mapping[str, Quota], items: int) -> Verdict | None:
    """Return REJECT if a server may not have this many metadata items, or else None."""
    quota = quotas.get(METADATA_ITEMS)
    if quota is None:
        return None
    limits = [each.limit for each in (quota, quota.of_user) if each is not None]
    limit = min((limit for limit in limits if limit is not None), default=items)
    if items <= limit:
        return None
    return Verdict.rejected('quota.metadata_items', items=items, limit=limit)


def costs(
    flavor: Flavor | None, demand: Demand | None, ways: Collection[Counting] = frozenset(Counting)
) -> dict[str, frozenset[Cost]]:
    """Return the costs of a server by quota, one for each way in which Nova may count."""
    found = {INSTANCES: frozenset([Cost(1, 1)])}
    if flavor is None:
        return found
    of_ram = (MEMORY_MB,)
    for name, figure, unified, used in (
        (CORES, flavor.vcpus, (VCPU,), (VCPU, PCPU)),
        (RAM, flavor.ram, of_ram, of_ram),
    ):
        each: set[Cost] = set()
        if Counting.DATABASE in ways:
            each.add(Cost(figure, figure))
        if Counting.UNIFIED in ways:
            each |= {Cost(amount, amount) for amount in _asked(demand, unified)}
        if Counting.PLACEMENT in ways:
            for amount in _asked(demand, used):
                each |= {Cost(figure, amount), Cost(max(figure, amount), amount)}
        found[name] = frozenset(each)
    return found


def _asked(demand: Demand | None, names: Collection[str]) -> set[int]:
    """Return the possible amounts of these classes that one server allocates in Placement."""
    queries = filter(None, () if demand is None else (demand.groups, demand.fallback))
    return {
        sum(group.amounts.get(name, 0) for group in groups for name in names) for groups in queries
    } or {0}


def room_for_servers(
    quotas: Mapping[str, Quota], costs: Mapping[str, Collection[Cost]], wanted: int
) -> Verdict:
    """Check whether the project may have ``wanted`` more servers; ``room`` is the allowed number.

    The verdict is that of the most restrictive quota. The fact ``also`` of a REJECT has the code
    and the facts of each other exceeded quota.
    """
    known = {
        name: quota
        for name, each in costs.items()
        if any(map(any, each)) and (quota := quotas.get(name)) is not None
        if quota.used is not None
    }
    if not known:
        return Verdict.skipped('quota.unknown')
    free = {name: quota.room for name, quota in known.items() if quota.room is not None}
    by_quota = {
        name: [(-cost.room(free[name]), cost) for cost in _counted(known[name], costs[name])]
        for name in free
    }
    rooms = {name: min(each) for name, each in by_quota.items()}
    least = min(
        (cost.room(free[name] - _doubt(known[name])) for name in free for cost in costs[name]),
        default=math.inf,
    )
    certain = None if least == math.inf else int(least)
    name = max(rooms, key=lambda each: rooms[each][0], default=INSTANCES)
    most = -rooms[name][0] if rooms else math.inf
    if most == math.inf:
        return Verdict.passed('quota.unlimited', least=certain, caveats=(DRIVERS,))
    bounds = Bounds.at_most(int(most), certain)
    if wanted <= most:
        whose = _strictest(name, known[name])[0]
        return Verdict(Outcome.PASS, 'quota.ok', {'quota': whose}, bounds, (DRIVERS,))
    too_few = {each: cost for each, (least, cost) in rooms.items() if -least < wanted}
    first = _exceeded(name, known[name], too_few.pop(name), wanted)
    others = (_exceeded(each, known[each], cost, wanted) for each, cost in too_few.items())
    return with_others(dataclasses.replace(first, bounds=bounds, caveats=(DRIVERS,)), others)


def _counted(quota: Quota, costs: Collection[Cost]) -> Collection[Cost]:
    """Return the possible costs; for a resize, only what the flavor names, as its usage is."""
    return [max(costs, key=lambda each: each.first)] if isinstance(quota, Resized) else costs


def _strictest(name: str, quota: Quota) -> tuple[str, Quota]:
    """Return the quota of the project or of its user that leaves less, the former by default."""
    if quota.of_user is not None and quota.room != Quota(quota.limit, quota.used).room:
        return f'user_{name}', quota.of_user
    return name, quota


def _exceeded(name: str, quota: Quota, cost: Cost, wanted: int) -> Verdict:
    """Return REJECT by a quota, with the numbers of Nova.

    For a resize, Nova counts the server's usage as used, and requests the difference.
    """
    free = quota.room or 0
    whose, quota = _strictest(name, quota)
    own = quota.own if isinstance(quota, Resized) else 0
    used = (quota.used or 0) + own
    facts = {'used': used, 'limit': quota.limit, 'wanted': wanted}
    if name != INSTANCES:
        facts |= {
            'each': cost.first - own,
            'needed': cost.of(wanted) - own,
            'left': max(0, free - own),
            'allowed': int(cost.room(free)),
        }
    return Verdict.rejected(f'quota.{whose}', **facts)


def with_others(verdict: Verdict, others: Iterable[Verdict]) -> Verdict:
    """Return a REJECT with the others in its fact ``also``; each is by another exceeded quota."""
    every = (each for other in others for each in exceeded(other))
    found = [{'code': each.code, **each.facts} for each in every]
    also = [*verdict.facts.get(_ALSO, ()), *found]
    return dataclasses.replace(verdict, facts={**verdict.facts, _ALSO: also}) if also else verdict


def exceeded(verdict: Verdict) -> Iterator[Verdict]:
    """Yield a REJECT, then one for each other exceeded quota in its facts."""
    facts = {**verdict.facts}
    also = facts.pop(_ALSO, ()) if verdict.code.startswith(_CODES) else ()
    yield dataclasses.replace(verdict, facts=facts)
    for each in also:
        yield Verdict.rejected(each['code'], **{key: each[key] for key in each if key != 'code'})


def _doubt(quota: Quota) -> int:
    return quota.doubt if isinstance(quota, Charged) else 0


def quotas_of(request: Request, cloud: Cloud) -> Mapping[str, Quota] | None:
    """Return the quotas of the servers' project and user; None if unknown, or ignored.

    If the project of the cloud is unknown, its quotas are those of the servers' project.
    ``of_user`` is None in all of them if the cloud has those of another user.
    """
    is_own = request.project_id == (cloud.project_id or request.project_id)
    if cloud.quotas is None or not is_own or request.are_quotas_ignored:
        return None
    if request.user_id == cloud.user_id:
        return cloud.quotas
    return {name: replace(quota, of_user=None) for name, quota in cloud.quotas.items()}


def has_hidden_quotas(request: Request, cloud: Cloud) -> bool:
    """Check whether the cloud lacks the quotas of the project.

    False for a cloud without a project: it may omit the quotas. False if they are ignored.
    """
    is_hidden = cloud.project_id is not None and quotas_of(request, cloud) is None
    return is_hidden and not request.are_quotas_ignored
