"""The groups that a detach deletes, hands over and keeps."""

import pytest

from senlin_affinity.groups.attachment import Attach
from senlin_affinity.groups.detachment import KEY, CheckBound, Detach, Undo, is_kept
from senlin_affinity.groups.steps import GroupUser, Use
from senlin_affinity.model.errors import AffinityError, InvalidSpec
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.policy.properties import PolicySpec
from senlin_affinity.policy.senlin_data import Binding
from tests.support.fake_cloud import FakeCloud, cloud_of
from tests.support.tables import check_error, raises, rows
from tests.unit.groups.senlin_fake import FakeSenlin, use_of

AFFINITY = PolicySpec('1.1', policy='affinity')


@pytest.mark.parametrize('row', rows('policy_detach'))
def test_detach(row):
    cloud = cloud_of(row.get('cloud', {}))
    stored = row.get('stored', Binding('g1', False).data())
    senlin = FakeSenlin(cloud, None, use_of(row), row.get('keep', False))
    if raises(row):
        with pytest.raises(AffinityError) as caught:
            senlin.detach(stored)
        check_error(row, caught.value)
        assert senlin.left == []
    else:
        answer = senlin.detach(stored)
        assert answer.message == row['outcome']
        assert answer.deleted == row.get('gone')
        assert (answer.released is None) == ('gone' in row or row.get('stored', ...) is None)
        leaves = [] if row.get('stored', ...) is None else [(row.get('heir'), 'kept' in row)]
        assert [(each.heir and each.heir.cluster, each.is_kept) for each in senlin.left] == leaves
    if 'requests' in row:
        assert cloud.requests == row['requests']
    assert [group.id for group in cloud.groups] == row['left']


def test_the_owner_precedes_the_oldest_cluster():
    old, owner = GroupUser('c1', 'old', 'p'), GroupUser('c2', 'owner', 'p', is_owner=True)
    assert Use((old, owner)).heir == owner
    assert Use((old, GroupUser('c3', 'new', 'p'))).heir == old
    assert Use((GroupUser('c1', 'x', 'p', may_own=False),)).heir is None


def test_a_cluster_that_uses_the_group_during_the_detach_becomes_its_owner():
    cloud, heir = FakeCloud([ServerGroup('g1', 'web', 'affinity')]), GroupUser('c2', 'db', 'p')
    senlin = FakeSenlin(cloud, use=lambda _id: Use((heir,) if cloud.requests else ()))
    answer = senlin.detach(Binding('g1', False).data())
    assert answer.message == 'server group g1 stays: cluster db uses it'
    assert ([each.heir for each in senlin.left], len(cloud.groups)) == ([heir], 1)


@pytest.mark.parametrize('operation', [Detach(), Undo('g1'), Attach('c1', AFFINITY, kept='g1')])
def test_the_users_of_a_group_are_read_once(operation):
    """The lock of the group is held meanwhile, and the table may be long."""
    reads = []
    senlin = FakeSenlin(
        FakeCloud([ServerGroup('g1', 'web', 'anti-affinity')]), Binding('g1', False)
    )
    senlin.use = lambda group_id: reads.append(group_id) or Use()
    senlin.run(operation)
    assert ([each.group_id for each in senlin.left], reads) == (['g1'], ['g1'])


def test_a_failed_attach_deletes_its_group():
    cloud = FakeCloud([ServerGroup('g1', 'web', 'affinity')])
    assert FakeSenlin(cloud).run(Undo('g1')).deleted == 'g1'
    assert cloud.groups == []


def test_a_deleted_bound_group_is_rejected_with_advice():
    senlin = FakeSenlin(FakeCloud([ServerGroup('g1', 'web', 'affinity')]))
    assert senlin.run(CheckBound('g1')) is None
    assert senlin.run(CheckBound('g2')).reason == (
        'server group g2, which the policy is bound to, no longer exists: detach the policy '
        'and attach it again'
    )


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
def test_q3_12_the_metadata_precede_the_spec(said, of_spec, kept):
    """If the metadata decide, the spec is not read."""

    def read():
        assert of_spec
        return PolicySpec('1.1', on_detach=of_spec)

    assert is_kept({'other': 'x'} if said is None else {KEY: said}, read) is kept


@pytest.mark.parametrize('said', ['', 'yes', True, ['keep'], {}, 1])
def test_another_value_is_an_error(said):
    with pytest.raises(InvalidSpec, match='must be delete or keep, not') as caught:
        is_kept({KEY: said}, PolicySpec)
    assert caught.value.path == 'metadata.senlin_affinity_on_detach'
