"""A Keystone as small as the real clients let it be: tokens, roles, trusts and a catalogue.

It is a WSGI application for keystoneauth (password, token and trust scope), for
keystonemiddleware (validation) and for Senlin's trust middleware. Tokens and trusts are kept in
memory and drawn at random; nothing that was not issued here is accepted.

Differs from Keystone on purpose: one domain, no projects or users to create, no federation, and
tokens end with the sandbox.

Source: https://docs.openstack.org/api-ref/identity/v3/ and .../v3-ext/ (OS-TRUST).
"""

from __future__ import annotations

import hmac
import threading
from typing import Any

from senlin_affinity.sandbox.catalogue import Endpoints
from senlin_affinity.sandbox.identities import (
    PROJECTS,
    REGION,
    USERS,
    Project,
    Scope,
    User,
    roles_in,
)
from senlin_affinity.sandbox.tokens import Token, Tokens, domain
from senlin_affinity.sandbox.trusts import Trust, Trusts
from senlin_affinity.sandbox.wsgi import Request, Response, Stub, error, not_found


class Keystone(Stub):
    """The Identity API of one sandbox; safe to be called from many threads."""

    def __init__(self, endpoints: Endpoints, secret: str) -> None:
        self._endpoints = endpoints
        self._secret = secret
        self._tokens = Tokens()
        self._trusts = Trusts()
        self._lock = threading.Lock()

    def _answer(self, request: Request) -> Response:
        if not request.path:
            return Response(300, {'versions': {'values': [self._version()]}})
        if request.path == ('v3',):
            return Response(200, {'version': self._version()})
        if request.path == ('v3', 'auth', 'tokens') and request.method == 'POST':
            return self._issue(request)
        caller = self._tokens.get(request.header('X-Auth-Token'), self._trusts)
        if caller is None:
            return error(401, 'The request you have made requires authentication.')
        handler = {
            'auth': self._validate,
            'OS-TRUST': self._trust_requests,
            'users': self._users,
            'projects': self._projects,
            'regions': self._regions,
        }.get(request.path[1] if request.path[0] == 'v3' and len(request.path) > 1 else '')
        return handler(request, caller) if handler else not_found(request)

    def _version(self) -> dict[str, Any]:
        return {
            'id': 'v3.14',
            'status': 'stable',
            'updated': '2020-04-07T00:00:00Z',
            'media-types': [],
            'links': [{'rel': 'self', 'href': self._endpoints.url('identity') + '/v3/'}],
        }

    # -- tokens

    def _issue(self, request: Request) -> Response:
        try:
            auth = request.body['auth']
            methods = auth['identity']['methods']
            user = self._who(auth['identity'], methods)
            wanted = auth.get('scope')
            scope = self._scope(user, wanted) if user else None
        except (KeyError, TypeError, AttributeError, IndexError):
            return error(400, 'the body is no request for a token')
        if user is None or scope is None:
            return error(401, 'The request you have made requires authentication.')
        token = self._tokens.issue(scope, methods)
        body = token.as_body(self._endpoints.catalogue())
        return Response(201, body, {'X-Subject-Token': token.id, 'Vary': 'X-Auth-Token'})

    def _who(self, identity: dict[str, Any], methods: list[str]) -> User | None:
        if methods == ['token']:
            token = self._tokens.get(identity['token']['id'], self._trusts)
            return token.scope.user if token else None
        given = identity['password']['user']
        user = _user(given.get('id'), given.get('name'))
        if user is None or not hmac.compare_digest(
            str(given['password']).encode(), user.password(self._secret).encode()
        ):
            return None
        return user

    def _scope(self, user: User, wanted: Any) -> Scope | None:
        """Find what the token is for; without a scope it is the user's own project."""
        if wanted is not None and 'OS-TRUST:trust' in wanted:
            trust = self._trusts.get(wanted['OS-TRUST:trust']['id'])
            if trust is None or trust.trustee_id != user.id:
                return None
            return trust.scope(user)
        if wanted is None or wanted == 'unscoped' or 'unscoped' in wanted:
            return Scope(user, user.project, user.roles)
        project = _project(wanted['project'].get('id'), wanted['project'].get('name'))
        roles = roles_in(user, project.id) if project else ()
        return Scope(user, project, roles) if project and roles else None

    def _validate(self, request: Request, caller: Token) -> Response:
        if request.path != ('v3', 'auth', 'tokens'):
            return not_found(request)
        subject = self._tokens.get(request.header('X-Subject-Token'), self._trusts)
        if subject is None:
            return error(404, 'This is not a recognized token.')
        if subject.id != caller.id and not {'admin', 'service'} & set(caller.scope.roles):
            return error(403, 'You are not authorized to validate this token.')
        if request.method == 'DELETE':
            self._tokens.revoke(subject.id)
            return Response(204)
        if request.method == 'HEAD':
            return Response(200, None, {'X-Subject-Token': subject.id})
        body = subject.as_body(self._endpoints.catalogue())
        return Response(200, body, {'X-Subject-Token': subject.id})

    # -- trusts

    def _trust_requests(self, request: Request, caller: Token) -> Response:
        if request.path == ('v3', 'OS-TRUST', 'trusts'):
            if request.method == 'POST':
                return self._create_trust(request, caller)
            return self._list_trusts(request, caller)
        trust = self._trusts.get(request.path[3]) if len(request.path) == 4 else None
        if trust is None or not trust.is_visible_to(caller.scope):
            return error(404, 'Could not find trust.')
        if request.method == 'DELETE':
            if caller.scope.user.id != trust.trustor.id and 'admin' not in caller.scope.roles:
                return error(403, 'Only the trustor may delete a trust.')
            self._trusts.delete(trust.id)
            return Response(204)
        return Response(200, {'trust': trust.as_dict()})

    def _create_trust(self, request: Request, caller: Token) -> Response:
        try:
            given = request.body['trust']
            trustor, project_id = given['trustor_user_id'], given['project_id']
            roles = tuple(role.get('name') or role['id'] for role in given['roles'])
            trustee = _user(given['trustee_user_id'], None)
        except (KeyError, TypeError, AttributeError):
            return error(400, 'the body is no trust')
        scope = caller.scope
        if trustor != scope.user.id or project_id != scope.project.id or scope.trust_id:
            return error(403, 'A trust is created by its trustor, for the project of the token.')
        if trustee is None:
            return error(404, f'Could not find user: {given["trustee_user_id"]}.')
        if not roles or not set(roles) <= set(scope.roles):
            return error(403, 'Some of the roles of the trust are not those of the trustor.')
        trust = self._trusts.create(
            Trust(scope.user, trustee.id, scope.project, roles, bool(given.get('impersonation')))
        )
        return Response(201, {'trust': trust.as_dict()})

    def _list_trusts(self, request: Request, caller: Token) -> Response:
        found = self._trusts.select(
            request.query.get('trustor_user_id'), request.query.get('trustee_user_id')
        )
        if any(not trust.is_visible_to(caller.scope) for trust in found):
            return error(403, 'You are not authorized to list these trusts.')
        return Response(200, {'trusts': [trust.as_dict() for trust in found], 'links': {}})

    # -- what there is

    def _users(self, request: Request, caller: Token) -> Response:
        return _show(request, 'user', list(USERS.values()))

    def _projects(self, request: Request, caller: Token) -> Response:
        """Show all to administrators; a plain user may see the one that the token is of."""
        is_own = request.path[2:] == (caller.scope.project.id,)
        if not is_own and 'admin' not in caller.scope.roles:
            action = 'get_project' if request.path[2:] else 'list_projects'
            return error(
                403, f'You are not authorized to perform the requested action: identity:{action}.'
            )
        return _show(request, 'project', list(PROJECTS.values()))

    def _regions(self, request: Request, caller: Token) -> Response:
        return Response(200, {'regions': [{'id': REGION, 'description': ''}], 'links': {}})


def _user(user_id: str | None, name: str | None) -> User | None:
    for user in USERS.values():
        if user_id == user.id or (user_id is None and name == user.name):
            return user
    return None


def _project(project_id: str | None, name: str | None) -> Project | None:
    for project in PROJECTS.values():
        if project_id == project.id or (project_id is None and name == project.name):
            return project
    return None


def _show(request: Request, kind: str, items: list[Any]) -> Response:
    """Answer a list (with ``?name=``) or one of users or projects."""
    bodies = [
        {'id': item.id, 'name': item.name, 'domain_id': domain()['id'], 'enabled': True}
        for item in items
    ]
    if len(request.path) == 2:
        name = request.query.get('name')
        found = [body for body in bodies if name in (None, body['name'])]
        return Response(200, {f'{kind}s': found, 'links': {}})
    for body in bodies:
        if body['id'] == request.path[2]:
            return Response(200, {kind: body})
    return error(404, f'Could not find {kind}: {request.path[2]}.')
