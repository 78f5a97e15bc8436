"""Provide a minimal Keystone: tokens, roles, trusts and a catalogue.

It serves keystoneauth (password, token and trust scope), keystonemiddleware (validation) and
Senlin's trust middleware. Deviations: one domain, no creation of projects or users, no federation,
and tokens end with the sandbox.
"""

from __future__ import annotations

import datetime
import hmac
import secrets
import threading
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from keystoneauth1 import fixture
from webob import Request, Response

from senlin_affinity.sandbox.identities import (
    DOMAIN_ID,
    DOMAIN_NAME,
    PROJECTS,
    REGION,
    USERS,
    Endpoints,
    Project,
    User,
)
from senlin_affinity.sandbox.wsgi import Stub, answer, error, not_found, parts_of

_DOMAIN = (DOMAIN_ID, DOMAIN_NAME)
LIFETIME = datetime.timedelta(days=7)


@dataclass(frozen=True)
class Trust:
    """A trust in one project."""

    trustor: User
    trustee_id: str
    project: Project
    roles: tuple[str, ...]
    impersonation: bool
    id: str = field(default_factory=lambda: uuid.uuid4().hex)

    def scope(self, trustee: User) -> Scope:
        """Return the scope of a token of the trust; with impersonation its user is the trustor."""
        user = self.trustor if self.impersonation else trustee
        return Scope(user, self.project, self.roles, trust=self)

    def is_visible_to(self, scope: Scope) -> bool:
        """Check whether a caller may read the trust: its two users, and administrators."""
        return scope.user.id in (self.trustor.id, self.trustee_id) or 'admin' in scope.roles

    def as_dict(self) -> dict[str, Any]:
        """Return the trust as the API shows it."""
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
    """The user, project, roles and trust of a token."""

    user: User
    project: Project
    roles: tuple[str, ...]
    trust: Trust | None = None


@dataclass(frozen=True)
class Token:
    """A token; ``id`` is the secret that a client sends, ``body`` what it may read."""

    id: str
    scope: Scope
    body: dict[str, Any]


def _issue(scope: Scope, methods: list[str], endpoints: Endpoints) -> Token:
    """Create a token, with a body for clients and keystonemiddleware."""
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


class Keystone(Stub):
    """The Identity API of one sandbox; thread-safe."""

    def __init__(self, endpoints: Endpoints, secret: str) -> None:
        self._endpoints = endpoints
        self._secret = secret
        self._tokens: dict[str, Token] = {}
        self._trusts: dict[str, Trust] = {}
        self._lock = threading.Lock()

    def _answer(self, request: Request) -> Response:
        parts = parts_of(request)
        match parts:
            case ():
                return answer(300, {'versions': {'values': [self._version()]}})
            case ('v3',):
                return answer(200, {'version': self._version()})
            case ('v3', 'auth', 'tokens') if request.method == 'POST':
                return self._issue(request)
        caller = self._token(request.headers.get('X-Auth-Token'))
        if caller is None:
            return error(401, 'The request you have made requires authentication.')
        match parts:
            case ('v3', 'auth', 'tokens') if request.method == 'GET':
                return self._validate(request, caller)
            case ('v3', 'OS-TRUST', 'trusts', *trust_id):
                return self._trust_requests(request, caller, *trust_id)
            case ('v3', 'users', *user_id):
                return _show(request, 'user', USERS.values(), *user_id)
            case ('v3', 'projects', *project_id):
                return self._projects(request, caller, *project_id)
            case ('v3', 'regions', *_):
                return answer(200, {'regions': [{'id': REGION, 'description': ''}], 'links': {}})
        return not_found(request)

    def _version(self) -> dict[str, Any]:
        return fixture.V3Discovery(f'{self._endpoints.url("identity")}/v3/', 'v3.14', xml=False)

    def _token(self, token_id: str | None) -> Token | None:
        """Return a token that was issued here, and whose trust was not deleted, or None."""
        token = self._tokens.get(token_id or '')
        trust = token and token.scope.trust
        return token if trust is None or trust.id in self._trusts else None

    def _issue(self, request: Request) -> Response:
        try:
            auth = request.json_body['auth']
            methods = auth['identity']['methods']
            user = self._who(auth['identity'], methods)
            wanted = auth.get('scope')
            scope = self._scope(user, wanted) if user else None
        except (LookupError, TypeError, AttributeError, ValueError):
            return error(400, 'the body is not a request for a token')
        if user is None or scope is None:
            return error(401, 'The request you have made requires authentication.')
        token = _issue(scope, methods, self._endpoints)
        self._tokens[token.id] = token
        headers = {'X-Subject-Token': token.id, 'Vary': 'X-Auth-Token'}
        return answer(201, token.body, headers)

    def _who(self, identity: dict[str, Any], methods: list[str]) -> User | None:
        if methods == ['token']:
            token = self._token(identity['token']['id'])
            return token.scope.user if token else None
        given = identity['password']['user']
        user = _find(USERS.values(), given)
        if user is None or not hmac.compare_digest(
            str(given['password']).encode(), user.password(self._secret).encode()
        ):
            return None
        return user

    def _scope(self, user: User, wanted: Any) -> Scope | None:
        """Return the requested scope (default: the user's own project); None if it is forbidden."""
        if wanted is not None and 'OS-TRUST:trust' in wanted:
            trust = self._trusts.get(wanted['OS-TRUST:trust']['id'])
            if trust is None or trust.trustee_id != user.id:
                return None
            return trust.scope(user)
        if wanted is None or wanted == 'unscoped' or 'unscoped' in wanted:
            return Scope(user, user.project, user.roles)
        project = _find(PROJECTS.values(), wanted['project'])
        # An administrator has its roles in every project.
        is_theirs = project is not None and (project == user.project or 'admin' in user.roles)
        return Scope(user, project, user.roles) if is_theirs else None

    def _validate(self, request: Request, caller: Token) -> Response:
        subject = self._token(request.headers.get('X-Subject-Token'))
        if subject is None:
            return error(404, 'This is not a recognized token.')
        if subject.id != caller.id and not {'admin', 'service'} & set(caller.scope.roles):
            return error(403, 'You are not authorized to validate this token.')
        return answer(200, subject.body, {'X-Subject-Token': subject.id})

    def _trust_requests(self, request: Request, caller: Token, *trust_id: str) -> Response:
        if not trust_id:
            if request.method == 'POST':
                return self._create_trust(request, caller)
            return self._list_trusts(request, caller)
        trust = self._trusts.get('/'.join(trust_id))
        if trust is None or not trust.is_visible_to(caller.scope):
            return error(404, 'Could not find trust.')
        if request.method == 'DELETE':
            if caller.scope.user.id != trust.trustor.id and 'admin' not in caller.scope.roles:
                return error(403, 'Only the trustor may delete a trust.')
            del self._trusts[trust.id]
            return answer(204)
        return answer(200, {'trust': trust.as_dict()})

    def _create_trust(self, request: Request, caller: Token) -> Response:
        try:
            given = request.json_body['trust']
            trustor, project_id = given['trustor_user_id'], given['project_id']
            roles = tuple(role.get('name') or role['id'] for role in given['roles'])
            trustee = _find(USERS.values(), {'id': given['trustee_user_id']})
        except (KeyError, TypeError, AttributeError, ValueError):
            return error(400, 'the body is not a trust')
        scope = caller.scope
        if trustor != scope.user.id or project_id != scope.project.id or scope.trust:
            return error(403, 'A trust is created by its trustor, for the project of the token.')
        if trustee is None:
            return error(404, f'Could not find user: {given["trustee_user_id"]}.')
        if not roles or not set(roles) <= set(scope.roles):
            return error(403, 'Some of the roles of the trust are not those of the trustor.')
        impersonation = bool(given.get('impersonation'))
        trust = Trust(scope.user, trustee.id, scope.project, roles, impersonation)
        self._trusts[trust.id] = trust
        return answer(201, {'trust': trust.as_dict()})

    def _list_trusts(self, request: Request, caller: Token) -> Response:
        trustor, trustee = map(request.GET.get, ('trustor_user_id', 'trustee_user_id'))
        found = [
            trust
            for trust in self._trusts.values()
            if trustor in (None, trust.trustor.id) and trustee in (None, trust.trustee_id)
        ]
        if any(not trust.is_visible_to(caller.scope) for trust in found):
            return error(403, 'You are not authorized to list these trusts.')
        return answer(200, {'trusts': [trust.as_dict() for trust in found], 'links': {}})

    def _projects(self, request: Request, caller: Token, *project_id: str) -> Response:
        """Return all projects for administrators; otherwise only the token's."""
        if project_id != (caller.scope.project.id,) and 'admin' not in caller.scope.roles:
            action = 'get_project' if project_id else 'list_projects'
            return error(
                403, f'You are not authorized to perform the requested action: identity:{action}.'
            )
        return _show(request, 'project', PROJECTS.values(), *project_id)


def _find(items: Iterable[Any], given: dict[str, Any]) -> Any:
    key = 'name' if given.get('id') is None else 'id'
    return next((item for item in items if getattr(item, key) == given.get(key)), None)


def _show(request: Request, kind: str, items: Iterable[Any], *item_id: str) -> Response:
    bodies = [
        {'id': item.id, 'name': item.name, 'domain_id': DOMAIN_ID, 'enabled': True}
        for item in items
    ]
    if not item_id:
        name = request.GET.get('name')
        found = [body for body in bodies if name in (None, body['name'])]
        return answer(200, {f'{kind}s': found, 'links': {}})
    for body in bodies:
        if (body['id'],) == item_id:
            return answer(200, {kind: body})
    return error(404, f'Could not find {kind}: {"/".join(item_id)}.')
