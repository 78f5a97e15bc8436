"""The definitions that are exported for Glance, judged by the schema that Glance's client has.

python-glanceclient comes with Nova. It judges a namespace before it sends it.
"""

import copy

import jsonschema
import pytest
from glanceclient.v2.namespace_schema import BASE_SCHEMA

from senlin_affinity.extra_specs import metadef, render
from senlin_affinity.extra_specs.registry import Registry

NAMESPACES = render.namespaces(Registry())


def judge(exported):
    jsonschema.Draft4Validator(BASE_SCHEMA).validate(exported)


@pytest.mark.parametrize('namespace', NAMESPACES, ids=render.slug)
def test_glances_client_takes_it(namespace):
    """R4-17, D4-05."""
    judge(metadef.namespace(namespace))


@pytest.mark.parametrize(
    'spoil',
    [
        pytest.param(lambda found: found.update(x_word=1), id='a word too many'),
        pytest.param(lambda found: found.pop('namespace'), id='no name'),
        pytest.param(
            lambda found: next(iter(found['properties'].values())).update(type='text'),
            id='another type',
        ),
        pytest.param(
            lambda found: next(iter(found['properties'].values())).pop('title'), id='no title'
        ),
    ],
)
def test_glances_client_can_refuse(spoil):
    """So that the test above is one."""
    exported = copy.deepcopy(metadef.namespace(NAMESPACES[0]))
    judge(exported)
    spoil(exported)
    with pytest.raises(jsonschema.ValidationError):
        judge(exported)
