"""The filter for nova-api validates requests and passes others on.

The real nova-api is tested in ``tests/functional/test_nova_api.py``.
"""

import io
import json

import pytest

from senlin_affinity.model.errors import PluginError
from senlin_affinity.plugins.nova.api_middleware import ExtraSpecValidation, filter_factory

PATH = '/flavors/1/os-extra_specs'
FAULTY = json.dumps({'extra_specs': {'hw:cpu_policy': 'x'}}).encode()


class Unreadable:
    """A request body that must not be read."""


class Context:
    """The request context of nova-api."""

    def __init__(self, *allowed):
        self.allowed, self.asked = allowed, []

    def __repr__(self):
        return f'Context{self.allowed}'

    def can(self, rule, target, fatal):
        assert (target, fatal) == ({}, False)
        self.asked.append(rule)
        return rule in self.allowed


@pytest.fixture
def nova():
    """Return an application that records its requests."""

    def application(environ, start_response):
        application.requests.append(environ)
        start_response(
            application.status, [('openstack-api-version', 'compute 2.85'), ('X-Other', '2.85')]
        )
        return [b'']

    application.requests, application.status = [], '200 OK'
    return application


@pytest.fixture
def send(nova):
    """Return a function that sends a request, and returns the status, the headers and the passed
    environ.
    """

    def send_one(method='POST', path=PATH, body=FAULTY, query='', at='2.86', **environ):
        is_read = isinstance(body, bytes)
        given = {
            'REQUEST_METHOD': method,
            'PATH_INFO': path,
            'QUERY_STRING': query,
            'HTTP_OPENSTACK_API_VERSION': f'compute {at}',
            'CONTENT_LENGTH': str(len(body)) if is_read else '9',
            'wsgi.url_scheme': 'http',
            'wsgi.input': io.BytesIO(body) if is_read else body,
            **environ,
        }
        given = {name: value for name, value in given.items() if value is not None}
        answers = []
        middleware = ExtraSpecValidation(nova, lambda: '2.104')
        send_one.body = b''.join(middleware(given, lambda *answer: answers.append(answer)))
        ((status, send_one.headers),) = answers
        return status, dict(send_one.headers), given

    return send_one


@pytest.mark.parametrize(
    'request_of',
    [
        {'method': 'GET'},
        {'method': 'GET', 'query': '_method=POST'},
        {'method': 'DELETE'},
        {'path': '/servers'},
        {'path': '/flavors/1/os-extra_specs/a/b'},
        {'path': '/servers/os-extra_specs'},
        {'method': 'PUT'},
        {'at': '2.85'},
        {'at': '2.105'},
        {'at': 'x'},
        {'nova.context': Context()},
        {'body': b'{'},
        {'body': b'{"extra_specs": {"hw:cpu_policy": "x", "a": []}}'},
    ],
    ids=str,
)
def test_other_requests_are_passed_on_unread(send, nova, request_of):
    """R4-10, R4-11."""
    status, headers, given = send(**{'body': Unreadable(), **request_of})
    assert status == '200 OK'
    assert nova.requests[0] is given
    assert headers['openstack-api-version'] == 'compute 2.85'


def test_off_does_not_read_the_body(send, nova):
    """R4-09."""
    status, headers, given = send(body=Unreadable(), query='validation=off')
    kept = {'openstack-api-version': 'compute 2.86', 'X-Other': '2.85'}
    assert (status, headers, given['QUERY_STRING']) == ('200 OK', kept, 'validation=off')


def test_the_number_of_extra_specs_in_a_request_is_limited(send, nova):
    body = json.dumps({'extra_specs': {f'x:{number}': '' for number in range(1001)}}).encode()
    assert send(body=body)[0] == '400 Bad Request'
    assert b'at most 1000 extra specs in one request, not 1001' in send.body
    assert not nova.requests
    traits = {f'trait:CUSTOM_{number}': 'required' for number in range(1000)}
    assert send(body=json.dumps({'extra_specs': traits}).encode())[0] == '200 OK'


@pytest.mark.parametrize('mode', ['strict', 'permissive'])
@pytest.mark.parametrize('more', [0, 1, 2])
def test_at_most_20_errors_are_reported(send, caplog, mode, more):
    caplog.set_level('INFO')
    names = (f'x:{number}' for number in range(100, 120 + more))
    body = json.dumps({'extra_specs': dict.fromkeys(names, '')}).encode()
    send(body=body, query=f'validation={mode}')
    message = json.loads(send.body)['badRequest']['message'] if send.body else caplog.messages[-1]
    assert message.count('Nova 34 ignores this name') == 20
    assert message.partition('; and ')[2] == (f'{more} more' if more else '')


@pytest.mark.parametrize('pair', [('x' * 256, ''), ('hw:cpu_policy', 'x' * 256)])
def test_too_long_names_and_values_are_left_to_nova(send, nova, pair):
    body = json.dumps({'extra_specs': dict([pair])}).encode()
    assert send(body=body)[0] == '200 OK'
    assert nova.requests[0]['QUERY_STRING'] == ''
    name, value = (text[:255] for text in pair)
    body = json.dumps({'extra_specs': {name: value}}).encode()
    assert send(body=body)[0] == '400 Bad Request'


@pytest.mark.parametrize('short', [0, 5])
def test_a_truncated_body_is_rejected(send, nova, short):
    status = send(body=FAULTY[:short], CONTENT_LENGTH=str(len(FAULTY)))[0]
    assert (status, nova.requests) == ('400 Bad Request', [])
    assert b'the body of the request is cut off' in send.body


@pytest.mark.parametrize(
    ('query', 'handed_on'),
    [
        ('', ''),
        ('validation=strict', ''),
        ('a=b&validation=strict&c', 'a=b&c'),
        ('a=%26validation=&%76alidation=strict', 'a=%26validation='),
        ('validations=x&my_validation=y', 'validations=x&my_validation=y'),
    ],
)
def test_strict_passes_on_the_request_without_the_parameter(send, nova, query, handed_on):
    """R4-06, R4-07: with the client's microversion, so that Nova validates as well."""
    body = json.dumps({'extra_specs': {'hw:cpu_policy': 'shared'}}).encode()
    assert send(query=query, body=body)[0] == '200 OK'
    (requests,) = nova.requests
    assert requests['HTTP_OPENSTACK_API_VERSION'] == 'compute 2.86'
    assert requests['QUERY_STRING'] == handed_on
    assert requests['wsgi.input'].read() == body


@pytest.mark.parametrize('mode', ['permissive', 'off'])
def test_other_modes_pass_on_the_request_with_2_85(send, nova, caplog, mode):
    """R4-08, R4-09: below the first microversion at which Nova checks."""
    body = json.dumps({'extra_specs': {'foo\n': 'bar'}}).encode()
    legacy = {'HTTP_X_OPENSTACK_NOVA_API_VERSION': '2.90'}
    with caplog.at_level('INFO', 'senlin_affinity'):
        for nova.status in ('400 Bad Request', '200 OK'):
            assert send(query=f'validation={mode}', body=body, **legacy)[0] == nova.status
    message = (
        r'flavor 1: validation=permissive let through foo\n: no extra spec of this name is known'
    )
    assert caplog.messages == ([message] if mode == 'permissive' else [])
    _, requests = nova.requests
    assert requests['HTTP_OPENSTACK_API_VERSION'] == 'compute 2.85'
    assert 'HTTP_X_OPENSTACK_NOVA_API_VERSION' not in requests
    assert requests['wsgi.input'].read() == body


MODE = 'validation must be one of strict, permissive, off, not '
PUT = b'{"hw:cpu_policy": "x"}'
VALUE = "hw:cpu_policy: must be one of dedicated, shared, mixed, not 'x'"


def test_control_characters_of_a_name_are_escaped(send):
    assert send(body=b'{"extra_specs": {"hw:\\u001b[31m\\nx\\u202e": "1"}}')[0] == '400 Bad Request'
    message = json.loads(send.body)['badRequest']['message']
    assert r'hw:\x1b[31m\nx\u202e' in message
    assert message.isprintable()


@pytest.mark.parametrize(
    ('given', 'message'),
    [
        ({'query': 'validation='}, f"{MODE}''"),
        ({'query': 'validation=off&validation=off'}, f"{MODE}'off, off'"),
        ({'at': '2.104'}, VALUE),
        ({'at': 'latest'}, VALUE),
        ({'path': f'{PATH}/hw:cpu_policy', 'query': '_method=PUT', 'body': PUT}, VALUE),
    ],
    ids=str,
)
def test_a_rejection_has_novas_format(send, given, message):
    """R4-04, R4-06, R4-11."""
    assert send(**given)[0] == '400 Bad Request'
    assert json.loads(send.body) == {'badRequest': {'code': 400, 'message': message}}
    at = '2.86' if given.get('at', '2.86') == '2.86' else '2.104'
    assert send.headers == [
        ('Content-Type', 'application/json; charset=UTF-8'),
        ('OpenStack-API-Version', f'compute {at}'),
        ('X-OpenStack-Nova-API-Version', at),
        ('Vary', 'OpenStack-API-Version'),
        ('Vary', 'X-OpenStack-Nova-API-Version'),
        ('Content-Length', str(len(send.body))),
    ]


@pytest.mark.parametrize(
    'environ',
    [{'CONTENT_LENGTH': None, 'wsgi.input_terminated': True}, {}],
    ids=['a body without a length', 'no request context'],
)
def test_the_body_is_validated(send, nova, environ):
    """The body is read as in Nova if the server marks its end, and checked without a context."""
    assert send(**environ)[0] == '400 Bad Request'
    assert nova.requests == []


@pytest.mark.parametrize(
    ('method', 'path', 'rule'), [('POST', PATH, 'create'), ('PUT', f'{PATH}/foo', 'update')]
)
def test_novas_policy_rule_is_checked(send, nova, method, path, rule):
    context = Context(f'os_compute_api:os-flavor-extra-specs:{rule}')
    body = FAULTY if method == 'POST' else b'{"foo": "x"}'
    status, _, _ = send(method, path, body, **{'nova.context': context})
    assert (status, context.asked) == ('400 Bad Request', list(context.allowed))


def test_q4_3_a_package_that_does_not_load_keeps_nova_api_from_starting(install, nova):
    install('broken', 5)
    with pytest.raises(PluginError, match='broken'):
        ExtraSpecValidation(nova, lambda: '2.104')


def test_an_option_is_rejected():
    with pytest.raises(ValueError, match=r"has no options, but was given \['mode'\]"):
        filter_factory({}, mode='off')
