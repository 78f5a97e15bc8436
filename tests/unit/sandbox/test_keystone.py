"""The Keystone stub, through its WSGI door."""

import io
import json

import pytest

from senlin_affinity.sandbox.catalogue import Endpoints
from senlin_affinity.sandbox.identities import ADMIN, DEMO, USERS
from senlin_affinity.sandbox.keystone import Keystone

SECRET = 'a secret'
SENLIN = USERS['senlin']


class Caller:
    """Calls a WSGI application, and reads its JSON."""

    def __init__(self, application):
        self.application = application

    def __call__(self, method, path, body=None, token=None, **headers):
        raw = b'' if body is None else json.dumps(body).encode()
        path, _, query = path.partition('?')
        environ = {
            'REQUEST_METHOD': method,
            'PATH_INFO': path,
            'QUERY_STRING': query,
            'CONTENT_LENGTH': str(len(raw)),
            'wsgi.input': io.BytesIO(raw),
        }
        if token:
            environ['HTTP_X_AUTH_TOKEN'] = token
        environ.update({f'HTTP_{name.upper()}': value for name, value in headers.items()})
        answer = {}

        def start_response(status, headers):
            answer.update(status=int(status.split()[0]), headers=dict(headers))

        data = b''.join(self.application(environ, start_response))
        return answer['status'], json.loads(data) if data else None, answer['headers']

    def login(self, user, password=None, scope=None, status=201):
        """Get a token with a password: its id and its body."""
        given = {'name': user.name, 'password': password or user.password(SECRET)}
        identity = {'methods': ['password'], 'password': {'user': given}}
        auth = {'identity': identity, **({'scope': scope} if scope else {})}
        got, body, headers = self('POST', '/v3/auth/tokens', {'auth': auth})
        assert got == status, body
        return (headers['X-Subject-Token'], body['token']) if got == 201 else (None, body)

    def trust(self, token, trustor=DEMO, trustee=SENLIN, roles=('member',), project=None):
        """Ask for a trust."""
        return self(
            'POST',
            '/v3/OS-TRUST/trusts',
            {
                'trust': {
                    'trustor_user_id': trustor.id,
                    'trustee_user_id': trustee.id,
                    'project_id': (project or trustor.project).id,
                    'impersonation': True,
                    'roles': [{'name': role} for role in roles],
                }
            },
            token,
        )


@pytest.fixture
def call():
    return Caller(Keystone(Endpoints('http://cloud', 'http://senlin'), SECRET))


def role_names(token):
    return [role['name'] for role in token['roles']]


def test_versions_are_open_to_all(call):
    assert call('GET', '/')[0] == 300
    status, body, _headers = call('GET', '/v3')
    assert status == 200
    assert body['version']['links'][0]['href'] == 'http://cloud/identity/v3/'


def test_a_password_gives_a_token_for_the_own_project(call):
    _id, token = call.login(DEMO)
    assert token['user']['id'] == DEMO.id
    assert token['project']['name'] == 'demo'
    assert role_names(token) == ['member', 'reader']


def test_the_catalogue_has_every_service(call):
    _id, token = call.login(DEMO)
    urls = {item['type']: item['endpoints'][0]['url'] for item in token['catalog']}
    assert urls == {
        'identity': 'http://cloud/identity',
        'compute': 'http://cloud/compute/v2.1',
        'placement': 'http://cloud/placement',
        'image': 'http://cloud/image',
        'network': 'http://cloud/network',
        'clustering': 'http://senlin',
    }


def test_without_senlin_there_is_no_clustering():
    _id, token = Caller(Keystone(Endpoints('http://cloud'), SECRET)).login(DEMO)
    assert 'clustering' not in {item['type'] for item in token['catalog']}


def test_a_wrong_password_is_refused(call):
    call.login(DEMO, password='guess', status=401)
    call.login(DEMO, password=ADMIN.password(SECRET), status=401)
    call.login(DEMO, password=DEMO.password('another cloud'), status=401)


def test_an_unknown_user_is_refused(call):
    user = {'name': 'nobody', 'password': 'x', 'domain': {'id': 'default'}}
    identity = {'methods': ['password'], 'password': {'user': user}}
    assert call('POST', '/v3/auth/tokens', {'auth': {'identity': identity}})[0] == 401


@pytest.mark.parametrize('body', [None, {}, {'auth': {}}, {'auth': {'identity': []}}, [1]])
def test_what_is_no_request_for_a_token_is_said_to_be(call, body):
    assert call('POST', '/v3/auth/tokens', body)[0] == 400


def test_a_member_may_not_into_another_project(call):
    call.login(DEMO, scope={'project': {'id': ADMIN.project.id}}, status=401)


def test_an_administrator_may_into_every_project(call):
    _id, token = call.login(ADMIN, scope={'project': {'name': 'demo'}})
    assert token['project']['id'] == DEMO.project.id
    assert 'admin' in role_names(token)


def test_a_token_gives_another_one(call):
    first, _token = call.login(DEMO)
    identity = {'methods': ['token'], 'token': {'id': first}}
    scope = {'project': {'id': DEMO.project.id}}
    status, body, _headers = call(
        'POST', '/v3/auth/tokens', {'auth': {'identity': identity, 'scope': scope}}
    )
    assert status == 201
    assert body['token']['user']['id'] == DEMO.id


def test_validation(call):
    service, _token = call.login(SENLIN)
    demo, _token = call.login(DEMO)
    status, body, _headers = call('GET', '/v3/auth/tokens', token=service, x_subject_token=demo)
    assert status == 200
    assert body['token']['user']['name'] == 'demo'
    own = call('GET', '/v3/auth/tokens', token=demo, x_subject_token=demo)
    assert own[0] == 200
    foreign = call('GET', '/v3/auth/tokens', token=demo, x_subject_token=service)
    assert foreign[0] == 403
    forged = call('GET', '/v3/auth/tokens', token=service, x_subject_token='admin')
    assert forged[0] == 404
    assert call('GET', '/v3/auth/tokens', token='forged', x_subject_token=demo)[0] == 401
    assert call('GET', '/v3/auth/tokens', x_subject_token=demo)[0] == 401


def test_a_revoked_token_is_none(call):
    demo, _token = call.login(DEMO)
    assert call('DELETE', '/v3/auth/tokens', token=demo, x_subject_token=demo)[0] == 204
    assert call('GET', '/v3/projects', token=demo)[0] == 401


def test_a_trust_lets_the_trustee_act_as_the_trustor(call):
    demo, _token = call.login(DEMO)
    status, body, _headers = call.trust(demo)
    assert status == 201
    scope = {'OS-TRUST:trust': {'id': body['trust']['id']}}
    _id, token = call.login(SENLIN, scope=scope)
    assert token['user']['id'] == DEMO.id
    assert token['project']['id'] == DEMO.project.id
    assert role_names(token) == ['member']
    assert token['OS-TRUST:trust']['trustee_user'] == {'id': SENLIN.id}


def test_only_the_trustee_may_use_a_trust(call):
    demo, _token = call.login(DEMO)
    trust_id = call.trust(demo)[1]['trust']['id']
    call.login(ADMIN, scope={'OS-TRUST:trust': {'id': trust_id}}, status=401)
    call.login(SENLIN, scope={'OS-TRUST:trust': {'id': 'another'}}, status=401)


def test_a_trust_gives_no_more_than_the_trustor_has(call):
    demo, _token = call.login(DEMO)
    assert call.trust(demo, roles=('admin',))[0] == 403
    assert call.trust(demo, roles=())[0] == 403
    assert call.trust(demo, trustor=ADMIN)[0] == 403
    assert call.trust(demo, project=ADMIN.project)[0] == 403


def test_trusts_are_listed_for_their_trustor(call):
    demo, _token = call.login(DEMO)
    trust_id = call.trust(demo)[1]['trust']['id']
    path = '/v3/OS-TRUST/trusts'
    status, body, _headers = call('GET', f'{path}?trustor_user_id={DEMO.id}', token=demo)
    assert status == 200
    assert [trust['id'] for trust in body['trusts']] == [trust_id]
    none = call('GET', f'{path}?trustor_user_id={ADMIN.id}', token=demo)
    assert none[1]['trusts'] == []
    assert call('GET', f'{path}/{trust_id}', token=demo)[1]['trust']['id'] == trust_id
    assert call('GET', f'{path}/{trust_id}')[0] == 401


def test_a_deleted_trust_ends_its_tokens(call):
    demo, _token = call.login(DEMO)
    trust_id = call.trust(demo)[1]['trust']['id']
    acting, _token = call.login(SENLIN, scope={'OS-TRUST:trust': {'id': trust_id}})
    assert call('GET', '/v3/regions', token=acting)[0] == 200
    assert call('DELETE', f'/v3/OS-TRUST/trusts/{trust_id}', token=acting)[0] == 204
    assert call('GET', '/v3/regions', token=acting)[0] == 401
    call.login(SENLIN, scope={'OS-TRUST:trust': {'id': trust_id}}, status=401)


def test_a_token_of_a_trust_makes_no_other_trust(call):
    demo, _token = call.login(DEMO)
    trust_id = call.trust(demo)[1]['trust']['id']
    acting, _token = call.login(SENLIN, scope={'OS-TRUST:trust': {'id': trust_id}})
    assert call.trust(acting)[0] == 403


def test_users_projects_and_regions_can_be_looked_up(call):
    demo, _token = call.login(DEMO)
    status, body, _headers = call('GET', '/v3/users?name=senlin', token=demo)
    assert (status, [user['id'] for user in body['users']]) == (200, [SENLIN.id])
    path = f'/v3/projects/{DEMO.project.id}'
    assert call('GET', path, token=demo)[1]['project']['name'] == 'demo'
    assert call('GET', '/v3/regions', token=demo)[1]['regions'][0]['id'] == 'RegionOne'
    assert call('GET', '/v3/groups', token=demo)[0] == 404


def test_an_administrator_finds_projects_by_name_and_id(call):
    admin, _token = call.login(ADMIN)
    status, body, _headers = call('GET', '/v3/projects?name=demo', token=admin)
    assert (status, [item['id'] for item in body['projects']]) == (200, [DEMO.project.id])
    assert call('GET', '/v3/projects?name=nobody', token=admin)[1]['projects'] == []
    assert call('GET', f'/v3/projects/{DEMO.project.id}', token=admin)[0] == 200
    assert call('GET', '/v3/projects/unknown', token=admin)[0] == 404


@pytest.mark.parametrize(
    ('path', 'action'),
    [
        ('/v3/projects?name=demo', 'list_projects'),
        (f'/v3/projects/{ADMIN.project.id}', 'get_project'),
        ('/v3/projects/unknown', 'get_project'),
    ],
)
def test_a_plain_user_may_not_look_projects_up(call, path, action):
    """Keystone's default policy: not even whether there is one."""
    demo, _token = call.login(DEMO)
    status, body, _headers = call('GET', path, token=demo)
    assert (status, body['error']['message']) == (
        403,
        f'You are not authorized to perform the requested action: identity:{action}.',
    )
