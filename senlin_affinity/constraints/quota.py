"""The quotas of servers, cores, ram and of the servers in one group, for the request as a whole.

Source: Nova checks them when a server is asked for, and answers 403.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from senlin_affinity.constraints.base import Change, Reason, Replanner, ResolvedRequest, Verdict
from senlin_affinity.core import quotas
from senlin_affinity.core.assumptions import Assumption
from senlin_affinity.core.objects import Quota

NO_USERS = Assumption('quota.user', 'no lower quota of the user')


class QuotaConstraint:
    """How many servers more the project's quotas allow."""

    name = 'quota'
    order = 900
    summary = "no more servers, and no more in a group, than the project's quotas allow"
    needs = ('quotas', 'flavors', 'server_groups')
    is_by_name = False
    is_by_resources = False
    is_lasting = True
    filters: tuple[str, ...] = ()
    reasons: ClassVar[Mapping[str, Reason]] = {
        **quotas.REASONS,
        'quota.no_group': Reason('no server group is asked for'),
    }

    def check_request(self, resolved: ResolvedRequest) -> Verdict:
        """See :meth:`RequestConstraint.check_request`: the quota that leaves the least room."""
        group, known = resolved.server_group, resolved.snapshot.quotas
        wanted = resolved.request.count
        if not known or not resolved.has_quotas:
            return Verdict.skipped('quota.unknown')
        each = quotas.amounts(resolved.flavor, resolved.demand)
        verdicts = [quotas.room_for_servers(known, each, wanted)]
        if group is not None:
            user = resolved.snapshot.user_id
            verdicts.append(quotas.room_for_members(known, group.name, group.members, wanted, user))
        elif verdicts[0].code == 'quota.unknown':
            return Verdict.skipped('quota.no_group')
        leasts = [verdict.least for verdict in verdicts if verdict.least is not None]
        return replace(_strictest(verdicts), least=min(leasts, default=None))

    def assumptions(self, resolved: ResolvedRequest) -> Iterator[Assumption]:
        """Users may have less than their project. A file that names no project tells all."""
        known, snapshot = resolved.snapshot.quotas, resolved.snapshot
        if not known or not resolved.has_quotas or snapshot.project_id is None:
            return
        used = [*quotas.amounts(resolved.flavor, resolved.demand)]
        used += [quotas.SERVER_GROUP_MEMBERS] if resolved.server_group is not None else []
        if any(name in known and known[name].of_user is None for name in used):
            yield NO_USERS

    def remedies(self, planner: Replanner) -> Iterator[Change]:
        """Quotas that are as large as is needed."""
        resolved, wanted = planner.resolved, planner.wanted
        known = resolved.snapshot.quotas
        verdict = planner.now.request.get('quota')
        if known is None or verdict is None or verdict:
            return
        raised: dict[str, Quota] = {}
        for name, (_least, amount) in quotas.amounts(resolved.flavor, resolved.demand).items():
            quota = known.get(name)
            if quota is not None and quota.used is not None:
                raised[name] = _raised(quota, amount * wanted)
        members = known.get(quotas.SERVER_GROUP_MEMBERS)
        if resolved.server_group is not None and members is not None:
            needed = len(resolved.server_group.members) + wanted
            raised[quotas.SERVER_GROUP_MEMBERS] = _raised(members, needed)
        raised = {name: quota for name, quota in raised.items() if quota != known[name]}
        limits = {
            name: quota.limit for name, quota in raised.items() if quota.limit != known[name].limit
        }
        data: dict[str, Any] = {'project_id': resolved.project_id, 'limits': limits}
        of_user = {
            name: quota.of_user.limit
            for name, quota in raised.items()
            if quota.of_user is not None and quota.of_user != known[name].of_user
        }
        if of_user:
            data |= {'user_id': resolved.snapshot.user_id, 'user_limits': of_user}
        then = planner.plan({'quotas': data})
        words = [f'{name}: {limit}' for name, limit in limits.items()]
        words += [f'{name} of the user: {limit}' for name, limit in of_user.items()]
        change = 'quota ' + ', '.join(words)
        yield planner.change('quota', change, wanted - (verdict.room or 0), then)


def _raised(quota: Quota, more: int) -> Quota:
    """The quota, and its user's, with room for so much more."""
    of_user = None if quota.of_user is None else _raised(quota.of_user, more)
    needed = (quota.used or 0) + more
    limit = quota.limit if quota.limit is None else max(quota.limit, needed)
    return replace(quota, limit=limit, of_user=of_user)


def _strictest(verdicts: Sequence[Verdict]) -> Verdict:
    limited = [verdict for verdict in verdicts if verdict.room is not None]
    if limited:
        return min(limited, key=lambda verdict: verdict.room or 0)
    return min(verdicts, key=lambda verdict: verdict.code != 'quota.unlimited')
