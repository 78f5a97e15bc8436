"""The quotas of servers, cores, ram and of the servers in one group, for the request as a whole.

Source: Nova checks them when a server is asked for, and answers 403.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from senlin_affinity.constraints.base import Change, Reason, Replanner, ResolvedRequest, Verdict
from senlin_affinity.core import quotas


class QuotaConstraint:
    """How many servers more the project's quotas allow."""

    name = 'quota'
    order = 900
    summary = "no more servers, and no more in a group, than the project's quotas allow"
    needs = ('quotas', 'flavors', 'server_groups')
    is_by_name = False
    is_by_resources = False
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

    def remedies(self, planner: Replanner) -> Iterator[Change]:
        """Quotas that are as large as is needed."""
        resolved, wanted = planner.resolved, planner.wanted
        known = resolved.snapshot.quotas
        verdict = planner.now.request.get('quota')
        if known is None or verdict is None or verdict:
            return
        raised: dict[str, int] = {}
        for name, (_least, amount) in quotas.amounts(resolved.flavor, resolved.demand).items():
            quota = known.get(name)
            if quota is None or quota.used is None or quota.room is None:
                continue
            if quota.room < amount * wanted:
                raised[name] = quota.used + amount * wanted
        members = known.get(quotas.SERVER_GROUP_MEMBERS)
        if resolved.server_group is not None and members is not None and members.limit is not None:
            needed = len(resolved.server_group.members) + wanted
            if members.limit < needed:
                raised[quotas.SERVER_GROUP_MEMBERS] = needed
        data = {'project_id': resolved.project_id, 'limits': raised}
        then = planner.plan({'quotas': data})
        change = 'quota ' + ', '.join(f'{name}: {limit}' for name, limit in raised.items())
        yield planner.change('quota', change, wanted - (verdict.room or 0), then)


def _strictest(verdicts: Sequence[Verdict]) -> Verdict:
    limited = [verdict for verdict in verdicts if verdict.room is not None]
    if limited:
        return min(limited, key=lambda verdict: verdict.room or 0)
    return min(verdicts, key=lambda verdict: verdict.code != 'quota.unlimited')
