"""The filter of nova-api, as paste makes it."""

import json

import webob
from nova.api.openstack import api_version_request

from senlin_affinity.plugins.nova.api_middleware import VERSION_HEADER, filter_factory


def test_r4_11_the_newest_microversion_is_novas():
    request = webob.Request.blank('/flavors/1/os-extra_specs', method='POST')
    request.body = json.dumps({'extra_specs': {'hw:cpu_policy': 'x'}}).encode()
    request.headers[VERSION_HEADER] = 'compute latest'
    response = request.get_response(filter_factory({})(webob.Response('not reached')))
    newest = api_version_request.max_api_version().get_string()
    assert response.headers[VERSION_HEADER] == f'compute {newest}'
    assert response.status_code == 400
