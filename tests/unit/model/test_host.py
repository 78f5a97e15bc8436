"""The properties by which constraints tell hosts apart."""

import pytest

from senlin_affinity.model.host import CandidateCapacity, Host, Resource


@pytest.mark.parametrize(
    ('resources', 'names'),
    [
        (None, None),
        ({}, ()),
        ({'VCPU': Resource(4, 1), 'DISK_GB': Resource(9, 9)}, ('VCPU', 'DISK_GB')),
    ],
)
def test_resource_classes_do_not_depend_on_amounts(resources, names):
    assert Host('cmp-1', resources=resources).resource_classes == names


@pytest.mark.parametrize(
    ('grants', 'granted'),
    [
        (None, None),
        ((), ()),
        (
            (CandidateCapacity('one', 2, 1), CandidateCapacity('two', 0, 0)),
            (('one', True), ('two', False)),
        ),
    ],
)
def test_granted_does_not_depend_on_numbers_of_servers(grants, granted):
    assert Host('cmp-1', grants=grants).granted == granted
