"""The quota of servers in one group, for the request as a whole.

Source: RX-07; Nova checks ``server_group_members`` when a server boots and answers 403.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from senlin_affinity.core import quotas
from senlin_affinity.core.objects import Question
from senlin_affinity.core.reasons import Reason
from senlin_affinity.core.verdict import Verdict


class QuotaConstraint:
    """How many servers more the project's quotas allow."""

    name = 'quota'
    order = 900
    summary = "no more servers in a group than the project's quota allows"
    needs = ('quotas', 'server_groups')
    filters: tuple[str, ...] = ()
    reasons: ClassVar[Mapping[str, Reason]] = {
        **quotas.REASONS,
        'quota.no_group': Reason('no server group is asked for'),
    }

    def check_request(self, question: Question) -> Verdict:
        """See :meth:`RequestConstraint.check_request`."""
        group, known = question.server_group, question.snapshot.quotas
        if group is None:
            return Verdict.skipped('quota.no_group')
        if known is None:
            return Verdict.skipped('quota.unknown')
        return quotas.room_for_members(
            known, group.name, len(group.members), question.request.count
        )
