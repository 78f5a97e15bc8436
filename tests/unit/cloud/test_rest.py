"""Requests, and the service's own words in every error."""

import threading
from types import SimpleNamespace

import pytest
import requests
from keystoneauth1.adapter import Adapter
from keystoneauth1.noauth import NoAuth
from keystoneauth1.session import Session
from openstack.config.cloud_region import CloudRegion
from openstack.connection import Connection

from senlin_affinity.cloud import rest as rest_module
from senlin_affinity.cloud.deadline import GivenUp, within
from senlin_affinity.cloud.inventory import NovaInventory
from senlin_affinity.cloud.rest import Rest
from senlin_affinity.model.errors import CloudError
from tests.support import edge as at_edge
from tests.support import fake_keystone
from tests.support.edge import Edge, Failure

LIMITS = (2, 1)

WORDS = {
    'a fault of Nova': (
        {'forbidden': {'code': 403, 'message': 'Quota exceeded, too many server groups.'}},
        'Quota exceeded, too many server groups.',
    ),
    'Keystone': (
        {'error': {'code': 403, 'title': 'Forbidden', 'message': 'You are not authorized.'}},
        'You are not authorized.',
    ),
    'a list of errors, as of Placement': (
        {'errors': [{'status': 403, 'title': 'Forbidden', 'detail': 'Policy says no.'}]},
        'Policy says no.',
    ),
    'deep': ({'a': [{'b': {'c': [1, {'message': 'in here'}]}}]}, 'in here'),
    'message holds no text': ({'message': {'detail': 'one below'}}, 'one below'),
    'no words at all': ({'code': 403}, '{"code": 403}'),
    'a text': ('no.', '"no."'),
    'null': (None, 'null'),
}


def keystone_failure(status):
    words = f'Keystone says {status}'
    return Failure(str(status), words, status, {'error': {'code': status, 'message': words}})


@pytest.fixture
def rest(edge):
    return Rest(edge.connection().compute, 'Nova', 5.0)


def refused(rest, what='read the limits'):
    with pytest.raises(CloudError) as caught:
        rest.get('/limits', what, LIMITS)
    return caught.value


@pytest.mark.parametrize('name', WORDS)
def test_the_words_of_the_service_are_passed_on(edge, rest, name):
    body, words = WORDS[name]
    failure = Failure(name, words, 400, text=at_edge.to_json(body))
    edge.fail('GET', '/limits', failure)
    error = refused(rest)
    assert str(error) == f'could not read the limits: Nova answered 400: {words}'
    assert error.status == 400
    assert not error.is_uncertain


@pytest.mark.parametrize(
    ('failure', 'said'),
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
def test_what_is_no_error_of_a_service_is_quoted_as_far_as_it_goes(edge, rest, failure, said):
    edge.fail('GET', '/limits', failure)
    assert str(refused(rest)).startswith(f'could not read the limits: Nova answered {said}')


@pytest.mark.parametrize('status', [200, 204, 300])
def test_a_body_that_is_no_json(edge, rest, status):
    edge.fail('GET', '/limits', Failure('no JSON', '', status, text='Hello\n  <b>you</b>'))
    error = refused(rest)
    assert str(error) == (
        "could not read the limits: the answer of Nova is no JSON: 'Hello <b>you</b>'"
    )
    assert not error.is_uncertain


def test_null_is_no_answer_and_never_reads_as_nothing_there(edge, rest):
    edge.fail('GET', '/limits', Failure('null', '', 200, text='null'))
    with pytest.raises(CloudError, match="the answer of Nova is no JSON: 'null'"):
        rest.get('/limits', 'read the limits', LIMITS, may_be_missing=True)


@pytest.mark.parametrize('failure', [at_edge.TIMEOUT, at_edge.RESET], ids=str)
def test_a_read_is_tried_once_more_where_no_answer_came(edge, rest, failure):
    edge.fail('GET', '/limits', failure, times=3)
    error = refused(rest)
    assert str(error).startswith('could not read the limits: ')
    assert failure.words in str(error)
    assert (error.status, error.is_uncertain) == (None, False)
    assert rest.get('/limits', 'read the limits', LIMITS)['limits']
    assert edge.nova.requests() == ['GET /limits'] * 4


@pytest.fixture
def slept(monkeypatch):
    """The seconds that were waited for."""
    seconds = []
    clock = SimpleNamespace(sleep=seconds.append, time=lambda: 1_000_000_000.5)
    monkeypatch.setattr(rest_module, 'time', clock)
    return seconds


@pytest.mark.parametrize('status', [429, 503])
@pytest.mark.parametrize(
    ('after', 'waited'), [('2', 2.0), ('Sun, 09 Sep 2001 01:46:44 GMT', 3.5), ('0', 0.0)]
)
def test_a_read_waits_as_long_as_the_service_says(edge, rest, slept, status, after, waited):
    later = Failure('later', '', status, {}, headers=(('Retry-After', after),))
    edge.fail('GET', '/limits', later, times=3)
    assert rest.get('/limits', 'read the limits', LIMITS)['limits']
    assert slept == [waited] * 3


@pytest.mark.parametrize(
    ('status', 'after', 'times'),
    [(429, '1', 4), (503, '15', 1), (503, 'soon', 1), (503, None, 1), (500, '1', 1)],
)
def test_a_read_is_not_sent_again_for_ever(edge, rest, slept, status, after, times):
    """Nor where the time would be over, nor without a time."""
    headers = () if after is None else (('Retry-After', after),)
    edge.fail('GET', '/limits', Failure('later', '', status, {}, headers=headers), times=9)
    assert refused(rest).status == status
    assert edge.nova.requests() == ['GET /limits'] * times
    assert slept == [1.0] * (times - 1)


def test_a_write_does_not_wait(edge, rest, slept):
    later = Failure('later', '', 503, {}, headers=(('Retry-After', '1'),))
    edge.fail('POST', '/os-server-groups', later)
    with pytest.raises(CloudError):
        rest.post('/os-server-groups', 'write', (2, 64), {})
    assert (edge.nova.requests(), slept) == (['POST /os-server-groups'], [])


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
def test_whatever_is_odd_has_the_id_of_the_request(edge, rest, name, answer):
    edge.fail('GET', '/limits', Failure('odd', '', headers=((name, 'req-1'),), **answer))
    words = r'^could not read the limits of the project: .* \(request req-1\)$'
    with pytest.raises(CloudError, match=words):
        NovaInventory(rest, None).quotas()


@pytest.mark.parametrize('failure', [at_edge.TIMEOUT, at_edge.RESET, at_edge.NO_JSON], ids=str)
@pytest.mark.parametrize('method', ['post', 'delete'])
def test_a_write_is_never_tried_again(edge, rest, method, failure):
    edge.fail(method.upper(), '/os-server-groups', failure)
    body = ({},) if method == 'post' else ()
    with pytest.raises(CloudError) as caught:
        getattr(rest, method)('/os-server-groups', 'write', (2, 64), *body)
    assert caught.value.is_uncertain
    assert edge.nova.requests() == [f'{method.upper()} /os-server-groups']


def test_a_write_on_a_connection_that_was_given_up_was_not_sent(edge):
    adapter, end = edge.connection().compute, threading.Event()
    with pytest.raises(GivenUp):
        within(0.01, end.wait, adapter.session)
    end.set()
    with pytest.raises(CloudError, match='was given up') as caught:
        Rest(adapter, 'Nova').post('/os-server-groups', 'create', (2, 64), {})
    assert not caught.value.is_uncertain


def test_a_write_is_never_tried_again_whatever_clouds_yaml_says(edge):
    connection = edge.connection(compute_status_code_retries=5, compute_connect_retries=5)
    rest = Rest(connection.compute, 'Nova')
    edge.fail('POST', '/os-server-groups', at_edge.UNAVAILABLE, times=1)
    edge.fail('POST', '/os-server-groups', at_edge.RESET, times=1)

    for _ in range(2):
        with pytest.raises(CloudError):
            rest.post('/os-server-groups', 'write', (2, 64), {})

    assert edge.nova.requests() == ['POST /os-server-groups'] * 2


def test_what_a_read_says_is_never_old_though_clouds_yaml_sets_up_a_cache(edge):
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


def test_an_expired_token_is_renewed_and_the_request_goes_on(edge, rest):
    edge.fail('POST', '/os-server-groups', at_edge.UNAUTHORIZED, times=1)
    group = {'server_group': {'name': 'web', 'policy': 'affinity'}}
    assert rest.post('/os-server-groups', 'create', (2, 64), group)['server_group']
    assert edge.tokens == 2
    assert len(edge.nova.groups) == 1


@pytest.mark.parametrize(
    ('failure', 'is_uncertain'), [(at_edge.UNAUTHORIZED, False), (at_edge.SERVER_ERROR, True)]
)
def test_a_token_that_is_refused_leaves_no_doubt_about_the_write(edge, rest, failure, is_uncertain):
    rest.get('/limits', 'read the limits', LIMITS)
    edge.fail('POST', '/os-server-groups', at_edge.UNAUTHORIZED)
    edge.fail('POST', '/auth/tokens', failure)
    with pytest.raises(CloudError, match='could not create: ') as caught:
        rest.post('/os-server-groups', 'create', (2, 64), {})
    assert (caught.value.status, caught.value.is_uncertain) == (failure.status, is_uncertain)


def test_a_delete_answers_whether_there_was_something(edge, rest):
    path = f'/os-server-groups/{edge.nova.add_group("web")}'
    assert rest.delete(path, 'delete', (2, 64)) is True
    assert rest.delete(path, 'delete', (2, 64)) is False


NOT_NOVAS = {
    'a page': '<html>404 Not Found</html>',
    'empty': '',
    "the router of Nova's": '{"message": "The resource could not be found.<br />", "title": "x"}',
    'another service': '{"error": {"code": 404, "message": "Could not find project"}}',
    'a list': '["itemNotFound"]',
    'null': 'null',
    'a text': '"itemNotFound"',
    'a text below': '{"itemNotFound": "no"}',
}


@pytest.mark.parametrize('name', NOT_NOVAS)
@pytest.mark.parametrize('method', ['get', 'delete', 'post'])
def test_a_404_that_is_not_novas_says_nothing_of_the_thing(edge, rest, method, name):
    group_id = edge.nova.add_group('web')
    path = f'/os-server-groups/{group_id}'
    edge.fail(method.upper(), path, Failure(name, '', 404, text=NOT_NOVAS[name]))
    asked = {
        'get': lambda: rest.get(path, 'ask', (2, 64), may_be_missing=True),
        'delete': lambda: rest.delete(path, 'ask', (2, 64)),
        'post': lambda: rest.post(path, 'ask', (2, 64), {}),
    }

    with pytest.raises(CloudError) as caught:
        asked[method]()

    foreign = '' if method == 'post' else "could not ask: the answer 404 is not Nova's own ("
    assert str(caught.value).startswith(foreign)
    assert caught.value.status == 404
    assert caught.value.is_uncertain == (method != 'get')


def test_what_the_page_of_a_proxy_says_is_passed_on(edge, rest):
    edge.fail('DELETE', '/os-server-groups/x', at_edge.PROXY_PAGE)
    with pytest.raises(CloudError) as caught:
        rest.delete('/os-server-groups/x', 'delete it', (2, 64))
    words = "could not delete it: the answer 404 is not Nova's own (itemNotFound): "
    assert str(caught.value) == f'{words}{at_edge.PROXY_PAGE.words}'


def test_the_microversion_and_json_are_asked_for(edge, rest):
    rest.get('/limits', 'read the limits', (2, 57), params={'reserved': 1})
    (asked,) = edge.nova.asked
    assert (asked.microversion, asked.query) == ('2.57', {'reserved': '1'})


def test_a_microversion_that_is_not_offered_is_an_error_in_words_of_nova():
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
def test_the_nearest_microversion_is_picked(offered, wanted, picked):
    with Edge(offered) as edge:
        assert Rest(edge.connection().compute, 'Nova').pick(wanted) == picked
    assert edge.nova.requests() == []


@pytest.mark.parametrize('failure', at_edge.FAILURES, ids=str)
def test_discovery_that_fails_does_not_read_as_an_old_cloud(edge, failure):
    edge.fail('GET', 'nova.test/v2.1/?', failure)
    rest = Rest(edge.connection().compute, 'Nova')

    with pytest.raises(CloudError) as caught:
        rest.pick((2, 64))

    assert str(caught.value).startswith('could not find out the microversions of Nova: ')
    assert failure.words in str(caught.value)
    assert not caught.value.is_uncertain
    edge.mend()
    assert rest.pick((2, 64)) == (2, 64)


def test_an_endpoint_that_describes_no_version(edge):
    edge.fail('GET', 'nova.test/v2.1/?', Failure('odd', '', 200, text='{"hello": "world"}'))
    with pytest.raises(CloudError, match='nova.test/v2.1 describes no version'.replace('.', '[.]')):
        edge.ports.server_groups.named('web')


def test_an_adapter_that_has_no_endpoint():
    words = 'could not find Nova: the catalogue has no endpoint of it'
    with pytest.raises(CloudError, match=words):
        Rest(Adapter(Session(NoAuth())), 'Nova').pick((2, 64))


@pytest.mark.parametrize('services', [(), ('image',)], ids=['empty', 'other'])
def test_a_catalogue_without_nova(services):
    with Edge(services=services) as edge, pytest.raises(CloudError) as caught:
        edge.ports.server_groups.named('web')
    assert str(caught.value).startswith('could not find Nova: ')
    # The words are openstacksdk's, and differ from release to release.
    assert 'catalog' in str(caught.value) or 'endpoint for compute' in str(caught.value)


def test_an_unknown_region(edge):
    owner = at_edge.clients.of(edge.connection(region_name='Elsewhere'))
    with pytest.raises(CloudError) as caught:
        at_edge.ports(owner, timeout=5.0).server_groups.named('web')
    assert str(caught.value).endswith("; unknown region 'Elsewhere': the catalog has RegionOne")


KEYSTONE_FAILURES = [
    *map(keystone_failure, (401, 403, 404, 409, 413, 429, 500, 503)),
    at_edge.TIMEOUT,
    at_edge.RESET,
    Failure('no JSON', 'Invalid response from server', 200, text='<html>'),
]


@pytest.mark.parametrize('failure', KEYSTONE_FAILURES, ids=str)
def test_no_token_no_nova(edge, failure):
    edge.fail('POST', '/auth/tokens', failure)

    with pytest.raises(CloudError) as caught:
        edge.ports.server_groups.named('web')

    assert str(caught.value).startswith('could not log in at http://keystone.test/v3: ')
    assert failure.words in str(caught.value)
    assert caught.value.status == (failure.status if failure.status >= 400 else None)
    edge.mend()
    assert edge.ports.server_groups.named('web') == ()


@pytest.mark.parametrize('error', [Exception('odd'), ValueError('odd')], ids=repr)
def test_what_is_no_answer_of_keystone_s_comes_out_as_it_is(edge, error):
    edge.fail('POST', '/auth/tokens', Failure('odd', '', exception=error))
    with pytest.raises(type(error)) as caught:
        edge.ports.server_groups.named('web')
    assert caught.value is error


def test_the_timeout_and_the_kind_of_answer_reach_requests(edge, monkeypatch):
    seen = []
    original = requests.Session.request

    def request(self, method, url, **more):
        seen.append((url, more.get('timeout'), more['headers'].get('Accept')))
        return original(self, method, url, **more)

    monkeypatch.setattr(requests.Session, 'request', request)
    Rest(edge.connection().compute, 'Nova', 7.0).get('/limits', 'read', LIMITS)

    assert ('http://nova.test/v2.1/limits', 7.0, 'application/json') in seen
