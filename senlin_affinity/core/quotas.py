"""The quotas of a project: is there room for so many servers more, and for one server group more?

Source: ``GET /limits``, and ``GET /os-quota-sets/<project>/detail?user_id=`` for those of users,
which only the database driver has. Which of Nova's two drivers a cloud runs nobody can see, so the
smaller figure refuses, and the greater one leaves ``least``, what is certain:

* members: the database driver counts the asker's servers, unified limits the whole group;
* cores and ram: the database driver counts the flavor's figures, unified limits what the flavor
  asks of Placement (which ``resources:`` and ``hw:cpu_policy`` change).

Units: ram in MiB; a limit of None is "no limit" (-1 in Nova); a quota that is missing is not known:
SKIP. ``room`` is a number of servers, also in a REJECT.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from senlin_affinity.core.flavor import MEMORY_MB, VCPU, Demand
from senlin_affinity.core.objects import Flavor, Quota
from senlin_affinity.core.reasons import Reason, own
from senlin_affinity.core.server_group import Member
from senlin_affinity.core.verdict import Outcome, Verdict

INSTANCES, CORES, RAM = 'instances', 'cores', 'ram'
SERVER_GROUPS = 'server_groups'
SERVER_GROUP_MEMBERS = 'server_group_members'

REASONS: Mapping[str, Reason] = {
    'quota.server_groups': own(
        'the project has {used} of {limit} server groups: no room for one more',
        advice='delete a server group that is not in use, name an existing one, or raise the '
        'quota server_groups',
    ),
    'quota.server_group_members': own(
        'server group {group} has {members} of {limit} members allowed: no room for {wanted} more',
        advice='raise the quota server_group_members, or split the cluster over two groups',
    ),
    'quota.instances': own(
        'the project has {used} of {limit} instances: no room for {wanted} more',
        advice='raise the quota instances, or delete servers',
    ),
    'quota.cores': own(
        'the project uses {used} of {limit} cores: no room for {wanted} times {each} more',
        advice='raise the quota cores, delete servers, or use a smaller flavor',
    ),
    'quota.ram': own(
        'the project uses {used} of {limit} MiB of ram: no room for {wanted} times {each} more',
        advice='raise the quota ram, delete servers, or use a smaller flavor',
    ),
    'quota.user_instances': own(
        'the user has {used} of {limit} instances: no room for {wanted} more',
        advice="raise the user's quota instances, or delete servers",
    ),
    'quota.user_cores': own(
        'the user has {used} of {limit} cores: no room for {wanted} times {each} more',
        advice="raise the user's quota cores, delete servers, or use a smaller flavor",
    ),
    'quota.user_ram': own(
        'the user has {used} of {limit} MiB of ram: no room for {wanted} times {each} more',
        advice="raise the user's quota ram, delete servers, or use a smaller flavor",
    ),
    'quota.ok': Reason('the quotas leave room'),
    'quota.unlimited': Reason('there is no limit'),
    'quota.unknown': Reason('the quota is not known'),
}


def room_for_group(quotas: Mapping[str, Quota]) -> Verdict:
    """May the project have one server group more?"""
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
    group: str,
    members: Sequence[Member],
    wanted: int,
    user: str | None = None,
) -> Verdict:
    """May a group with these members take ``wanted`` more? ``room`` is what it may take.

    :param user: who asks. None: not known; servers that are all of one user are then taken for the
        asker's, as they are where nothing is said of users at all.
    """
    quota = quotas.get(SERVER_GROUP_MEMBERS)
    if quota is None:
        return Verdict.skipped('quota.unknown')
    # The database driver takes the smaller of both numbers, and no limit is -1.
    of_user = quota.limit if quota.of_user is None else quota.of_user.limit
    if quota.limit is None or of_user is None:
        of_user = None
    else:
        of_user = min(quota.limit, of_user)
    limits = [limit for limit in (quota.limit, of_user) if limit is not None]
    if not limits:
        return Verdict.passed('quota.unlimited')
    owners = [member.user for member in members]
    if user is not None:
        counted = owners.count(user)
    else:
        counted = len(owners) if len(set(owners)) < 2 else 0
    least = max(0, min(limits) - len(owners))
    if of_user is None:
        return Verdict.passed('quota.unlimited', least=least)
    room = max(0, of_user - counted)
    if wanted > room:
        facts = {'group': group, 'members': counted, 'limit': of_user, 'wanted': wanted}
        return Verdict(Outcome.REJECT, 'quota.server_group_members', facts, room, least=least)
    return Verdict.passed('quota.ok', room=room, least=least)


def amounts(flavor: Flavor | None, demand: Demand | None) -> dict[str, tuple[int, int]]:
    """What a server takes of each quota of servers: the least, and the most."""
    if flavor is None:
        return {INSTANCES: (1, 1)}
    asked = demand.amounts if demand is not None else {}
    cores = flavor.vcpus, asked.get(VCPU, 0)
    ram = flavor.ram, asked.get(MEMORY_MB, 0)
    return {INSTANCES: (1, 1), CORES: (min(cores), max(cores)), RAM: (min(ram), max(ram))}


def room_for_servers(
    quotas: Mapping[str, Quota], each: Mapping[str, tuple[int, int]], wanted: int
) -> Verdict:
    """May the project have ``wanted`` servers more? ``room`` is how many it may.

    The quota that leaves the least room speaks for all; ``each`` is of :func:`amounts`.
    """
    known = {
        name: quota
        for name, (_least, most) in each.items()
        if most and (quota := quotas.get(name)) is not None and quota.used is not None
    }
    if not known:
        return Verdict.skipped('quota.unknown')
    free = {name: quota.room for name, quota in known.items() if quota.room is not None}
    rooms = {name: room // each[name][0] for name, room in free.items() if each[name][0]}
    leasts = [room // each[name][1] for name, room in free.items()]
    least = min(leasts, default=None)
    if not rooms:
        return Verdict.passed('quota.unlimited', least=least)
    name, room = min(rooms.items(), key=lambda item: item[1])
    if wanted <= room:
        return Verdict.passed('quota.ok', room=room, least=least)
    quota, code = known[name], f'quota.{name}'
    if quota.of_user is not None and quota.is_user_s:
        quota, code = quota.of_user, f'quota.user_{name}'
    facts = {'used': quota.used, 'limit': quota.limit, 'wanted': wanted}
    facts |= {} if name == INSTANCES else {'each': each[name][0]}
    return Verdict(Outcome.REJECT, code, facts, room, least=least)
