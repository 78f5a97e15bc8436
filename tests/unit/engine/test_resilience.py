"""Losses of hosts and zones: the verdicts, the servers that are left, and what is missing."""

import json
import pickle

import numpy as np
import pytest
from msgspec import structs

from senlin_affinity import api
from senlin_affinity.engine.evacuation_proofs import obstacles
from senlin_affinity.engine.workload_bounds import Need
from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.model.host import Resource
from senlin_affinity.model.server_group import AFFINITY, ANTI_AFFINITY, SOFT_AFFINITY
from senlin_affinity.nova import moves
from senlin_affinity.scenario.scenario import Scenario
from tests.support.values import replace
from tests.unit.engine.test_drain import LARGE, SMALL, ZONES, host, server, uuid, view


def losses(*cloud, by='host', **parts):
    return {each.name: each for each in api.resilience(view(*cloud, **parts), by).losses}


def verdicts(*cloud, **parts):
    return {name: each.verdict for name, each in losses(*cloud, **parts).items()}


def test_the_largest_flavor_fits_as_often_as_there_are_servers():
    hosts = [host('a'), host('b', 4), host('c', 4)]
    assert verdicts(hosts, server(1, LARGE), server(2))['a'] == 'any_host'
    assert verdicts(hosts, server(1, LARGE), server(2), server(3))['a'] == 'in_order'


def test_the_volume_of_the_others_closes_too_few_hosts():
    """Each of the large hosts takes one large server; eleven small ones close two of six."""
    hosts = [host('a', 16), *(host(name, 6) for name in 'bcdefghijklmnopqrstuvwxyz')]
    small = [server(number) for number in range(2, 13)]
    found = losses(hosts, server(1, LARGE), *small)['a']
    assert (found.verdict, found.anywhere, found.plan.moves) == ('any_host', 12, ())


def test_only_the_servers_without_a_proof_are_evacuated_first():
    hosts = [host('a'), host('b', 4), *(host(name, 3) for name in 'cdefgh')]
    found = losses(hosts, server(1, LARGE), server(2), server(3))['a']
    assert [(each.server.name, each.target) for each in found.plan.moves] == [('s1', 'b')]
    assert (found.verdict, found.anywhere) == ('in_order', 2)
    assert found.first == found.plan.moves
    found = losses(hosts, server(1, LARGE), server(2), server(3), server(4, status='PAUSED'))['a']
    assert (found.verdict, bool(found.plan.moves), found.first) == ('cannot', True, ())
    assert found.line() == 'cannot be lost: 1 of 4 servers is left'


def test_a_member_of_a_group_is_closed_out_by_its_mates():
    groups = [('g', ANTI_AFFINITY, 1)]
    grouped = [server(number, at=at, server_group='g') for number, at in ((1, 'a'), (2, 'b'))]
    assert verdicts([host('a'), host('b')], *grouped, groups=groups)['a'] == 'cannot'
    found = losses([host('a'), host('b'), host('c')], *grouped, groups=groups)
    assert {name: each.verdict for name, each in found.items()} == dict.fromkeys('abc', 'any_host')


def test_an_affinity_group_follows_its_other_members_only():
    groups = [('g', AFFINITY, None)]
    hosts = [host('a'), host('b'), host('c')]
    alone = losses(hosts, server(1, server_group='g'), groups=groups)['a']
    assert [each.code for each in alone.plan.stuck] == ['server_group.other_host']
    pair = [server(1, server_group='g'), server(2, at='b', server_group='g')]
    found = losses(hosts, *pair, groups=groups)['a']
    assert [each.target for each in found.plan.moves] == ['b']


def test_a_soft_policy_rejects_nothing():
    one = server(1, server_group='g')
    assert verdicts([host('a'), host('b')], one, groups=[('g', SOFT_AFFINITY, None)])['a'] == (
        'any_host'
    )


@pytest.mark.parametrize('status', ['PAUSED', 'SUSPENDED', 'RESCUE'])
def test_a_server_that_nova_does_not_evacuate_is_left(status):
    found = losses([host('a'), host('b')], server(1, status=status), server(2))['a']
    assert (found.verdict, found.left, found.missing) == ('cannot', 1, ())
    assert found.plan.stuck[0].code == 'move.status'


def test_a_sum_proves_that_a_zone_cannot_be_lost():
    hosts = [host('a'), host('b'), host('c', 4, zone='az-2')]
    servers = [server(number, at='ab'[number % 2]) for number in range(6)]
    found = losses(hosts, *servers, by='zone')
    assert found['az-1'].verdict == 'cannot'
    assert found['az-1'].lacks() == 'at least 2 VCPU in az-2; 1 more host like c'
    assert found['az-2'].verdict == 'any_host'


def test_the_smallest_number_of_hosts_is_missing():
    hosts = [host('a', 4), host('b', 4), host('c', 4), host('d', 4, 4, zone='az-2')]
    servers = [server(number, LARGE, at='abc'[number]) for number in range(3)]
    (hosts_missing,) = (
        each for each in losses(hosts, *servers, by='zone')['az-1'].missing if each.code != 'amount'
    )
    assert hosts_missing.data == {'like': 'd', 'number': 3}


def test_pinned_servers_stay_in_their_zone():
    hosts = [host('a'), host('b', zone='az-2')]
    assert verdicts(hosts, server(1), by='zone')['az-1'] == 'any_host'
    pinned = server(1, pinned_zone='az-1')
    assert verdicts(hosts, pinned, by='zone')['az-1'] == 'cannot'


def test_a_reason_is_about_a_host_not_about_the_server():
    pinned = server(1, pinned_zone='az-1')
    found = losses([host('a'), host('b', zone='az-2')], pinned, by='zone')['az-1']
    assert found.why() == 's1: host b is rejected: in zone az-2, not az-1'
    grouped = [server(number, at=at, server_group='g') for number, at in ((1, 'a'), (2, 'b'))]
    found = losses([host('a'), host('b')], *grouped, groups=[('g', ANTI_AFFINITY, 1)])['a']
    assert found.why() == (
        's1: host b is rejected: holds 1 server of group g, max_server_per_host is 1'
    )
    found = losses([host('a'), host('b')], server(1, status='PAUSED'))['a']
    assert found.why().startswith('s1: ')
    assert 'host b' not in found.why()


@pytest.mark.parametrize(
    ('number', 'text'),
    [
        (1, '1 server of small needs a suitable host; such hosts have room for 0'),
        (3, '3 servers of small need a suitable host; such hosts have room for 1'),
    ],
)
def test_an_obstacle_agrees_with_its_number(number, text):
    hosts = np.array([number > 1])
    need = Need('small', number, hosts * 1, {}, {})
    (found,) = obstacles([need], Scenario.of(view([host('a')])))
    assert found.text == text


def racked(by_rack, *servers):
    """Return the losses of racks, each with hosts of one or two zones."""
    racks = [
        Aggregate(uuid(90 + at), name, metadata={'rack': name}) for at, name in enumerate(by_rack)
    ]
    hosts = [
        replace(each, aggregates=each.aggregates | {rack.uuid})
        for rack, own in zip(racks, by_rack.values(), strict=True)
        for each in own
    ]
    found = view(hosts, *servers)
    found = structs.replace(found, aggregates=(*found.aggregates, *racks))
    return {each.name: each for each in api.resilience(found, 'rack').losses}


def test_no_host_of_a_lost_zone_is_proposed():
    hosts = [host('a'), host('b', 1, 1, zone='az-2')]
    found = losses(hosts, server(1), server(2), by='zone')['az-1']
    assert found.lacks() == '2 more hosts like b'
    assert losses([host('a'), host('b')], server(1), by='zone')['az-1'].missing == ()


def test_pinned_servers_of_a_lost_zone_are_unpinned():
    pinned = [server(number, pinned_zone='az-1') for number in (1, 2)]
    unpin = 'unpin 2 servers from zone az-1 (compute API 2.104)'
    found = losses([host('a'), host('b', zone='az-2')], *pinned, by='zone')['az-1']
    assert found.lacks() == unpin
    assert found.missing[0].data == {'zone': 'az-1', 'servers': [uuid(1), uuid(2)]}
    found = losses([host('a'), host('b', 1, zone='az-2')], *pinned, by='zone')['az-1']
    assert found.lacks() == f'{unpin}; 1 more host like b'
    assert losses([host('a')], *pinned, by='zone')['az-1'].missing == ()
    alone = losses([host('a'), host('b', zone='az-2')], *pinned, by='host')['a']
    assert alone.lacks() == '1 more host like a'


def test_an_older_nova_cannot_unpin_servers(monkeypatch):
    monkeypatch.setattr(moves, 'may_unpin', lambda cloud: False)
    hosts = [host('a'), host('b', zone='az-2')]
    assert losses(hosts, server(1, pinned_zone='az-1'), by='zone')['az-1'].missing == ()


def test_a_new_host_is_in_no_lost_rack():
    full = host('b', 2, 2)
    found = racked({'r1': [host('a')], 'r2': [full, host('c', 9, 9, zone='az-2')]}, server(1))
    assert found['r1'].lacks().endswith('1 more host like c')
    pinned = server(1, pinned_zone='az-1')
    found = racked({'r1': [host('a')], 'r2': [full, host('c', 9, 9, zone='az-2')]}, pinned)
    assert found['r1'].lacks() == '1 more host like b'


def test_a_new_host_is_in_the_zone_where_resources_are_missing():
    hosts = {'r1': [host('a', 4), host('d', 4, zone='az-2')], 'r2': [host('b', 16, 12)]}
    hosts['r3'] = [host('c', 4, 3, zone='az-2')]
    pinned = [server(number, at='d', pinned_zone='az-2') for number in (1, 2)]
    found = racked(hosts, *pinned, server(3))
    assert found['r1'].lacks() == 'at least 1 VCPU in az-2; 1 more host like c'


@pytest.mark.parametrize('by', ['zone', 'aggregate'])
def test_a_new_host_is_one_that_takes_the_servers(by):
    """The largest host lacks what the server needs."""
    gpu = {'VGPU': Resource(1, 0, 1)}
    hosts = [host('a'), host('b', 64, zone='az-2'), host('c', 4, zone='az-2')]
    hosts = [
        replace(each, resources=each.resources | gpu) if each.host in 'ac' else each
        for each in hosts
    ]
    hosts[2] = replace(hosts[2], resources=hosts[2].resources | {'VGPU': Resource(1, 1, 1)})
    wanted = replace(SMALL, extra_specs={'resources:VGPU': '1'})
    found = losses(hosts, server(1, wanted), by=by)['az-1']
    assert found.lacks().endswith('1 more host like c')


def test_what_nova_does_not_show_makes_a_verdict_at_most():
    found = losses([host('a'), host('b')], server(1, unknown=('pinned_zone',)))['a']
    assert (found.verdict, found.fits) == ('at_most', None)
    assert found.caveats == ('the zone that the server is pinned to',)


def test_hosts_without_the_key_are_in_no_domain():
    racks = [
        replace(each, metadata={'rack': 'r1'} if name == 'az-1' else {})
        for name, each in ZONES.items()
    ]
    found = view([host('a'), host('b', zone='az-2')], server(1))
    found = structs.replace(found, aggregates=(*racks,))
    losses = api.resilience(found, 'rack').losses
    assert [(each.name, each.hosts) for each in losses] == [('r1', ('a',))]


@pytest.mark.parametrize('by', ['host', 'zone', 'aggregate'])
def test_a_cloud_without_hosts_has_no_domain(by):
    found = api.resilience(view([]), by)
    assert (found.losses, found.line()) == ((), f'there is no domain ({by})')


def test_the_sum_names_what_is_not_known():
    found = api.resilience(view([host('a'), host('b', 0)], server(1)), 'host')
    assert found.line() == 'of 2 domains (host), 1 cannot be lost; 1 can be lost'
    assert (found.fits, found.counts()['cannot']) == (False, 1)


def test_the_answer_is_json_and_can_be_pickled():
    found = api.resilience(view([host('a'), host('b', 0)], server(1)), 'host')
    assert pickle.loads(pickle.dumps(found)) == found
    (first, _second) = json.loads(json.dumps(found.as_dict()))['domains']
    assert (first['domain'], first['verdict'], first['servers']) == ('a', 'cannot', 1)


def test_unknown_servers_and_keys_are_errors():
    known = view([host('a'), host('b')], server(1))
    with pytest.raises(InvalidSpec, match='no aggregate has the metadata key'):
        api.resilience(known, 'rack')
    hidden = structs.replace(known, servers_by_host={})
    with pytest.raises(CloudError, match='servers of host a were not read'):
        api.resilience(hidden, 'host')
