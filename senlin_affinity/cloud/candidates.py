"""Is Placement new enough for what is asked of the aggregates of hosts?

Errors: InvalidSpec where it is too old for the constraint, CloudError where it can not be found.

Source: Placement's API reference; document 001: a forbidden aggregate needs 1.32. Trees with their
roots, which the constraint is held against, are told from 1.29.
"""

from __future__ import annotations

from collections.abc import Callable

from senlin_affinity.cloud.providers import TREES
from senlin_affinity.cloud.rest import CloudsRest, Microversion, shown
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.member_of import MemberOf

FORBIDDEN: Microversion = (1, 32)


class PlacementCandidates:
    """The Placement of one cloud, looked for when something is asked: plain users may not."""

    def __init__(self, placement: Callable[[], CloudsRest]) -> None:
        self._placement = placement

    def check_version(self, member_of: MemberOf, path: str) -> None:
        """See :meth:`Candidates.check_version`."""
        if not member_of:
            return
        needed = FORBIDDEN if member_of.forbidden else TREES
        offered = self._placement().pick(needed)
        if offered >= needed:
            return
        what, remedy = 'aggregates of hosts', 'leave member_of out'
        if member_of.forbidden:
            what, remedy = 'forbidden aggregates', 'take the values with ! out'
        raise InvalidSpec(
            f'{what} need Placement microversion {shown(needed)}, this cloud offers '
            f'{shown(offered)}: {remedy}, or use a newer cloud',
            path,
        )
