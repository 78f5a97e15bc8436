"""The plan of a drain: targets, waves, what is stuck and why, and what would help."""

import json
import pickle

import pytest
from msgspec import structs

from senlin_affinity import api
from senlin_affinity.engine.drain import DrainPlan, Move
from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.server import Server
from senlin_affinity.model.server_group import (
    AFFINITY,
    ANTI_AFFINITY,
    SOFT_ANTI_AFFINITY,
    Member,
    ServerGroup,
)
from tests.support.values import replace

SMALL, LARGE = Flavor('1', 'small', 1, 512, 1), Flavor('2', 'large', 4, 4_096, 1)
POOL = '9bbcc3c4-1da2-4437-a48a-000000000001'
ZONES = {
    name: Aggregate(f'8bbcc3c4-1da2-4437-a48a-00000000000{number}', name, name)
    for number, name in enumerate(('az-1', 'az-2'))
}
ONE_LEFT = '0 of 1 server moves; 1 does not fit'
HINTS = (*DEFAULT_FILTERS, 'SameHostFilter', 'DifferentHostFilter')


def host(name, cpus=8, used=0, zone='az-1', **fields):
    resources = {
        'VCPU': Resource(cpus, used, cpus),
        'MEMORY_MB': Resource(65_536, 0, 65_536),
        'DISK_GB': fields.pop('disk', Resource(100, 0, 100)),
    }
    aggregates = frozenset([ZONES[zone].uuid])
    return Host(name, availability_zone=zone, aggregates=aggregates, resources=resources, **fields)


def uuid(number):
    return f'{number:08x}-1da2-4437-a48a-000000000000'


def server(number, flavor=SMALL, at='a', **fields):
    status = fields.pop('status', 'ACTIVE')
    return Server(uuid(number), f's{number}', status, host=at, flavor=flavor, **fields)


def view(hosts, *servers, groups=(), **parts):
    """Return a cloud; groups are (id, policy, max_server_per_host)."""
    found = tuple(
        ServerGroup(
            name,
            name,
            policy,
            {'max_server_per_host': most} if policy == ANTI_AFFINITY else {},
            tuple(Member(each.id, each.host) for each in servers if each.server_group == name),
        )
        for name, policy, most in groups
    )
    by_host = {each.host: tuple(one for one in servers if one.host == each.host) for each in hosts}
    return Cloud(
        hosts=tuple(hosts),
        aggregates=(*ZONES.values(),),
        server_groups=found,
        servers_by_host=by_host,
        **{'soft_deleted': (), **parts},
    )


def drain(*cloud, hosts=('a',), targets=None, filters=DEFAULT_FILTERS, **parts):
    question = api.Question(0, enabled_filters=filters)
    return api.drain(hosts, view(*cloud, **parts), targets=targets, question=question)


def moves(plan):
    return [(each.server.name, each.kind, each.target, each.wave) for each in plan.moves]


def codes(plan):
    return [(each.server.name, each.code) for each in plan.stuck]


def remedies(plan):
    return [[each.code for each in stuck.remedies] for stuck in plan.stuck]


def test_each_server_moves_to_another_host_at_once():
    plan = drain([host('a'), host('b'), host('c')], server(1), server(2, status='SHUTOFF'))
    assert moves(plan) == [('s1', 'live', 'b', 1), ('s2', 'cold', 'c', 1)]
    assert plan.fits is True
    assert plan.line() == '2 of 2 servers move in 1 wave'
    assert plan.moves[0].target_node == 'b'
    assert plan.moves[0].not_checked


def test_large_servers_are_placed_before_small_ones():
    small = [server(number) for number in range(4)]
    plan = drain([host('a'), host('b', 4), host('c', 4)], *small, server(9, LARGE))
    assert plan.fits is True
    (target,) = {each.target for each in plan.moves if each.server.flavor == LARGE}
    assert {each.target for each in plan.moves if each.server.flavor == SMALL}.isdisjoint({target})


def test_many_hosts_take_different_servers_with_one_evaluation_each():
    others = [host(f'h{number:03}') for number in range(200)]
    flavors = [replace(SMALL, id=f'f{number}', ram=512 + number) for number in range(20)]
    every = [server(number, each) for number, each in enumerate(flavors)]
    plan = drain([host('a', 32), *others], *every)
    assert plan.fits is True
    assert len({each.target for each in plan.moves}) == 20


def test_hosts_that_are_drained_together_take_nothing_from_each_other():
    plan = drain([host('a'), host('b')], server(1), server(2, at='b'), hosts=('a', 'b'))
    assert codes(plan) == [('s1', 'move.no_target'), ('s2', 'move.no_target')]
    assert plan.stuck[0].reason == 'there is no other host that may take it'
    assert plan.fits is False


def test_targets_limit_the_hosts():
    plan = drain([host('a'), host('b'), host('c')], server(1), server(2), targets=['c'])
    assert {each.target for each in plan.moves} == {'c'}


def test_members_of_a_group_move_one_after_the_other_but_not_of_a_soft_one():
    hosts = [host(name) for name in 'abcd']
    groups = (('g', ANTI_AFFINITY, 2), ('s', SOFT_ANTI_AFFINITY, None))
    grouped = [server(number, server_group='g') for number in range(2)]
    soft = [server(number, server_group='s') for number in range(2, 4)]
    plan = drain(hosts, *grouped, *soft, groups=groups)
    waves = {each.server.name: each.wave for each in plan.moves}
    assert waves == {'s0': 1, 's1': 2, 's2': 1, 's3': 1}
    assert plan.line() == '4 of 4 servers move in 2 waves'


def test_a_member_counts_on_its_target_for_the_next_one():
    pair = [server(number, server_group='g') for number in range(2)]
    plan = drain([host('a'), host('b')], *pair, groups=(('g', ANTI_AFFINITY, 1),))
    assert (len(plan.moves), len(plan.not_found), plan.is_proven) == (1, 1, True)
    assert plan.fits is False
    assert plan.line() == '1 of 2 servers moves in 1 wave; 1 does not fit'
    (why,) = plan.blocked
    assert (why.server, why.code) == (plan.not_found[0], 'server_group.host_full')
    assert why.hosts == {'b': 'server_group.host_full'}
    assert 'group g' in why.reason


def test_a_group_is_named_although_another_host_has_room():
    pair = server(1, server_group='g'), server(2, at='b', server_group='g')
    groups = (('g', ANTI_AFFINITY, 1),)
    hosts = [host('a'), host('b'), host('c', 2), host('d', 0)]
    plan = drain(hosts, *pair, groups=groups, hosts=('a', 'b'))
    assert [each.target for each in plan.moves] == ['c']
    (why,) = plan.blocked
    assert (why.code, next(iter(why.hosts))) == ('server_group.host_full', 'c')


def test_the_resource_that_leaves_a_server_over_is_named():
    plan = drain([host('a'), host('b', 1)], server(1), server(2))
    assert [(each.server.name, each.code) for each in plan.blocked] == [
        (plan.not_found[0].name, 'resources.exhausted')
    ]


def test_the_last_member_of_an_affinity_group_follows_the_others():
    pair = server(1, server_group='g'), server(2, at='c', server_group='g')
    hosts = [host('a'), host('b'), host('c', used=7)]
    plan = drain(hosts, *pair, groups=(('g', AFFINITY, None),))
    assert [(each.server.name, each.target) for each in plan.moves] == [('s1', 'c')]
    assert plan.fits is True


def test_even_a_lone_member_of_an_affinity_group_is_stuck():
    lone = server(1, server_group='g')
    plan = drain([host('a'), host('b')], lone, groups=(('g', AFFINITY, None),))
    assert codes(plan) == [('s1', 'server_group.other_host')]
    (remedy,) = plan.stuck[0].remedies
    assert remedy.text == 'shelve and offload it, then unshelve it to b'


def test_an_affinity_group_is_stuck_and_can_be_shelved_as_a_whole():
    pair = [server(1, LARGE, server_group='g'), server(2, server_group='g')]
    hosts = [host('a'), host('b', 4), host('c', 5)]
    plan = drain(hosts, *pair, groups=(('g', AFFINITY, None),))
    assert codes(plan) == [(name, 'server_group.other_host') for name in ('s1', 's2')]
    (remedy,) = plan.stuck[0].remedies
    assert remedy.code == 'whole_group'
    assert remedy.data == {'server_group': 'g', 'servers': [uuid(1), uuid(2)]}
    assert 'the first to c' in remedy.text
    nowhere = drain(hosts[:2], *pair, groups=(('g', AFFINITY, None),))
    assert remedies(nowhere) == [[], []]


def test_a_server_that_moves_already_is_stuck():
    plan = drain([host('a'), host('b')], server(1, task_state='migrating'), server(2))
    assert codes(plan) == [('s1', 'move.busy')]
    assert [name for name, *_rest in moves(plan)] == ['s2']
    assert plan.line() == '1 of 2 servers moves in 1 wave; 1 is stuck'
    assert plan.stuck[0].hosts == {}


def test_a_pinned_server_is_stuck_in_its_zone_and_could_be_unpinned():
    hosts = [host('a'), host('b', zone='az-2')]
    plan = drain(hosts, server(1, pinned_zone='az-1'))
    assert codes(plan) == [('s1', 'availability_zone.other_zone')]
    assert plan.stuck[0].hosts == {'b': 'availability_zone.other_zone'}
    assert remedies(plan) == [['unpin', 'one_more_host']]
    assert plan.stuck[0].remedies[0].text == 'unpin it from zone az-1 (compute API 2.104)'
    assert 'az-2' in plan.stuck[0].reason


def test_an_older_nova_cannot_unpin_a_server(monkeypatch):
    monkeypatch.setattr('senlin_affinity.nova.moves.may_unpin', lambda cloud: False)
    plan = drain([host('a'), host('b', zone='az-2')], server(1, pinned_zone='az-1'))
    assert remedies(plan) == [['one_more_host']]


def test_the_reason_is_that_of_the_host_that_is_the_closest_to_being_suitable():
    others = [host(name, zone='az-2') for name in 'cd']
    plan = drain([host('a'), *others, host('b', used=8)], server(1, pinned_zone='az-1'))
    assert codes(plan) == [('s1', 'resources.exhausted')]
    of_others = dict.fromkeys('cd', 'availability_zone.other_zone')
    assert [*plan.stuck[0].hosts.items()] == [('b', 'resources.exhausted'), *of_others.items()]


def test_one_more_host_helps_if_the_others_are_full():
    plan = drain([host('a'), host('b', used=8)], server(1))
    assert codes(plan) == [('s1', 'resources.exhausted')]
    (remedy,) = plan.stuck[0].remedies
    assert (remedy.code, remedy.text) == ('one_more_host', 'add a host like a')
    too_large = drain([host('a', 2), host('b', used=8)], server(1, LARGE))
    assert remedies(too_large) == [[]]


def test_a_server_that_only_an_unspecified_filter_rejects_is_not_certain():
    tenant = replace(ZONES['az-1'], metadata={'filter_tenant_id': 'other'})
    cloud = view([host('a'), host('b')], server(1, project_id='own'))
    cloud = structs.replace(cloud, aggregates=(tenant,))
    plan = api.drain(['a'], cloud)
    assert plan.fits is None
    (move,) = plan.moves
    assert 'AggregateMultiTenancyIsolation' in move.caveats[0]
    assert not move.is_certain


def test_a_host_of_which_the_resources_are_not_known_is_no_proof():
    plan = drain([host('a'), replace(host('b'), resources=None)], server(1))
    assert (plan.fits, plan.stuck) == (None, ())
    assert plan.line() == '0 of 1 server moves; no target was found for 1'


def in_pool(used, capacity=10):
    pooled = Resource(capacity, used, capacity, pool=POOL)
    return pooled, {POOL: {'DISK_GB': replace(pooled, pool=None)}}


def test_a_move_waits_for_what_another_one_frees_in_a_shared_pool():
    disk, pools = in_pool(8)
    flavor = replace(SMALL, disk=2)
    hosts = [host('a', disk=disk), host('b', disk=disk)]
    plan = drain(hosts, server(1, flavor), server(2, flavor), pools=pools)
    assert [each.wave for each in plan.moves] == [1, 2]
    assert plan.fits is True


def test_a_full_pool_is_stuck_as_both_hosts_hold_the_disk():
    disk, pools = in_pool(9)
    flavor = replace(SMALL, disk=2)
    hosts = [host('a', disk=disk), host('b', disk=disk)]
    assert codes(drain(hosts, server(1, flavor), pools=pools)) == [('s1', 'resources.exhausted')]


def test_servers_that_hints_name_move_first():
    first, second = server(1), server(2, hints={'same_host': [uuid(1)]})
    plan = drain([host('a'), host('b'), host('c')], second, first, filters=HINTS)
    assert [(each.server.name, each.wave) for each in plan.moves] == [('s1', 1), ('s2', 2)]
    assert len({each.target for each in plan.moves}) == 1
    apart = server(2, hints={'different_host': uuid(1)})
    plan = drain([host('a'), host('b')], first, apart, filters=HINTS)
    assert [(each.server.name, each.wave) for each in plan.moves] == [('s2', 1), ('s1', 2)]


def test_no_order_moves_servers_that_exclude_each_other():
    both = [server(each, hints={'different_host': uuid(3 - each)}) for each in (1, 2)]
    plan = drain([host('a'), host('b')], *both, filters=HINTS)
    assert (len(plan.moves), plan.is_proven) == (1, True)


def test_equal_servers_are_placed_as_one_request():
    plan = drain([host('a'), host('b', 4), host('c', 4)], *(server(each) for each in range(8)))
    assert plan.fits is True
    assert sorted(each.target for each in plan.moves) == [*'bbbbcccc']


def test_a_plan_is_plain_and_says_everything_in_json():
    hosts = [host('a'), host('b')]
    plan = drain(hosts, server(1), server(2, task_state='migrating'))
    assert pickle.loads(pickle.dumps(plan)) == plan
    found = json.loads(json.dumps(plan.as_dict()))
    assert found['format'] == 1
    assert (found['fits'], found['waves'], found['hosts']) == (False, 1, ['a'])
    assert found['moves'][0]['target'] == 'b'
    assert found['stuck'][0]['code'] == 'move.busy'
    assert found['not_found'] == []


@pytest.mark.parametrize(
    ('plan', 'fits', 'line'),
    [
        (DrainPlan(('a',)), True, 'no servers to move'),
        (
            DrainPlan(('a',), (Move(server(1), 'live', 'b', 'b', 2),), (), (server(2), server(3))),
            None,
            '1 of 3 servers moves in 2 waves; no target was found for 2',
        ),
        (
            DrainPlan(('a',), (Move(server(1), 'live', 'b', 'b', caveats=('x',)),)),
            None,
            '1 of 1 server moves in 1 wave',
        ),
        (DrainPlan(('a',), not_found=(server(1),), is_proven=True), False, ONE_LEFT),
    ],
    ids=['empty', 'left', 'uncertain', 'one'],
)
def test_the_line_counts_the_servers(plan, fits, line):
    assert (plan.fits, plan.line()) == (fits, line)


def test_unknown_hosts_and_parts_are_named():
    cloud = view([host('cmp-1'), host('cmp-2')])
    with pytest.raises(InvalidSpec, match="hosts: there is no host 'cmp-3'"):
        api.drain(['cmp-3'], cloud)
    with pytest.raises(InvalidSpec, match='targets: there is no host'):
        api.drain(['cmp-1'], cloud, targets=['x'])
    unread = structs.replace(cloud, servers_by_host={})
    with pytest.raises(CloudError, match='the servers of host cmp-1 were not read'):
        api.drain(['cmp-1'], unread)
    with pytest.raises(CloudError, match='the hosts are not known'):
        api.drain(['cmp-1'], Cloud())
