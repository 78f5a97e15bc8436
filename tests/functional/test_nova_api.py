"""The filter of document 004 in the real nova-api: what it rejects, lets through and leaves
unchanged.

Two equal clouds are compared, one of them with the filter.
"""

import json
import re
import uuid
from dataclasses import dataclass
from urllib.parse import quote

import pytest
import requests

from tests.support.sandbox import SandboxCloud
from tests.support.tables import rows

FILTER = 'egg:senlin-affinity#extra_spec_validation'
NEWEST = '2.104'
FAULTY = 'hw:cpu_policy', 'deddddicated'
SPECS = {'hw:cpu_policy': 'shared'}
LET_THROUGH = 'let through'
#: Headers that differ between requests and between clouds.
PASSING_HEADERS = {'date', 'x-openstack-request-id', 'x-compute-request-id'}


@dataclass
class Api:
    """A client of Nova's API; ``flavor`` is a new one for each test."""

    cloud: SandboxCloud
    url: str
    tokens: dict[str, str]
    flavor: str = ''

    @classmethod
    def of(cls, cloud):
        connection = cloud.connection()
        url = connection.compute.get_endpoint().rstrip('/')
        tokens = {user: cloud.connection(user).auth_token for user in ('admin', 'demo')}
        return cls(cloud, url, {**tokens, 'nobody': 'no-token'})

    def send(self, method, path='', body=None, *, at=NEWEST, user='admin', **more):
        headers = {'X-Auth-Token': self.tokens[user], 'Content-Type': 'application/json'}
        if at is not None:
            headers['OpenStack-API-Version'] = f'compute {at}'
        headers |= more.pop('headers', {})
        data = json.dumps(body).encode() if body is not None else more.pop('data', None)
        url = self.url + (path if path.startswith('/') else f'/flavors/{self.flavor}/{path}')
        request = requests.Request(method, url, headers, data=data, **more)
        with requests.Session() as session:
            session.trust_env = False
            prepared = session.prepare_request(request)
            if '%' in url or '//' in path:
                prepared.url = url
            return session.send(prepared, timeout=60)

    def post(self, specs, mode=None, **more):
        return self.send('POST', f'os-extra_specs{query(mode)}', {'extra_specs': specs}, **more)

    def put(self, name, value, mode=None, **more):
        path = f'os-extra_specs/{quote(name)}{query(mode)}'
        return self.send('PUT', path, {name: value}, **more)

    def stored(self):
        return self.send('GET', 'os-extra_specs').json()['extra_specs']

    def log(self):
        return (self.cloud.log_dir / 'nova.log').read_text(encoding='utf-8')

    def fresh(self, name=None):
        body = {'name': name or uuid.uuid4().hex, 'vcpus': 1, 'ram': 64, 'disk': 1}
        made = self.send('POST', '/flavors', {'flavor': {**body, 'id': body['name']}})
        self.flavor = made.json()['flavor']['id']


def query(mode):
    return '' if mode is None else f'?validation={mode}'


def as_text(specs):
    return {name: str(value) for name, value in specs.items()}


@pytest.fixture(scope='module')
def filtered():
    with SandboxCloud(1, api_filters=[FILTER]) as cloud:
        yield Api.of(cloud)


@pytest.fixture(scope='module')
def unfiltered():
    with SandboxCloud(1) as cloud:
        yield Api.of(cloud)


@pytest.fixture
def api(filtered):
    filtered.fresh()
    return filtered


@pytest.fixture
def both(filtered, unfiltered):
    name = uuid.uuid4().hex
    for each in (filtered, unfiltered):
        each.fresh(name)
    return filtered, unfiltered


def comparable(response):
    """Return a response without the values that differ between any two responses."""
    headers = [
        (name, '' if name.lower() in PASSING_HEADERS else re.sub(r':\d{4,5}/', ':port/', value))
        for name, value in response.raw.headers.items()
    ]
    return response.status_code, sorted(headers), re.sub(rb':\d{4,5}/', b'/', response.content)


# -- the mode matrix


def let_through_of(api, before):
    return [
        line.partition(f'{LET_THROUGH} ')[2]
        for line in api.log()[len(before) :].splitlines()
        if LET_THROUGH in line
    ]


def check(row, mode, api, send):
    before = api.log()
    response = send()
    wanted = row.get(mode or 'strict', 200)
    assert response.status_code == wanted, response.text
    assert api.stored() == (as_text(row['specs']) if wanted == 200 else {})
    logged = let_through_of(api, before)
    if wanted == 200 and mode == 'permissive' and 'let_through' in row:
        (line,) = logged
        assert [part.partition(': ')[0] for part in line.split('; ')] == row['let_through']
    else:
        assert logged == []
    assert response.headers['OpenStack-API-Version'] == f'compute {NEWEST}'
    assert response.headers['X-OpenStack-Nova-API-Version'] == NEWEST


@pytest.mark.parametrize('mode', [None, 'strict', 'permissive', 'off'])
@pytest.mark.parametrize('row', rows('nova_api_modes'))
def test_the_mode_determines_the_result(api, row, mode):
    """R4-06 to R4-10, Q4-1, Q4-5, D4-01: POST, and PUT of one."""
    check(row, mode, api, lambda: api.post(row['specs'], mode))
    if len(row['specs']) == 1:
        api.fresh()
        check(row, mode, api, lambda: api.put(*next(iter(row['specs'].items())), mode))


@pytest.mark.parametrize('row', rows('nova_api_modes'))
def test_without_the_filter_the_parameter_is_ignored(unfiltered, row):
    """D4-01, D4-02: Nova's own result, for any value of the parameter."""
    for mode in (None, 'strict', 'permissive', 'off', 'bogus', ''):
        unfiltered.fresh()
        assert unfiltered.post(row['specs'], mode).status_code == row['nova']


@pytest.mark.parametrize(
    ('headers', 'status'),
    [
        ({'X-OpenStack-Nova-API-Version': '2.86'}, 400),
        ({'X-OpenStack-Nova-API-Version': 'latest'}, 400),
        ({'X-OpenStack-Nova-API-Version': '2.85'}, 200),
        ({'OpenStack-API-Version': 'volume 3.50', 'X-OpenStack-Nova-API-Version': '2.86'}, 400),
        ({'OpenStack-API-Version': 'volume 3.50, compute 2.86'}, 400),
        ({'OpenStack-API-Version': 'compute 2.85', 'X-OpenStack-Nova-API-Version': '2.86'}, 200),
        ({'OpenStack-API-Version': 'COMPUTE 2.86'}, 400),
    ],
    ids=str,
)
def test_the_microversion_is_parsed_as_in_nova(api, headers, status):
    """R4-11."""
    assert api.post(dict([FAULTY]), headers=headers, at=None).status_code == status


# -- the parameter


# -- rejections


def test_a_400_has_novas_format(both):
    """R4-04: except for the message."""
    ours, nova = (each.post(dict([FAULTY])) for each in both)
    assert (ours.status_code, nova.status_code) == (400, 400)
    message = ours.json()['badRequest']['message']
    assert (
        comparable(ours)[2]
        == json.dumps({'badRequest': {'code': 400, 'message': message}}).encode()
    )
    lengths = {'Content-Length'}
    assert [pair for pair in comparable(ours)[1] if pair[0] not in lengths] == [
        pair for pair in comparable(nova)[1] if pair[0] not in lengths
    ]
    assert ours.raw.headers.getlist('Vary') == nova.raw.headers.getlist('Vary')


@pytest.mark.parametrize(
    ('method', 'path'),
    [
        ('PUT', 'os-extra_specs?_method=POST'),
        ('POST', 'os-extra_specs%0A'),
        ('POST', '/{project}/flavors/{flavor}/os-extra_specs'),
        ('PUT', 'os-extra_specs/hw%3Acpu_policy'),
    ],
)
def test_no_path_avoids_the_filter(api, method, path):
    """R4-07: every path that Nova routes to these calls is checked."""
    project = api.cloud.connection().current_project_id
    path = path.format(project=project, flavor=api.flavor)
    for specs, status in ((dict([FAULTY]), 400), (SPECS, 200)):
        body = specs if '%3A' in path else {'extra_specs': specs}
        assert api.send(method, path, body).status_code == status
        assert api.stored() == (specs if status == 200 else {})


# -- requests that are passed on to Nova


def request_of(method, path='os-extra_specs', body=None, **more):
    return method, path, body, more


def post_of(specs, **more):
    return request_of('POST', body={'extra_specs': specs}, **more)


INVALID = dict([FAULTY])
LEFT_ALONE = {
    'list': request_of('GET'),
    'list, another parameter': request_of('GET', params={'validation': 'bogus'}),
    'show': request_of('GET', 'os-extra_specs/foo'),
    'delete': request_of('DELETE', 'os-extra_specs/foo'),
    'delete, a parameter': request_of('DELETE', 'os-extra_specs/foo?validation=bogus'),
    'another read': request_of('GET', '/limits'),
    'another action': request_of('POST', '/flavors', {}),
    'no such call': request_of('PUT', body={'extra_specs': INVALID}),
    'no such path': request_of('POST', 'os-extra_specs/', {'extra_specs': INVALID}),
    'no JSON': request_of('POST', data=b'{'),
    'UTF-16': request_of('POST', data='{"a": "b"}'.encode('utf-16')),
    'no body': request_of('POST'),
    'a list': request_of('POST', body=[1]),
    'no extra_specs': request_of('POST', body={}),
    'extra_specs is a list': post_of([]),
    'a boolean': post_of({'foo': True}),
    'null': post_of({'foo': None}),
    'a mapping': post_of({'foo': {}}),
    'no extra spec': post_of({}),
    'another key in the body': request_of('POST', body={'extra_specs': SPECS, 'x': 1}),
    'another key in the path': request_of('PUT', 'os-extra_specs/foo', SPECS),
    'two keys': request_of('PUT', 'os-extra_specs/foo', {'foo': 'x', **SPECS}, at='2.1'),
    'a content type': post_of(SPECS, headers={'Content-Type': 'application/x-other'}),
    'a microversion that is too new': post_of(INVALID, at='2.999'),
    'an invalid microversion': post_of(INVALID, at='x'),
    'a non-admin': post_of(INVALID, user='demo'),
    'a non-admin, PUT': request_of('PUT', 'os-extra_specs/foo', {'foo': 'x'}, user='demo'),
    'unknown user': post_of(INVALID, user='nobody'),
    'another project': request_of(
        'POST', '/0123456789abcdef/flavors/x/os-extra_specs', {'extra_specs': SPECS}
    ),
    'no such flavor': request_of('POST', '/flavors/nope/os-extra_specs', {'extra_specs': SPECS}),
    'a valid extra spec': post_of(SPECS),
    'a valid extra spec, an old microversion': post_of(SPECS, at='2.1'),
    'an invalid extra spec, an old microversion': post_of(INVALID, at='2.85'),
    'an invalid extra spec, no microversion': post_of(INVALID, at=None),
}


@pytest.mark.parametrize('name', LEFT_ALONE)
def test_other_requests_have_equal_responses(both, name):
    """R4-10, R4-11, D4-09."""
    method, path, body, more = LEFT_ALONE[name]
    for each in both:
        assert each.send('PUT', 'os-extra_specs/foo', {'foo': 'bar'}, at='2.1').ok
    ours, nova = (comparable(each.send(method, path, body, **more)) for each in both)
    assert ours == nova
    assert both[0].stored() == both[1].stored()


@pytest.mark.parametrize('mode', ['permissive', 'off'])
@pytest.mark.parametrize('name', ['foo/bar', 'foo\nbar', 'a' * 256, '\ud800'])
def test_a_name_that_nova_rejects_is_not_logged(api, name, mode):
    """R4-08: only stored names are logged."""
    before = api.log()
    assert api.post({name: 'x'}, mode).status_code == 400
    assert let_through_of(api, before) == []
    assert api.stored() == {}


def test_a_nova_without_2_86_is_unchanged():
    """R4-11: "latest" is the newest microversion of this Nova."""
    with SandboxCloud(1, api_filters=[FILTER], compute_max_version='2.85') as cloud:
        api = Api.of(cloud)
        body = {'name': 'f', 'vcpus': 1, 'ram': 64, 'disk': 1, 'id': 'f'}
        assert api.send('POST', '/flavors', {'flavor': body}, at='2.1').ok
        api.flavor = 'f'
        assert api.post({'hw:x': 'y'}, 'bogus', at='latest').status_code == 200
        assert api.post({'hw:x': 'y'}, 'bogus', at='2.86').status_code == 406
