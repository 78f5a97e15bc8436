"""The request log and the faults, through their WSGI applications."""

import threading

import pytest
from webob import Request
from webob.dec import wsgify

from senlin_affinity.sandbox.faults import Observer
from senlin_affinity.sandbox.wsgi import Switchboard, answer
from tests.support.waiting import until


@wsgify
def echo(request):
    """Answer with the body of the request, to show that it is unchanged."""
    return answer(202, request.json_body if request.body else None)


@pytest.fixture
def call():
    observer, switchboard = Observer(), Switchboard()
    switchboard.applications['_sandbox'] = observer
    switchboard.applications['compute'] = observer.watch('compute', echo)

    def call(method, path, body=None, **headers):
        request = Request.blank(path, method=method, headers=headers)
        if body is not None:
            request.json_body = body
        response = request.get_response(switchboard)
        return response.status_int, response.json_body if response.body else None

    return call


def test_a_request_is_logged_and_passed_on_whole(call):
    body = {'server': {'name': 'a'}}
    headers = {'OpenStack-API-Version': 'compute 2.64', 'User-Agent': 'senlin'}
    assert call('POST', '/compute/v2.1/servers?a=b', body, **headers) == (202, body)
    assert call('GET', '/_sandbox/requests')[1] == [
        {
            'service': 'compute',
            'method': 'POST',
            'path': '/v2.1/servers',
            'query': 'a=b',
            'microversion': '2.64',
            'user_agent': 'senlin',
            'body': body,
            'status': 202,
        }
    ]


def test_a_fault_answers_the_given_number_of_times(call):
    fault = {'method': 'GET', 'path': '/servers$', 'status': 503, 'body': {'x': 1}, 'times': 2}
    assert call('POST', '/_sandbox/faults', fault)[0] == 201
    assert call('POST', '/compute/v2.1/servers')[0] == 202
    assert call('GET', '/compute/v2.1/servers/1')[0] == 202
    assert call('GET', '/compute/v2.1/servers') == (503, {'x': 1})
    assert call('GET', '/compute/v2.1/servers')[0] == 503
    assert call('GET', '/compute/v2.1/servers')[0] == 202
    statuses = [entry['status'] for entry in call('GET', '/_sandbox/requests')[1]]
    assert statuses == [202, 202, 503, 503, 202]


def test_an_applied_fault_replaces_the_answer_only(call):
    call('POST', '/_sandbox/faults', {'path': '.', 'status': 502, 'is_applied': True})
    assert call('POST', '/compute/v2.1/servers', {'a': 1})[0] == 502
    # "echo" has answered 202 before; the log keeps what the client got.
    assert [entry['status'] for entry in call('GET', '/_sandbox/requests')[1]] == [502]


def test_a_held_request_continues_when_the_faults_are_cleared(call):
    call('POST', '/_sandbox/faults', {'path': '.', 'status': None, 'is_held': True})
    answers = []
    thread = threading.Thread(target=lambda: answers.append(call('GET', '/compute/v2.1')))
    thread.start()
    until(lambda: call('GET', '/_sandbox/requests')[1], what='the request has come')
    assert answers == []
    call('DELETE', '/_sandbox/faults')
    thread.join(10)
    assert answers == [(202, None)]


@pytest.mark.parametrize('fault', [{'path': '('}, {'paht': 'x'}, {}, None])
def test_an_invalid_fault_is_rejected(call, fault):
    assert call('POST', '/_sandbox/faults', fault)[0] == 400
