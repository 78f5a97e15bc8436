"""A change as plain data is applied to a request."""

import pytest

from senlin_affinity.engine import new_hosts
from senlin_affinity.engine.changes import carry_out
from senlin_affinity.engine.resolution import resolve_member_of
from senlin_affinity.model.cloud import Cloud, Quota
from senlin_affinity.model.host import CandidateCapacity, Host, Leftover, Resource
from senlin_affinity.model.image import Image
from senlin_affinity.model.member_of import CanonicalUuids, MemberOf
from senlin_affinity.model.request import Request
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.spread import Spread
from senlin_affinity.model.value import Texts
from senlin_affinity.scenario.scenario import Scenario
from tests.support.asked import resolve
from tests.support.small_cloud import GROUP, host_of, request_of, rules_of, snapshot_of
from tests.support.values import replace

ROW = {
    'hosts': {'cmp-1': {'traits': ['CUSTOM_A']}, 'cmp-2': {'disabled': True, 'down': True}},
    'aggregates': {'ssd': {}, 'zone': {'zone': 'az-1'}},
    'flavor': {'extra_specs': {'a': '1', 'b': '2'}},
    'flavors': {'tiny': {'ram': 1}},
    'group': {'policy': 'anti-affinity', 'members': ['cmp-1', 'new-1'], 'project': 'ours'},
    'quotas': {'instances': [5, 1], 'cores': [9, 1]},
    'rules': {'drs_pattern': 'x'},
    'request': {'count': 2, 'availability_zone': 'nova', 'image_properties': {'a': '1', 'b': '2'}},
}


@pytest.fixture
def before():
    return resolve(request_of(ROW), snapshot_of(ROW), rules_of(ROW))


def hosts_after(before, data):
    """Return the hosts that a change adds or modifies; nothing else may change."""
    after = before.changed(data)
    cloud = replace(after.cloud, hosts=before.cloud.hosts)
    assert after.but(cloud=cloud) == before
    return [host for host in after.cloud.hosts if host not in before.cloud.hosts]


ONE, TWO = (host_of(name, given) for name, given in ROW['hosts'].items())


@pytest.mark.parametrize(
    ('data', 'changed'),
    [
        ({'enabled_hosts': ['cmp-2']}, [TWO.but(enabled=True)]),
        ({'started_hosts': ['cmp-2']}, [TWO.but(up=True)]),
        (
            {'enabled_hosts': ['cmp-2'], 'started_hosts': ['cmp-2']},
            [TWO.but(enabled=True, up=True)],
        ),
        (
            {'host_traits': {'traits': ['CUSTOM_B'], 'hosts': ['cmp-1']}},
            [ONE.but(traits=frozenset({'CUSTOM_A', 'CUSTOM_B'}))],
        ),
        (
            {'aggregate_hosts': {'aggregate': {'name': 'ssd', 'uuid': 'ssd'}, 'hosts': ['cmp-1']}},
            [ONE.but(aggregates=frozenset({'ssd'}))],
        ),
        (
            {
                'aggregate_hosts': {
                    'aggregate': {'name': 'zone', 'uuid': 'zone'},
                    'hosts': ['cmp-1'],
                }
            },
            [ONE.but(aggregates=frozenset({'zone'}), availability_zone='az-1')],
        ),
    ],
)
def test_hosts_change(before, data, changed):
    assert hosts_after(before, data) == changed


NEW = {
    'name': 'new',
    'hypervisor_hostname': 'new-hv',
    'availability_zone': 'az-1',
    'aggregates': [{'name': 'ssd', 'uuid': 'ssd'}],
    'traits': ['CUSTOM_A'],
    'amounts': {'VCPU': 64, 'DISK_GB': 9},
}


@pytest.mark.parametrize(
    ('described', 'more'),
    [
        (
            {},
            {'resources': {'VCPU': Resource(64, 0), 'DISK_GB': Resource(9, 0)}},
        ),
        (
            {
                'hypervisor_type': 'QEMU',
                'units': {'VCPU': {'max_unit': 16}},
                'is_nested': True,
                'is_partial': True,
            },
            {
                'hypervisor_type': 'QEMU',
                'resources': {'VCPU': Resource(64, 0, max_unit=16), 'DISK_GB': Resource(9, 0)},
                'is_nested': True,
                'is_partial': True,
            },
        ),
    ],
)
def test_new_hosts_have_unused_names(before, described, more):
    """A member is on new-1, which is not known."""
    new = Host(
        'new-2',
        'new-hv',
        **{'hypervisor_type': '', **more},
        availability_zone='az-1',
        aggregates=frozenset({'ssd'}),
        traits=frozenset({'CUSTOM_A'}),
        servers=0,
    )
    data = {'new_hosts': {'number': 2, **NEW, **described}}
    assert hosts_after(before, data) == [new, new.but(host='new-3')]


def test_a_new_host_has_every_field_of_the_host_that_is_copied():
    """But for its names, and for what depends on its servers and on its past."""
    old = Host(
        'old',
        'old-node',
        'QEMU',
        'az-1',
        enabled=False,
        up=False,
        aggregates=CanonicalUuids(['5bbcc3c4-1da2-4437-a48a-000000000000']),
        traits=Texts(['CUSTOM_A']),
        resources={'VCPU': Resource(64, 8, 16, 2, is_sum=True, reserved=4)},
        is_nested=True,
        is_partial=True,
        grants=(CandidateCapacity('query', 1, 1),),
        servers=3,
        unmirrored=CanonicalUuids(['6bbcc3c4-1da2-4437-a48a-000000000000']),
        stale_aggregates=CanonicalUuids(['7bbcc3c4-1da2-4437-a48a-000000000000']),
        disabled_reason='repair',
        leftovers=(Leftover('consumer', {}),),
    )
    plain = Host('plain')
    fields = Host.__struct_fields__
    assert all(getattr(old, name) != getattr(plain, name) for name in fields), 'add a value'
    data = {'number': 1, **new_hosts.described(new_hosts.empty(old), Cloud())}
    nothing = Scenario.of(Cloud(hosts=()))
    (new,) = carry_out({'new_hosts': data}, Request(1), nothing)[1].hosts
    assert {name for name in fields if getattr(new, name) != getattr(old, name)} == {
        *('host', 'hypervisor_hostname', 'enabled', 'up', 'disabled_reason', 'resources'),
        *('grants', 'servers', 'unmirrored', 'stale_aggregates', 'leftovers'),
    }
    assert new.resources == {'VCPU': replace(old.resources['VCPU'], used=0)}


@pytest.mark.parametrize(
    ('data', 'fields'),
    [
        ({'availability_zone': None}, {'availability_zone': None}),
        ({'enable_drs_extension': True}, {'is_drs_required': True}),
        (
            {'spread': [{'by': 'rack', 'max_skew': 2, 'mode': 'soft'}]},
            {'spread': (Spread('rack', 2, mode='soft'),)},
        ),
        ({'removed_image_properties': ['a', 'x']}, {'image_properties': {'b': '2'}}),
    ],
)
def test_the_request_changes(before, data, fields):
    after = before.changed(data)
    assert after == before.but(**fields)


def test_properties_are_removed_from_the_image(before):
    image = Image('i', properties={'a': '1', 'b': '2'})
    after = before.but(image=image).changed({'removed_image_properties': ['a']})
    assert after.request.image == Image('i', properties={'b': '2'})
    unknown = before.but(image_properties=None)
    after = unknown.changed({'removed_image_properties': ['a']})
    assert (after.request.image, after.request.image_properties) == (None, {})


def test_the_expressions_about_aggregates_change(before):
    after = before.changed({'member_of': ['ssd']})
    assert after.request.member_of_text == ('ssd',)
    assert after.request.member_of == resolve_member_of(('ssd',), before.cloud)
    assert after.changed({'member_of': []}).request.member_of == MemberOf()


def test_the_flavor_changes(before):
    after = before.changed({'flavor': {'id': 'tiny', 'name': 'tiny'}})
    assert after.request.flavor == before.cloud.flavors[1]
    after = before.changed({'removed_extra_specs': ['a', 'x']})
    assert after.request.flavor == replace(before.request.flavor, id='', extra_specs={'b': '2'})
    unknown = before.but(flavor=None)
    assert unknown.changed({'removed_extra_specs': ['a']}) == unknown


@pytest.mark.parametrize(('given', 'project'), [({}, 'ours'), ({'project_id': 'their'}, 'their')])
def test_a_new_group_has_no_servers(before, given, project):
    data = {'name': 'web-2', 'policy': 'affinity', 'rules': {}, **given}
    after = before.changed({'server_group': data})
    assert before.request.server_group.name == GROUP
    assert after.request.server_group == ServerGroup(
        'web-2', 'web-2', 'affinity', project_id=project
    )
    without = before.but(server_group=None).changed({'server_group': data})
    assert without.request.server_group.project_id == given.get('project_id')


def test_quotas_of_the_project_and_the_user_are_raised(before):
    quotas = {**before.cloud.quotas, 'instances': Quota(5, 1, of_user=Quota(3, 1))}
    asked = before.but(cloud=replace(before.cloud, quotas=quotas))
    data = {'limits': {'instances': 7}, 'user_limits': {'instances': 6, 'cores': 8}}
    after = asked.changed({'quotas': data})
    assert after.cloud.quotas == {
        'instances': Quota(7, 1, of_user=Quota(6, 1)),
        'cores': Quota(9, 1),
    }
    after = asked.changed({'quotas': {'limits': {'cores': 10}}})
    assert after.cloud.quotas == {**quotas, 'cores': Quota(10, 1)}


@pytest.mark.parametrize(
    ('data', 'fields'),
    [
        ({'given_up': ['fence', 'traits']}, {'waived': frozenset({'old', 'fence', 'traits'})}),
        ({'options': {'a': 1}}, {'options': {'drs_pattern': 'x', 'a': 1}}),
    ],
)
def test_the_settings_change(before, data, fields):
    asked = before.with_settings(waived=frozenset({'old'}))
    after = asked.changed(data)
    assert after == asked.with_settings(**fields)
