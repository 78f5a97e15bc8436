"""The quotas of server groups: is there room for one group more, and for its members?

Source: RX-07; ``GET /limits``. Nova counts groups per project, and members per group when a server
boots (and per user with its database driver, so a check here can only be too kind).

Units: a limit of None is "no limit" (-1 in Nova); a quota that is missing is not known: SKIP.
"""

from __future__ import annotations

from collections.abc import Mapping

from senlin_affinity.core.objects import Quota
from senlin_affinity.core.reasons import Reason
from senlin_affinity.core.verdict import Verdict

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


def room_for_members(quotas: Mapping[str, Quota], group: str, members: int, wanted: int) -> Verdict:
    """May a group that holds so many members take ``wanted`` more? ``room`` is what it may take."""
    quota = quotas.get(SERVER_GROUP_MEMBERS)
    if quota is None:
        return Verdict.skipped('quota.unknown')
    if quota.limit is None:
        return Verdict.passed('quota.unlimited')
    room = max(0, quota.limit - members)
    if wanted > room:
        facts = {'group': group, 'members': members, 'limit': quota.limit, 'wanted': wanted}
        return Verdict.rejected('quota.server_group_members', **facts)
    return Verdict.passed('quota.ok', room=room)
