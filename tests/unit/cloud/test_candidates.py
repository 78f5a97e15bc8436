"""Constraints on aggregates need a recent Placement."""

import pytest

from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.model.member_of import MemberOf
from tests.support.edge import Edge
from tests.support.fake_placement import FakePlacement

U, V, W = (f'00000000-0000-4000-8000-00000000000{number}' for number in (1, 2, 3))


def check(values, offered):
    """Check the version of this Placement; nothing but the versions is requested."""
    with Edge(placement=FakePlacement([], offered)) as edge:
        try:
            edge.ports.candidates.check_version(MemberOf.parse(values), 'path')
        finally:
            assert (edge.placement.asked, edge.nova.requests()) == ([], [])


@pytest.mark.parametrize(
    ('values', 'offered'),
    [([], '1.28'), ([U], '1.29'), ([f'in:{U},{V}', W], '1.31'), ([f'!{U}'], '1.32')],
)
def test_a_recent_placement_is_accepted(values, offered):
    check(values, offered)


@pytest.mark.parametrize(
    ('values', 'offered', 'needed'),
    [([f'!{U}'], '1.31', '1.32'), ([V, f'!{U}'], '1.28', '1.32'), ([U], '1.28', '1.29')],
)
def test_rx_08_r1_42_an_older_placement_is_rejected(values, offered, needed):
    remedy = 'remove the values with !' if needed == '1.32' else 'leave member_of out'
    words = f'need Placement microversion {needed}, this cloud offers {offered}: {remedy}'
    with pytest.raises(InvalidSpec, match=words) as caught:
        check(values, offered)
    assert caught.value.path == 'path'


def test_placement_is_located_only_if_needed():
    """A catalog without Placement serves everything else."""
    with Edge() as edge:
        candidates = edge.ports.candidates
        candidates.check_version(MemberOf(), 'path')
        with pytest.raises(CloudError, match='could not find Placement: '):
            candidates.check_version(MemberOf.parse([U]), 'path')
