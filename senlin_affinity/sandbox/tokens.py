"""The tokens that the sandbox's Keystone has issued.

Shapes::

    tokens.issue(scope, ['password']).as_body(catalogue) == {'token': {...}}

Errors: an unknown, revoked or trustless token is None, never an exception.
"""

from __future__ import annotations

import datetime
import secrets
from dataclasses import dataclass
from typing import Any

from senlin_affinity.sandbox.identities import DOMAIN_ID, DOMAIN_NAME, Scope
from senlin_affinity.sandbox.trusts import Trusts

LIFETIME = datetime.timedelta(days=7)


def domain() -> dict[str, str]:
    """Give the one domain as tokens and lists show it."""
    return {'id': DOMAIN_ID, 'name': DOMAIN_NAME}


def timestamp(moment: datetime.datetime) -> str:
    """Write a moment the way Keystone does."""
    return moment.strftime('%Y-%m-%dT%H:%M:%S.000000Z')


@dataclass(frozen=True)
class Token:
    """One token; its id is the secret that a client shows."""

    id: str
    scope: Scope
    methods: tuple[str, ...]
    issued_at: datetime.datetime

    def as_body(self, catalogue: list[dict[str, Any]]) -> dict[str, Any]:
        """Give the token as clients and keystonemiddleware read it."""
        scope = self.scope
        body: dict[str, Any] = {
            'methods': list(self.methods),
            'issued_at': timestamp(self.issued_at),
            'expires_at': timestamp(self.issued_at + LIFETIME),
            'audit_ids': [self.id[:22]],
            'is_domain': False,
            'user': {
                'id': scope.user.id,
                'name': scope.user.name,
                'domain': domain(),
                'password_expires_at': None,
            },
            'project': {'id': scope.project.id, 'name': scope.project.name, 'domain': domain()},
            'roles': [{'id': role, 'name': role} for role in scope.roles],
            'catalog': catalogue,
        }
        if scope.trust:
            body['OS-TRUST:trust'] = dict(scope.trust)
        return {'token': body}


class Tokens:
    """The tokens by id. The caller holds a lock."""

    def __init__(self) -> None:
        self._tokens: dict[str, Token] = {}

    def issue(self, scope: Scope, methods: list[str]) -> Token:
        """Draw a new token."""
        now = datetime.datetime.now(datetime.timezone.utc)
        token = Token(secrets.token_urlsafe(48), scope, tuple(methods), now)
        self._tokens[token.id] = token
        return token

    def get(self, token_id: str, trusts: Trusts) -> Token | None:
        """Give a token that still counts: issued here, not revoked, its trust not deleted."""
        token = self._tokens.get(token_id)
        if token is None or not token.scope.trust_id:
            return token
        return token if trusts.get(token.scope.trust_id) else None

    def revoke(self, token_id: str) -> None:
        """Forget a token."""
        self._tokens.pop(token_id, None)
