"""The trusts of the sandbox's Keystone: a trustor lets a trustee act with some of its roles.

Shapes::

    Trust(trustor, trustee_id, project, ('member',), impersonation=True).scope(trustee)
        == Scope(trustor, project, ('member',), trust=...)     # it is the trustor who acts
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

from senlin_affinity.sandbox.identities import Project, Scope, User


@dataclass(frozen=True)
class Trust:
    """One trust, in one project."""

    trustor: User
    trustee_id: str
    project: Project
    roles: tuple[str, ...]
    impersonation: bool
    id: str = field(default_factory=lambda: uuid.uuid4().hex)

    def scope(self, trustee: User) -> Scope:
        """Give what a token of the trust is for; with impersonation the trustor is its user."""
        user = self.trustor if self.impersonation else trustee
        shown = {
            'id': self.id,
            'impersonation': self.impersonation,
            'trustor_user': {'id': self.trustor.id},
            'trustee_user': {'id': self.trustee_id},
        }
        return Scope(user, self.project, self.roles, trust=tuple(shown.items()))

    def is_visible_to(self, scope: Scope) -> bool:
        """Tell whether a caller may see it: its two users, and an administrator."""
        return scope.user.id in (self.trustor.id, self.trustee_id) or 'admin' in scope.roles

    def as_dict(self) -> dict[str, Any]:
        """Give the trust as the API shows it."""
        return {
            'id': self.id,
            'trustor_user_id': self.trustor.id,
            'trustee_user_id': self.trustee_id,
            'project_id': self.project.id,
            'impersonation': self.impersonation,
            'roles': [{'id': role, 'name': role} for role in self.roles],
            'expires_at': None,
            'deleted_at': None,
            'remaining_uses': None,
            'redelegation_count': 0,
            'links': {},
        }


class Trusts:
    """The trusts by id. The caller holds a lock."""

    def __init__(self) -> None:
        self._trusts: dict[str, Trust] = {}

    def create(self, trust: Trust) -> Trust:
        """Keep a trust."""
        self._trusts[trust.id] = trust
        return trust

    def get(self, trust_id: str) -> Trust | None:
        """Give a trust, None when it is unknown or was deleted."""
        return self._trusts.get(trust_id)

    def delete(self, trust_id: str) -> None:
        """Forget a trust, and with it the tokens that stand on it."""
        self._trusts.pop(trust_id, None)

    def select(self, trustor_id: str | None, trustee_id: str | None) -> list[Trust]:
        """Give the trusts of a trustor, a trustee, or both; None means any."""
        return [
            trust
            for trust in self._trusts.values()
            if trustor_id in (None, trust.trustor.id) and trustee_id in (None, trust.trustee_id)
        ]
