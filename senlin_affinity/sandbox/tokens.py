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
    """One token; its id is the secret that a client shows."""

    scope: Scope
    methods: list[str]
    id: str = field(default_factory=lambda: secrets.token_urlsafe(48))
    issued: datetime.datetime = field(
        default_factory=lambda: datetime.datetime.now(datetime.timezone.utc)
    )

    def as_body(self, endpoints: Endpoints) -> dict[str, Any]:
        """Give the token as clients and keystonemiddleware read it."""
        scope, domain = self.scope, {'domain_id': DOMAIN_ID, 'domain_name': DOMAIN_NAME}
        body = fixture.V3Token(
            issued=self.issued,
            expires=self.issued + LIFETIME,
            methods=self.methods,
            audit_id=self.id[:22],
            user_id=scope.user.id,
            user_name=scope.user.name,
            **{f'user_{key}': value for key, value in domain.items()},
        )
        body.set_project_scope(scope.project.id, scope.project.name, **domain, is_domain=False)
        for role in scope.roles:
            body.add_role(role, role)
        for kind, (name, url) in endpoints.services().items():
            service = body.add_service(kind, name, name)
            service.add_standard_endpoints(url, url, url, REGION)
        if scope.trust:
            trust = scope.trust
            people = {'trustor_user_id': trust.trustor.id, 'trustee_user_id': trust.trustee_id}
            body.set_trust_scope(trust.id, trust.impersonation, **people)
        return dict(body)
