"""Whether a group that the policy created outlives a detach: the metadata go before the spec."""

import pytest

from senlin_affinity.groups.ownership import KEY, is_kept, missing
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.server_group import ServerGroup
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


def test_a_bound_group_that_is_gone_is_refused_with_what_to_do():
    group = ServerGroup('g1', 'web', 'affinity')
    assert missing('g1', None) is None, 'nobody could see any'
    assert missing('g1', [group]) is None
    refusal = missing('g2', [group])
    assert refusal is not None
    assert refusal.reason == (
        'server group g2, which the policy is bound to, does not exist any more: detach the policy '
        'and attach it again'
    )
