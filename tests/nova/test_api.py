"""The middleware of nova-api, as paste loads it, in front of Nova's router."""

import json
import logging
import uuid

import oslo_messaging
import pytest
import webob
from nova import context as nova_context
from nova import objects, rpc
from nova.api import openstack
from nova.api.openstack import api_version_request, compute
from nova.conf import CONF
from oslo_policy import opts
from paste.deploy import loadwsgi

from senlin_affinity.plugins.nova.api_middleware import VERSION_HEADER
from tests.nova.test_releases import RELEASE

FAULTY = {'hw:cpu_policy': 'deddicated'}
UNKNOWN = {'custom:rack': 'r1'}
#: A name that neither this release knows, nor one with the same maximum microversion.
NAME = {'hw:mem_encryption_model': 'amd-sev'} if RELEASE < 31 else {'hw:max_cpu_cores': '2'}
NEWEST = api_version_request.max_api_version().get_string()


def in_front_of(application):
    return loadwsgi.loadfilter('egg:senlin-affinity#extra_spec_validation')(application)


@pytest.fixture(scope='session')
def router(api_database):
    """Return the middleware in front of Nova's own routes and error handling."""
    CONF([], project='nova', default_config_files=[], default_config_dirs=[])
    # As in a Nova of its own time: oslo.policy has had other defaults since.
    opts.set_defaults(CONF, enforce_scope=False, enforce_new_defaults=False)
    oslo_messaging.get_rpc_transport(CONF, 'fake:/')  # registers the option
    CONF.set_override('transport_url', 'fake:/')
    rpc.init(CONF)
    return in_front_of(openstack.FaultWrapper(compute.APIRouterV21()))


@pytest.fixture
def flavor(router):
    """Send a request; return its response and the stored specs: ``flavor(specs, mode)``."""
    context = nova_context.RequestContext(
        'user', 'project', is_admin=True, roles=['admin', 'member', 'reader']
    )
    name = uuid.uuid4().hex
    made = objects.Flavor(
        context, name=name, flavorid=name, vcpus=1, memory_mb=64, root_gb=1, ephemeral_gb=0,
        swap=0, rxtx_factor=1.0, is_public=True, disabled=False, extra_specs={},
    )  # fmt: skip
    made.create()

    def post(specs, mode=None, microversion='latest'):
        query = '' if mode is None else f'?validation={mode}'
        request = webob.Request.blank(f'/flavors/{name}/os-extra_specs{query}', method='POST')
        request.content_type = 'application/json'
        request.body = json.dumps({'extra_specs': specs}).encode()
        request.headers[VERSION_HEADER] = f'compute {microversion}'
        request.environ['nova.context'] = context
        response = request.get_response(router)
        return response, objects.Flavor.get_by_flavor_id(context, name).extra_specs

    return post


def test_r4_11_the_newest_microversion_is_that_of_nova():
    request = webob.Request.blank('/flavors/1/os-extra_specs', method='POST')
    request.body = json.dumps({'extra_specs': FAULTY}).encode()
    request.headers[VERSION_HEADER] = 'compute latest'
    response = request.get_response(in_front_of(webob.Response('not reached')))
    assert response.headers[VERSION_HEADER] == f'compute {NEWEST}'
    assert response.status_code == 400


@pytest.mark.parametrize(
    ('specs', 'accepting'),
    [
        ({'hw:cpu_policy': 'shared'}, {'strict', 'permissive', 'off'}),
        (FAULTY, {'off'}),
        (UNKNOWN, {'permissive', 'off'}),
        (NAME, {'permissive', 'off'}),
    ],
)
@pytest.mark.parametrize('mode', ['strict', 'permissive', 'off'])
def test_each_mode_stores_what_it_accepts(flavor, specs, accepting, mode):
    response, stored = flavor(specs, mode)
    assert response.status_code == (200 if mode in accepting else 400), response.text
    assert stored == (specs if mode in accepting else {})
    assert response.headers[VERSION_HEADER] == f'compute {NEWEST}'


def test_permissive_logs_a_name_that_this_nova_does_not_know(flavor, caplog):
    caplog.set_level(logging.INFO, 'senlin_affinity')
    flavor(NAME, 'permissive')
    (line,) = [record.getMessage() for record in caplog.records if record.levelname == 'INFO']
    assert 'rejects this name' in line


@pytest.mark.parametrize('specs', [FAULTY, UNKNOWN, NAME])
def test_an_older_microversion_checks_nothing(flavor, specs):
    response, stored = flavor(specs, microversion='2.85')
    assert (response.status_code, stored) == (200, specs)


def test_an_unknown_mode_is_rejected(flavor):
    response, stored = flavor({}, 'lenient')
    assert (response.status_code, stored) == (400, {})
    message = response.json['badRequest']['message']
    assert message == "validation must be one of strict, permissive, off, not 'lenient'"
