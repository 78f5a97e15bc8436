"""A placed server is judged as if it had no host yet."""

from senlin_affinity.answers.judgements import agreed, of_placed, without
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.server import Server
from senlin_affinity.model.server_group import Member
from senlin_affinity.preflight.question import Question
from tests.support.small_cloud import CONSTRAINTS, snapshot_of
from tests.support.values import replace

FULL = {'VCPU': [8, 8], 'MEMORY_MB': [8192, 8192], 'DISK_GB': [80, 80]}
SMALL = Flavor('small', 'small', 1, 512, 10)


def server(**more):
    values = {'host': 'cmp-1', 'hypervisor_hostname': 'cmp-1', 'flavor': SMALL, **more}
    return Server('s', 'web-1', 'ACTIVE', **values)


def judged(row, one=None, *, is_counted=True, members=()):
    snapshot = snapshot_of(row)
    if members:
        (group,) = snapshot.server_groups
        snapshot = replace(snapshot, server_groups=(replace(group, members=members),))
    asked = Question(0, image_properties={})
    return of_placed(one or server(), asked, snapshot, CONSTRAINTS, is_counted=is_counted)


def test_a_full_host_has_room_without_the_server():
    row = {'hosts': {'cmp-1': {'resources': FULL}}}
    assert judged(row) == 'fits'
    assert judged(row, is_counted=False) == 'rejects'


def test_a_larger_server_does_not_fit():
    large = replace(SMALL, ram=10_000_000)
    assert judged({'hosts': {'cmp-1': {}}}, server(flavor=large)) == 'rejects'


def test_its_group_does_not_count_it():
    row = {'hosts': {'cmp-1': {}}, 'group': {'policy': 'anti-affinity'}}
    of_group = server(server_group='g')
    assert judged(row, of_group, members=(Member('s', 'cmp-1'),)) == 'fits'
    assert judged(row, of_group, members=(Member('t', 'cmp-1'),)) == 'rejects'


def test_the_flavor_of_the_request_counts():
    """That of this name may be deleted by now."""
    gone = replace(SMALL, name='gone', id='gone')
    assert judged({'hosts': {'cmp-1': {}}}, server(flavor=gone)) == 'fits'
    assert judged({'hosts': {'cmp-1': {}}}, server(flavor=None)) == 'unsure'


def test_unknown_hosts_are_unsure():
    assert judged({'hosts': None}) == 'unsure'


def test_only_equal_answers_count():
    assert (agreed('fits', 'fits'), agreed('fits', 'rejects')) == ('fits', 'unsure')


def test_a_shared_pool_has_what_the_server_uses_everywhere():
    row = {'hosts': {'cmp-1': {'resources': FULL}, 'cmp-2': {'resources': FULL}}}
    cloud = snapshot_of(row)
    hosts = tuple(
        each.but(
            resources={
                name: replace(has, pool='p' if name == 'DISK_GB' else None)
                for name, has in each.resources.items()
            }
        )
        for each in cloud.hosts
    )
    pool = {'DISK_GB': hosts[0].resources['DISK_GB']}
    cloud = replace(cloud, hosts=hosts, pools={'p': pool})
    freed = without(server(), cloud)
    used = [{name: has.used for name, has in each.resources.items()} for each in freed.hosts]
    before = [{name: has.used for name, has in each.resources.items()} for each in hosts]
    assert used[0] == {
        'VCPU': before[0]['VCPU'] - 1,
        'MEMORY_MB': before[0]['MEMORY_MB'] - 512,
        'DISK_GB': before[0]['DISK_GB'] - 10,
    }
    assert used[1] == {**before[1], 'DISK_GB': before[1]['DISK_GB'] - 10}
    assert freed.pools['p']['DISK_GB'].used == pool['DISK_GB'].used - 10


def test_an_unknown_host_changes_nothing():
    cloud = snapshot_of({'hosts': {'cmp-1': {}}})
    assert without(server(host='cmp-9'), cloud) is cloud
