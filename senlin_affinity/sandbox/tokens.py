"""Tokens of the sandbox's Keystone, what they are for, and trusts: a trustor lets a trustee act.

Shapes::

    Trust(trustor, trustee_id, project, ('member',), impersonation=True).scope(trustee)
        == Scope(trustor, project, ('member',), trust=...)     # it is the trustor who acts
"""

from __future__ import annotations

import datetime
import secrets
import uuid
from dataclasses import dataclass, field
from typing import Any

from keystoneauth1 import fixture

from senlin_affinity.sandbox.identities import (
    DOMAIN_ID,
    DOMAIN_NAME,
    REGION,
    Endpoints,
    Project,
    User,
)

_DOMAIN = (DOMAIN_ID, DOMAIN_NAME)
LIFETIME = datetime.timedelta(days=7)


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
        return Scope(user, self.project, self.roles, trust=self)

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
            'redelegation_count': 0,
            'links': {},
            **dict.fromkeys(('expires_at', 'deleted_at', 'remaining_uses')),
        }


@dataclass(frozen=True)
class Scope:
    """Who acts, where, as what, and by which trust."""

    user: User
    project: Project
    roles: tuple[str, ...]
    trust: Trust | None = None


@dataclass(frozen=True)
class Token:
    """One token; its id is the secret that a client shows, the body what it may know."""

    id: str
    scope: Scope
    body: dict[str, Any]


def issue(scope: Scope, methods: list[str], endpoints: Endpoints) -> Token:
    """Draw a token; its body is as clients and keystonemiddleware read it."""
    token_id = secrets.token_urlsafe(48)
    user, project, trust = scope.user, scope.project, scope.trust
    now = datetime.datetime.now(datetime.timezone.utc)
    body = fixture.V3Token(now + LIFETIME, now, user.id, user.name, *_DOMAIN, methods)
    body.audit_id = token_id[:22]
    body.set_project_scope(project.id, project.name, *_DOMAIN, is_domain=False)
    for role in scope.roles:
        body.add_role(role, role)
    for kind, (name, url) in endpoints.services().items():
        body.add_service(kind, name, name).add_standard_endpoints(url, url, url, REGION)
    if trust:
        body.set_trust_scope(trust.id, trust.impersonation, trust.trustee_id, trust.trustor.id)
    return Token(token_id, scope, dict(body))
