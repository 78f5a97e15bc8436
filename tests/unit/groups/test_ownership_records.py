"""What a policy notes of server groups in its own data."""

import pytest

from senlin_affinity.groups import ownership_records
from senlin_affinity.groups.ownership_records import CREATING, KEPT, MADE, Record

SHAPE = {
    'senlin_affinity': {'c1': {'creating': ['web'], 'made': ['g1', 'g2']}, 'c2': {'kept': ['g3']}}
}
NOTES = (
    Record('c1', CREATING, 'web'), Record('c1', MADE, 'g1'), Record('c1', MADE, 'g2'),
    Record('c2', KEPT, 'g3'),
)  # fmt: skip


def test_the_shape():
    assert ownership_records.write({}, NOTES) == SHAPE
    assert ownership_records.read(SHAPE) == NOTES


def test_the_rest_of_the_data_stays():
    assert ownership_records.write({'a': 1, **SHAPE}, ()) == {'a': 1}
    assert ownership_records.write({'a': 1}, NOTES) == {'a': 1, **SHAPE}
    assert ownership_records.write(None, (*NOTES, *NOTES)) == SHAPE


@pytest.mark.parametrize(
    'data',
    [
        None, [], 'x', {}, {'senlin_affinity': None}, {'senlin_affinity': {'c1': 'web'}},
        {'senlin_affinity': {'c1': {'made': 'g1', 'kept': [7, '', None], 'other': ['g1']}}},
    ],
)  # fmt: skip
def test_what_is_no_note(data):
    assert ownership_records.read(data) == ()


@pytest.mark.parametrize(
    ('note', 'is_meant'),
    [
        (Record('c1', MADE, 'g1'), True),
        (Record('c1', KEPT, 'g1'), True),
        (Record('c1', CREATING, 'senlin-affinity-c1'), True),
        (Record('c1', CREATING, 'web'), False),
    ],
)
def test_a_name_of_the_users_may_mean_another_group(note, is_meant):
    assert note.is_unambiguous is is_meant
