"""The Keystone stub, through its WSGI application."""

import pytest
from webob import Request

from senlin_affinity.sandbox.identities import ADMIN, DEMO, USERS, Endpoints
from senlin_affinity.sandbox.keystone import Keystone

SECRET = 'a secret'
SENLIN = USERS['senlin']
TOKENS, TRUSTS = '/v3/auth/tokens', '/v3/OS-TRUST/trusts'


class Caller:
    """Calls a WSGI application, and reads its JSON."""

    def __init__(self, application):
        self.application = application

    def __call__(self, method, path, body=None, token=None, subject=None):
        headers = {'X-Auth-Token': token, 'X-Subject-Token': subject}
        given = {name: value for name, value in headers.items() if value}
        request = Request.blank(path, method=method, headers=given)
        if body is not None:
            request.json_body = body
        answer = request.get_response(self.application)
        return answer.status_int, answer.json_body if answer.body else None, answer.headers

    def login(self, user, password=None, scope=None, status=201):
        """Get a token with a password; return its id and its body."""
        given = {'name': user.name, 'password': password or user.password(SECRET)}
        identity = {'methods': ['password'], 'password': {'user': given}}
        auth = {'identity': identity, **({'scope': scope} if scope else {})}
        got, body, headers = self('POST', TOKENS, {'auth': auth})
        assert got == status, body
        return (headers['X-Subject-Token'], body['token']) if got == 201 else (None, body)

    def trust(self, token, trustor=DEMO, roles=('member',), project=None):
        """Create a trust for Senlin; return the status, and the trust's id."""
        trust = {
            'trustor_user_id': trustor.id,
            'trustee_user_id': SENLIN.id,
            'project_id': (project or trustor.project).id,
            'impersonation': True,
            'roles': [{'name': role} for role in roles],
        }
        status, body, _headers = self('POST', TRUSTS, {'trust': trust}, token)
        return status, body.get('trust', {}).get('id')


@pytest.fixture
def call():
    return Caller(Keystone(Endpoints('http://cloud', 'http://senlin'), SECRET))


def role_names(token):
    return [role['name'] for role in token['roles']]


def test_a_wrong_password_is_rejected(call):
    for password in ('guess', ADMIN.password(SECRET), DEMO.password('another cloud')):
        call.login(DEMO, password=password, status=401)


@pytest.mark.parametrize('body', [None, {}, {'auth': {}}, {'auth': {'identity': []}}, [1]])
def test_an_invalid_request_for_a_token_is_rejected(call, body):
    assert call('POST', TOKENS, body)[0] == 400


def test_only_an_administrator_may_use_every_project(call):
    call.login(DEMO, scope={'project': {'id': ADMIN.project.id}}, status=401)
    _id, token = call.login(ADMIN, scope={'project': {'name': 'demo'}})
    assert token['project']['id'] == DEMO.project.id
    assert 'admin' in role_names(token)


def test_validation(call):
    service, _token = call.login(SENLIN)
    demo, _token = call.login(DEMO)
    status, body, _headers = call('GET', TOKENS, token=service, subject=demo)
    assert (status, body['token']['user']['name']) == (200, 'demo')
    for token, subject, status in (
        (demo, demo, 200),
        (demo, service, 403),
        (service, 'forged', 404),
        ('forged', demo, 401),
        (None, demo, 401),
    ):
        assert call('GET', TOKENS, token=token, subject=subject)[0] == status


def test_a_trust_lets_its_trustee_act_as_the_trustor(call):
    demo, _token = call.login(DEMO)
    status, trust_id = call.trust(demo)
    assert status == 201
    scope = {'OS-TRUST:trust': {'id': trust_id}}
    _id, token = call.login(SENLIN, scope=scope)
    assert token['user']['id'] == DEMO.id
    assert token['project']['id'] == DEMO.project.id
    assert role_names(token) == ['member']
    assert token['OS-TRUST:trust']['trustee_user'] == {'id': SENLIN.id}
    call.login(ADMIN, scope=scope, status=401)
    call.login(SENLIN, scope={'OS-TRUST:trust': {'id': 'another'}}, status=401)


def test_a_trust_gives_only_the_rights_of_the_trustor(call):
    demo, _token = call.login(DEMO)
    for more in (
        {'roles': ('admin',)},
        {'roles': ()},
        {'trustor': ADMIN},
        {'project': ADMIN.project},
    ):
        assert call.trust(demo, **more)[0] == 403


def test_a_token_of_a_trust_makes_no_other_trust_and_ends_with_its_own(call):
    demo, _token = call.login(DEMO)
    _status, trust_id = call.trust(demo)
    scope = {'OS-TRUST:trust': {'id': trust_id}}
    acting, _token = call.login(SENLIN, scope=scope)
    assert call.trust(acting)[0] == 403
    assert call('GET', '/v3/regions', token=acting)[0] == 200
    assert call('DELETE', f'{TRUSTS}/{trust_id}', token=acting)[0] == 204
    assert call('GET', '/v3/regions', token=acting)[0] == 401
    call.login(SENLIN, scope=scope, status=401)


@pytest.mark.parametrize(
    ('user', 'path', 'status', 'found'),
    [
        (DEMO, 'users?name=senlin', 200, SENLIN.id),
        (DEMO, f'projects/{DEMO.project.id}', 200, DEMO.project.id),
        (DEMO, 'regions', 200, 'RegionOne'),
        (DEMO, 'groups', 404, None),
        (ADMIN, 'projects?name=demo', 200, DEMO.project.id),
        (ADMIN, 'projects?name=nobody', 200, None),
        (ADMIN, f'projects/{DEMO.project.id}', 200, DEMO.project.id),
        (ADMIN, 'projects/unknown', 404, None),
    ],
)
def test_users_projects_and_regions(call, user, path, status, found):
    token, _token = call.login(user)
    answer, body, _headers = call('GET', f'/v3/{path}', token=token)
    assert answer == status
    items = next(iter(body.values()))
    (item,) = items[:1] or [{}] if isinstance(items, list) else [items]
    assert item.get('id') == found


@pytest.mark.parametrize(
    ('path', 'action'),
    [
        ('/v3/projects?name=demo', 'list_projects'),
        (f'/v3/projects/{ADMIN.project.id}', 'get_project'),
        ('/v3/projects/unknown', 'get_project'),
    ],
)
def test_a_non_admin_may_not_list_projects(call, path, action):
    """Keystone's default policy: not even whether one exists."""
    demo, _token = call.login(DEMO)
    status, body, _headers = call('GET', path, token=demo)
    words = f'You are not authorized to perform the requested action: identity:{action}.'
    assert (status, body['error']['message']) == (403, words)
