"""The remedy of a larger flavor for the image."""

import pytest

from senlin_affinity import engine
from senlin_affinity.constraints.image import ImageConstraint
from senlin_affinity.engine.changes import carry_out
from senlin_affinity.engine.decision import Kind
from senlin_affinity.engine.evaluation import evaluate
from tests.support.asked import resolve
from tests.support.small_cloud import CONSTRAINTS, request_of, rules_of, snapshot_of

RULES = (*CONSTRAINTS, ImageConstraint())
GPU = {'extra_specs': {'resources:CUSTOM_GPU': '1'}}


@pytest.mark.parametrize(
    ('image', 'flavors', 'count', 'change', 'capacity'),
    [
        pytest.param(
            {'min_ram': 1000},
            {
                'thick': {'ram': 2048},
                'big': {'ram': 1024},
                'less': {'ram': 9, 'vcpus': 2},
                'a': {'ram': 600},
                'b': {'ram': 700},
                'c': {'ram': 800},
            },
            2,
            'flavor: big',
            5,
            id='the smallest that is large enough',
        ),
        pytest.param(
            {'min_disk': 2},
            {
                'wide': {'disk': 6},
                'large': {'disk': 2, 'vcpus': 2},
                'far': {'disk': 2, 'ram': 9999},
            },
            4,
            'flavor: large',
            5,
            id='not one for which no host has room',
        ),
        pytest.param(
            {'min_ram': 1000},
            {'wide': {'ram': 5000}, 'far': {'ram': 9999}},
            4,
            'flavor: wide',
            1,
            id='that of which most fit, where none is enough',
        ),
        pytest.param(
            {'min_ram': 1000},
            {'gpu': {'ram': 1024, **GPU}, 'near': {'ram': 999}, 'thin': {'ram': 2000, 'disk': 0}},
            2,
            None,
            0,
            id='none that is another in something else',
        ),
        pytest.param(
            {'status': 'queued', 'min_ram': 1000}, {'big': {'ram': 1024}}, 2, None, 0, id='no image'
        ),
    ],
)
def test_a_larger_flavor(image, flavors, count, change, capacity):
    row = {'hosts': {'cmp-1': {}}, 'flavors': flavors, 'request': {'count': count, 'image': image}}
    resolved = resolve(request_of(row), snapshot_of(row), rules_of(row))
    found = [
        each for each in engine.plan(*resolved.planned, RULES).remedies if each.code == 'flavor'
    ]
    told = [] if change is None else [(change, capacity, count, Kind.REQUESTER)]
    assert [(each.change, each.capacity, each.size, each.kind) for each in found] == told
    assert all(
        evaluate(*carry_out(each.data, *resolved.planned), RULES).capacity == capacity
        for each in found
    )
