"""Requests are retried, limited and reported with the service's own message."""

import contextlib
from types import MappingProxyType, SimpleNamespace

import pytest
import requests
from keystoneauth1.adapter import Adapter
from keystoneauth1.noauth import NoAuth
from keystoneauth1.session import Session
from openstack.config.cloud_region import CloudRegion
from openstack.connection import Connection

from senlin_affinity.cloud import rest as rest_module
from senlin_affinity.cloud.inventory import NovaInventory
from senlin_affinity.cloud.rest import Rest
from senlin_affinity.cloud.transport import AnswerTooLarge, GivenUp, operation
from senlin_affinity.model.errors import CloudError, TooLarge
from tests.support import edge as at_edge
from tests.support import fake_keystone
from tests.support.edge import Edge, Failure

LIMITS = (2, 1)

MESSAGES = {
    'a Nova fault': (
        {'forbidden': {'code': 403, 'message': 'Quota exceeded, too many server groups.'}},
        'Quota exceeded, too many server groups.',
    ),
    'a Keystone error': (
        {'error': {'code': 403, 'title': 'Forbidden', 'message': 'You are not authorized.'}},
        'You are not authorized.',
    ),
    'a list of errors from Placement': (
        {'errors': [{'status': 403, 'title': 'Forbidden', 'detail': 'Policy says no.'}]},
        'Policy says no.',
    ),
    'a nested message': ({'a': [{'b': {'c': [1, {'message': 'in here'}]}}]}, 'in here'),
    'a message that is a mapping': ({'message': {'detail': 'one below'}}, 'one below'),
    'a body without a message': ({'code': 403}, '{"code": 403}'),
    'a string': ('no.', '"no."'),
    'null': (None, 'null'),
}


def keystone_failure(status):
    message_text = f'Keystone says {status}'
    return Failure(
        str(status), message_text, status, {'error': {'code': status, 'message': message_text}}
    )


@pytest.fixture
def rest(edge):
    return Rest(edge.connection().compute, 'Nova', 5.0)


def error_of(rest, what='read the limits'):
    with pytest.raises(CloudError) as caught:
        rest.get('/limits', what, LIMITS)
    return caught.value


@pytest.mark.parametrize('name', MESSAGES)
def test_the_message_of_the_service_is_passed_on(edge, rest, name):
    body, message_text = MESSAGES[name]
    failure = Failure(name, message_text, 400, text=at_edge.to_json(body))
    edge.fail('GET', '/limits', failure)
    error = error_of(rest)
    assert str(error) == f'could not read the limits: Nova answered 400: {message_text}'
    assert error.status == 400
    assert not error.is_uncertain


@pytest.mark.parametrize(
    ('failure', 'message'),
    [
        (
            at_edge.UNAVAILABLE,
            '503: <html><body><h1>503 Service Unavailable</h1> No server is avail',
        ),
        (Failure('empty', '', 502, text=''), '502: Bad Gateway'),
        (Failure('long', '', 500, text='x' * 5000), f'500: {"x" * 300}...'),
        (Failure('words', '', 500, text='word by ' * 100), f'500: {"word by " * 36}word by...'),
    ],
    ids=['page', 'empty', 'long', 'words'],
)
def test_an_unknown_error_body_is_quoted_and_truncated(edge, rest, failure, message):
    edge.fail('GET', '/limits', failure)
    assert str(error_of(rest)).startswith(f'could not read the limits: Nova answered {message}')


@pytest.mark.parametrize('status', [200, 204, 300])
def test_a_body_that_is_not_json_is_an_error(edge, rest, status):
    edge.fail('GET', '/limits', Failure('no JSON', '', status, text='Hello\n  <b>you</b>'))
    error = error_of(rest)
    assert str(error) == (
        "could not read the limits: the answer of Nova is not JSON: 'Hello <b>you</b>'"
    )
    assert not error.is_uncertain


def test_null_is_an_error_and_does_not_mean_missing(edge, rest):
    edge.fail('GET', '/limits', Failure('null', '', 200, text='null'))
    with pytest.raises(CloudError, match="the answer of Nova is not JSON: 'null'"):
        rest.get('/limits', 'read the limits', LIMITS, may_be_missing=True)


@pytest.mark.parametrize('failure', [at_edge.TIMEOUT, at_edge.RESET], ids=str)
def test_a_read_without_a_response_is_retried_once(edge, rest, failure):
    edge.fail('GET', '/limits', failure, times=3)
    error = error_of(rest)
    assert str(error).startswith('could not read the limits: ')
    assert failure.words in str(error)
    assert (error.status, error.is_uncertain) == (None, False)
    assert rest.get('/limits', 'read the limits', LIMITS)['limits']
    assert edge.nova.requests() == ['GET /limits'] * 4


@pytest.fixture
def delays(monkeypatch):
    """Return the list of waiting times in seconds."""
    seconds = []
    clock = SimpleNamespace(sleep=seconds.append, time=lambda: 1_000_000_000.5)
    monkeypatch.setattr(rest_module, 'time', clock)
    return seconds


@pytest.mark.parametrize('status', [429, 503])
@pytest.mark.parametrize(
    ('after', 'waited'), [('2', 2.0), ('Sun, 09 Sep 2001 01:46:44 GMT', 3.5), ('0', 0.0)]
)
def test_a_read_is_retried_after_the_requested_delay(edge, rest, delays, status, after, waited):
    later = Failure('later', '', status, {}, headers=(('Retry-After', after),))
    edge.fail('GET', '/limits', later, times=3)
    assert rest.get('/limits', 'read the limits', LIMITS)['limits']
    assert delays == [waited] * 3


@pytest.mark.parametrize(
    ('status', 'after', 'times'),
    [(429, '1', 4), (503, '15', 1), (503, 'soon', 1), (503, None, 1), (500, '1', 1)],
)
def test_the_retries_of_a_read_are_limited(edge, rest, delays, status, after, times):
    """The retry needs a delay in the response, which fits into the timeout."""
    headers = () if after is None else (('Retry-After', after),)
    edge.fail('GET', '/limits', Failure('later', '', status, {}, headers=headers), times=9)
    assert error_of(rest).status == status
    assert edge.nova.requests() == ['GET /limits'] * times
    assert delays == [1.0] * (times - 1)


def test_a_write_is_not_retried_after_a_delay(edge, rest, delays):
    later = Failure('later', '', 503, {}, headers=(('Retry-After', '1'),))
    edge.fail('POST', '/os-server-groups', later)
    with pytest.raises(CloudError):
        rest.post('/os-server-groups', 'write', (2, 64), {})
    assert (edge.nova.requests(), delays) == (['POST /os-server-groups'], [])


@pytest.mark.parametrize('name', ['X-Openstack-Request-Id', 'x-compute-request-id'])
@pytest.mark.parametrize(
    'answer',
    [
        {'status': 500, 'body': {}},
        {'status': 200, 'text': '<html>'},
        {'status': 200, 'text': '[' * 100_000},
        {'status': 200, 'body': {}},
        {'status': 200, 'body': {'limits': {'absolute': []}}},
    ],
    ids=lambda answer: str(answer)[:40],
)
def test_an_error_contains_the_request_id(edge, rest, name, answer):
    edge.fail('GET', '/limits', Failure('malformed', '', headers=((name, 'req-1'),), **answer))
    message_text = r'^could not read the limits of the project: .* \(request req-1\)$'
    with pytest.raises(CloudError, match=message_text):
        NovaInventory(rest, None).quotas()


@pytest.mark.parametrize('failure', [at_edge.TIMEOUT, at_edge.RESET, at_edge.NO_JSON], ids=str)
@pytest.mark.parametrize('method', ['post', 'delete'])
def test_a_write_without_a_response_is_not_retried(edge, rest, method, failure):
    edge.fail(method.upper(), '/os-server-groups', failure)
    body = ({},) if method == 'post' else ()
    with pytest.raises(CloudError) as caught:
        getattr(rest, method)('/os-server-groups', 'write', (2, 64), *body)
    assert caught.value.is_uncertain
    assert edge.nova.requests() == [f'{method.upper()} /os-server-groups']


def test_retries_in_clouds_yaml_do_not_apply_to_writes(edge):
    connection = edge.connection(compute_status_code_retries=5, compute_connect_retries=5)
    rest = Rest(connection.compute, 'Nova')
    edge.fail('POST', '/os-server-groups', at_edge.UNAVAILABLE, times=1)
    edge.fail('POST', '/os-server-groups', at_edge.RESET, times=1)

    for _ in range(2):
        with pytest.raises(CloudError):
            rest.post('/os-server-groups', 'write', (2, 64), {})

    assert edge.nova.requests() == ['POST /os-server-groups'] * 2


def test_a_cache_in_clouds_yaml_does_not_apply_to_reads(edge):
    plain = edge.connection().config
    cached = CloudRegion(
        'cached',
        fake_keystone.REGION,
        config=plain.config,
        session=plain.get_session(),
        cache_class='dogpile.cache.memory',
        cache_expirations={'compute.limits': 60},
    )
    rest = Rest(Connection(config=cached).compute, 'Nova')

    for _ in range(2):
        rest.get('/limits', 'read the limits', LIMITS)

    assert edge.nova.requests() == ['GET /limits'] * 2


def test_an_expired_token_is_renewed_and_the_request_repeated(edge, rest):
    edge.fail('POST', '/os-server-groups', at_edge.UNAUTHORIZED, times=1)
    group = {'server_group': {'name': 'web', 'policy': 'affinity'}}
    assert rest.post('/os-server-groups', 'create', (2, 64), group)['server_group']
    assert edge.tokens == 2
    assert len(edge.nova.groups) == 1


@pytest.mark.parametrize(
    ('failure', 'is_uncertain'), [(at_edge.UNAUTHORIZED, False), (at_edge.SERVER_ERROR, True)]
)
def test_a_write_with_a_rejected_token_is_not_uncertain(edge, rest, failure, is_uncertain):
    rest.get('/limits', 'read the limits', LIMITS)
    edge.fail('POST', '/os-server-groups', at_edge.UNAUTHORIZED)
    edge.fail('POST', '/auth/tokens', failure)
    with pytest.raises(CloudError, match='could not create: ') as caught:
        rest.post('/os-server-groups', 'create', (2, 64), {})
    assert (caught.value.status, caught.value.is_uncertain) == (failure.status, is_uncertain)


def test_a_delete_returns_whether_the_object_existed(edge, rest):
    path = f'/os-server-groups/{edge.nova.add_group("web")}'
    assert rest.delete(path, 'delete', (2, 64)) is True
    assert rest.delete(path, 'delete', (2, 64)) is False


class RecordingAdapter:
    """An adapter that records the options of requests."""

    session = SimpleNamespace(session=None)

    def __init__(self, error=None):
        self.error, self.asked = error, []

    def request(self, *arguments, **options):
        self.asked.append((*arguments, options))
        if self.error is not None:
            raise self.error
        response = requests.Response()
        response.status_code, response._content = 200, b'{}'
        response.request = SimpleNamespace(method=arguments[1])
        return response


def test_the_options_of_requests():
    adapter = RecordingAdapter()
    assert Rest(adapter, 'Nova', 5.0).get('/x', 'read', LIMITS, params={'a': 1}) == {}
    assert Rest(adapter, 'Nova').post('/x', 'write', (2, 64), {'b': 2}) == {}
    common = {'headers': {'Accept': 'application/json'}, 'status_code_retries': 0}
    read = {'connect_retries': 1, 'microversion': '2.1', 'params': {'a': 1}, 'skip_cache': True}
    write = {'connect_retries': 0, 'microversion': '2.64', 'json': {'b': 2}}
    assert adapter.asked == [
        ('/x', 'GET', {**common, **read, 'timeout': 5.0}),
        ('/x', 'POST', {**common, **write}),
    ]


def test_a_write_is_sent_after_the_end_of_an_operation():
    adapter = RecordingAdapter()
    rest = Rest(adapter, 'Nova', 5.0)
    with operation(-1.0):
        with pytest.raises(CloudError, match='the operation did not finish'):
            rest.get('/x', 'read', LIMITS)
        assert rest.post('/x', 'write', LIMITS, {}) == {}
    assert len(adapter.asked) == 1


@pytest.mark.parametrize(
    ('error', 'kind'),
    [(AnswerTooLarge('too large', 200), TooLarge), (GivenUp('no'), CloudError)],
)
def test_a_response_that_is_too_large_has_its_own_error(error, kind):
    with pytest.raises(CloudError, match='^could not read: ') as caught:
        Rest(RecordingAdapter(error), 'Nova', 5.0).get('/x', 'read', LIMITS)
    assert type(caught.value) is kind


@pytest.mark.parametrize(
    ('failure', 'words'),
    [
        (at_edge.CONFLICT, 'Nova answered 409: Not while something else goes on.'),
        (Failure('202', '', 202, text='later'), "Nova answered 202 instead of 204: 'later'"),
    ],
    ids=str,
)
def test_a_rejected_delete_is_an_error(edge, rest, failure, words):
    edge.fail('DELETE', '/os-server-groups/x', failure)
    with pytest.raises(CloudError) as caught:
        rest.delete('/os-server-groups/x', 'delete', (2, 64))
    assert str(caught.value) == f'could not delete: {words}'
    assert caught.value.is_uncertain is (failure is not at_edge.CONFLICT)


@pytest.mark.parametrize(
    ('failure', 'times'),
    [(None, 1), (at_edge.FORBIDDEN, 1), (at_edge.SERVER_ERROR, 2), (at_edge.TIMEOUT, 2)],
    ids=str,
)
def test_a_read_is_repeated_only_if_the_service_failed(edge, failure, times):
    """A read without a response is retried at once, and then not again."""
    responses = {}
    if failure is not None:
        edge.fail('GET', '/limits', failure)
    for _ in range(2):
        with contextlib.suppress(CloudError):
            Rest(edge.connection().compute, 'Nova', 5.0, responses).get('/limits', 'read', LIMITS)
    assert edge.nova.requests() == ['GET /limits'] * times
    assert len(responses) == (failure is not at_edge.SERVER_ERROR)


def test_a_response_to_another_query_is_not_reused(edge):
    responses = {}
    rest = Rest(edge.connection().compute, 'Nova', 5.0, responses)
    kept = Rest(edge.connection().compute, 'Nova', 5.0, MappingProxyType(responses))
    for query in ({}, {'reserved': 1}):
        rest.get('/limits', 'read', LIMITS, params=query)
        kept.get('/limits', 'read', LIMITS, params=query)
    kept.get('/limits', 'read', (2, 57))
    assert edge.nova.requests() == ['GET /limits'] * 3
    assert len(responses) == 2


FOREIGN_404 = {
    'a page': '<html>404 Not Found</html>',
    'empty': '',
    "Nova's router": '{"message": "The resource could not be found.<br />", "title": "x"}',
    'another service': '{"error": {"code": 404, "message": "Could not find project"}}',
    'a list': '["itemNotFound"]',
    'null': 'null',
    'a string': '"itemNotFound"',
    'a string as the fault': '{"itemNotFound": "no"}',
}


@pytest.mark.parametrize('name', FOREIGN_404)
@pytest.mark.parametrize('method', ['get', 'delete', 'post'])
def test_a_foreign_404_does_not_mean_that_the_object_is_missing(edge, rest, method, name):
    group_id = edge.nova.add_group('web')
    path = f'/os-server-groups/{group_id}'
    edge.fail(method.upper(), path, Failure(name, '', 404, text=FOREIGN_404[name]))
    calls = {
        'get': lambda: rest.get(path, 'ask', (2, 64), may_be_missing=True),
        'delete': lambda: rest.delete(path, 'ask', (2, 64)),
        'post': lambda: rest.post(path, 'ask', (2, 64), {}),
    }

    with pytest.raises(CloudError) as caught:
        calls[method]()

    foreign = '' if method == 'post' else 'could not ask: the 404 does not come from Nova itself ('
    assert str(caught.value).startswith(foreign)
    assert caught.value.status == 404
    assert caught.value.is_uncertain == (method != 'get')


def test_the_message_of_a_proxy_is_passed_on(edge, rest):
    edge.fail('DELETE', '/os-server-groups/x', at_edge.PROXY_PAGE)
    with pytest.raises(CloudError) as caught:
        rest.delete('/os-server-groups/x', 'delete it', (2, 64))
    message_text = 'could not delete it: the 404 does not come from Nova itself (no itemNotFound): '
    assert str(caught.value) == f'{message_text}{at_edge.PROXY_PAGE.words}'


def test_a_request_has_a_microversion_and_parameters(edge, rest):
    rest.get('/limits', 'read the limits', (2, 57), params={'reserved': 1})
    (request_sent,) = edge.nova.asked
    assert (request_sent.microversion, request_sent.query) == ('2.57', {'reserved': '1'})


def test_novas_error_about_a_microversion_is_passed_on():
    with Edge('2.63') as edge:
        rest = Rest(edge.connection().compute, 'Nova')

        with pytest.raises(CloudError) as caught:
            rest.get('/limits', 'read the limits', (2, 64))

    assert str(caught.value) == (
        'could not read the limits: Nova answered 406: Version 2.64 is not supported by the API. '
        'Minimum is 2.1 and maximum is 2.63.'
    )


@pytest.mark.parametrize(
    ('offered', 'wanted', 'picked'),
    [
        ('2.63', (2, 64), (2, 63)),
        ('2.64', (2, 64), (2, 64)),
        ('2.104', (2, 64), (2, 64)),
        ('2.9', (2, 15), (2, 9)),
        ('2.104', (2, 0), (2, 1)),
        ('', (2, 64), (2, 1)),
    ],
)
def test_the_nearest_supported_microversion_is_chosen(offered, wanted, picked):
    with Edge(offered) as edge:
        assert Rest(edge.connection().compute, 'Nova').pick(wanted) == picked
    assert edge.nova.requests() == []


@pytest.mark.parametrize('failure', at_edge.FAILURES, ids=str)
def test_a_failed_discovery_does_not_mean_an_old_cloud(edge, failure):
    edge.fail('GET', 'nova.test/v2.1/?', failure)
    rest = Rest(edge.connection().compute, 'Nova')

    with pytest.raises(CloudError) as caught:
        rest.pick((2, 64))

    assert str(caught.value).startswith('could not find out the microversions of Nova: ')
    assert failure.words in str(caught.value)
    assert not caught.value.is_uncertain
    edge.mend()
    assert rest.pick((2, 64)) == (2, 64)


def test_an_endpoint_without_a_version_is_an_error(edge):
    edge.fail('GET', 'nova.test/v2.1/?', Failure('malformed', '', 200, text='{"hello": "world"}'))
    with pytest.raises(CloudError, match='nova.test/v2.1 describes no version'.replace('.', '[.]')):
        edge.ports.server_groups.named('web')


def test_an_adapter_without_an_endpoint_is_an_error():
    message_text = 'could not find Nova: the catalog has no endpoint for it'
    with pytest.raises(CloudError, match=message_text):
        Rest(Adapter(Session(NoAuth())), 'Nova').pick((2, 64))


@pytest.mark.parametrize('services', [(), ('image',)], ids=['empty', 'other'])
def test_a_catalog_without_nova_is_an_error(services):
    with Edge(services=services) as edge:
        owner = at_edge.clients.of(edge.connection(region_name='RegionOne'), 5.0)
        with pytest.raises(CloudError) as caught:
            at_edge.ports(owner).server_groups.named('web')
    assert str(caught.value).startswith('could not find Nova: ')
    assert 'unknown region' not in str(caught.value)
    # The message is openstacksdk's, and depends on its release.
    assert 'catalog' in str(caught.value) or 'endpoint for compute' in str(caught.value)


def test_an_error_about_an_unknown_region_names_the_known_ones(edge):
    owner = at_edge.clients.of(edge.connection(region_name='Elsewhere'), 5.0)
    with pytest.raises(CloudError) as caught:
        at_edge.ports(owner).server_groups.named('web')
    assert str(caught.value).endswith("; unknown region 'Elsewhere': the catalog has RegionOne")


KEYSTONE_FAILURES = [
    *map(keystone_failure, (401, 403, 404, 409, 413, 429, 500, 503)),
    at_edge.TIMEOUT,
    at_edge.RESET,
    Failure('no JSON', 'Invalid response from server', 200, text='<html>'),
]


@pytest.mark.parametrize('failure', KEYSTONE_FAILURES, ids=str)
def test_a_failed_authentication_is_an_error_and_can_be_repeated(edge, failure):
    edge.fail('POST', '/auth/tokens', failure)

    with pytest.raises(CloudError) as caught:
        edge.ports.server_groups.named('web')

    assert str(caught.value).startswith('could not log in at http://keystone.test/v3: ')
    assert failure.words in str(caught.value)
    assert caught.value.status == (failure.status if failure.status >= 400 else None)
    edge.mend()
    assert edge.ports.server_groups.named('web') == ()


@pytest.mark.parametrize('error', [Exception('odd'), RuntimeError('odd')], ids=repr)
def test_an_unexpected_exception_is_raised_unchanged(edge, error):
    edge.fail('POST', '/auth/tokens', Failure('malformed', '', exception=error))
    with pytest.raises(type(error)) as caught:
        edge.ports.server_groups.named('web')
    assert caught.value is error


def test_a_request_has_the_timeout_and_accepts_json(edge, monkeypatch):
    requests_sent = []
    original = requests.Session.request

    def request(self, method, url, **more):
        requests_sent.append((url, more.get('timeout'), more['headers'].get('Accept')))
        return original(self, method, url, **more)

    monkeypatch.setattr(requests.Session, 'request', request)
    Rest(edge.connection().compute, 'Nova', 7.0).get('/limits', 'read', LIMITS)

    assert ('http://nova.test/v2.1/limits', 7.0, 'application/json') in requests_sent
