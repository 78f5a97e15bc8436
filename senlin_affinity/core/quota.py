"""A quota of a project, with what one of its users may have of it.

Shapes::

    Quota(10, 4, of_user=Quota(2, 1)).room == 1

Units: whatever the quota counts; ram in MiB.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Quota:
    """A limit (None: no limit) and how much of it is used (None: not known, or not counted).

    ``of_user`` is what the servers' user may have of a project's quota, None where nobody asked.
    """

    limit: int | None
    used: int | None = None
    of_user: Quota | None = None

    @property
    def room(self) -> int | None:
        """What is left of it, to its user as well; None where there is no limit."""
        own = None if self.limit is None else max(0, self.limit - (self.used or 0))
        of_user = None if self.of_user is None else self.of_user.room
        return min((room for room in (own, of_user) if room is not None), default=None)

    @property
    def is_user_s(self) -> bool:
        """Is it the user who has the least left, and not the project?"""
        return self.of_user is not None and self.room != replace(self, of_user=None).room
