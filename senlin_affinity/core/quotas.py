"""The quotas of a project: is there room for so many servers more, and for one server group more?

Source: RX-07; ``GET /limits``. Nova counts groups, instances, cores and ram per project, and the
members of a group when a server boots: of the whole group with unified limits, of the group and one
user with its database driver. A group with servers of several users is therefore "at most".

Units: ram in MiB; a limit of None is "no limit" (-1 in Nova); a quota that is missing is not known:
SKIP. ``room`` is a number of servers, also in a REJECT.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from senlin_affinity.core.objects import Flavor, Quota
from senlin_affinity.core.reasons import Reason
from senlin_affinity.core.server_group import Member
from senlin_affinity.core.verdict import Outcome, Verdict

INSTANCES = 'instances'
CORES = 'cores'
RAM = 'ram'
SERVER_GROUPS = 'server_groups'
SERVER_GROUP_MEMBERS = 'server_group_members'

REASONS = {
    'quota.server_groups': Reason(
        'the project has {used} of {limit} server groups: no room for one more',
        advice='delete a server group that is not in use, name an existing one, or raise the '
        'quota server_groups',
    ),
    'quota.server_group_members': Reason(
        'server group {group} has {members} of {limit} members allowed: no room for {wanted} more',
        advice='raise the quota server_group_members, or split the cluster over two groups',
    ),
    'quota.instances': Reason(
        'the project has {used} of {limit} instances: no room for {wanted} more',
        advice='raise the quota instances, or delete servers',
    ),
    'quota.cores': Reason(
        'the project uses {used} of {limit} cores: no room for {wanted} times {each} more',
        advice='raise the quota cores, delete servers, or use a smaller flavor',
    ),
    'quota.ram': Reason(
        'the project uses {used} of {limit} MiB of ram: no room for {wanted} times {each} more',
        advice='raise the quota ram, delete servers, or use a smaller flavor',
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
    quotas: Mapping[str, Quota], group: str, members: Sequence[Member], wanted: int
) -> Verdict:
    """May a group with these members take ``wanted`` more? ``room`` is what it may take."""
    quota = quotas.get(SERVER_GROUP_MEMBERS)
    if quota is None:
        return Verdict.skipped('quota.unknown')
    if quota.limit is None:
        return Verdict.passed('quota.unlimited')
    has_several_users = len({member.user for member in members}) > 1
    counted = 0 if has_several_users else len(members)
    room = max(0, quota.limit - counted)
    if wanted > room:
        facts = {'group': group, 'members': counted, 'limit': quota.limit, 'wanted': wanted}
        return Verdict(Outcome.REJECT, 'quota.server_group_members', facts, room)
    return Verdict.passed('quota.ok', room=room, is_at_most=has_several_users)


def room_for_servers(quotas: Mapping[str, Quota], flavor: Flavor | None, wanted: int) -> Verdict:
    """May the project have ``wanted`` servers more of this flavor? ``room`` is how many it may.

    The quota that leaves the least room speaks for all.
    """
    each = {INSTANCES: 1}
    if flavor is not None:
        each |= {CORES: flavor.vcpus, RAM: flavor.ram}
    known = {
        name: quota
        for name, amount in each.items()
        if amount and (quota := quotas.get(name)) is not None and quota.used is not None
    }
    rooms = {
        name: quota.room // each[name] for name, quota in known.items() if quota.room is not None
    }
    if not known:
        return Verdict.skipped('quota.unknown')
    if not rooms:
        return Verdict.passed('quota.unlimited')
    name, room = min(rooms.items(), key=lambda item: item[1])
    if wanted <= room:
        return Verdict.passed('quota.ok', room=room)
    facts = {'used': known[name].used, 'limit': known[name].limit, 'wanted': wanted}
    facts |= {} if name == INSTANCES else {'each': each[name]}
    return Verdict(Outcome.REJECT, f'quota.{name}', facts, room)
