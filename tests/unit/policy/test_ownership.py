"""Whether a group that the policy created outlives a detach: the metadata go before the spec."""

import pytest

from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.policy.ownership import KEY, is_kept
from senlin_affinity.policy.properties import Properties


@pytest.mark.parametrize(
    ('said', 'of_spec', 'kept'),
    [
        (None, 'delete', False),
        (None, 'keep', True),
        ('keep', None, True),
        ('delete', None, False),
        (' Keep ', None, True),
    ],
)
def test_q3_12_the_metadata_go_before_the_spec(said, of_spec, kept):
    """A spec that is not asked is not read."""

    def read():
        assert of_spec
        return Properties('1.1', on_detach=of_spec)

    assert is_kept({'other': 'x'} if said is None else {KEY: said}, read) is kept


@pytest.mark.parametrize('said', ['', 'yes', True, ['keep'], {}, 1])
def test_another_value_is_an_error(said):
    with pytest.raises(InvalidSpec, match='must be delete or keep, not') as caught:
        is_kept({KEY: said}, Properties)
    assert caught.value.path == 'metadata.senlin_affinity_on_detach'
