"""The policy reads the flavor, image, zone, hints and metadata of a cluster's profile."""

import pytest

from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.spread import Spread
from senlin_affinity.policy import profile
from tests.support.tables import rows


@pytest.mark.parametrize('row', rows('policy_profile'))
def test_the_group_hint_is_read(row):
    assert profile.group_hint(row['spec']) == row['hint']


@pytest.mark.parametrize(
    ('properties', 'name'),
    [
        ({'flavor': 'm1.tiny'}, 'm1.tiny'),
        ({'flavor': 1}, '1'),
        ({'flavor': ''}, None),
        (None, None),
    ],
)
def test_the_flavor_is_a_name_or_none(properties, name):
    assert profile.flavor({'properties': properties}) == name


@pytest.mark.parametrize(
    ('spec', 'items'),
    [
        ({'properties': {'metadata': {'role': 'web', 'tier': '1'}}}, 5),
        ({'properties': {'metadata': {'cluster_id': 'x', 'role': 'web'}}}, 4),
        ({'properties': {}}, 3),
        ({'properties': {'metadata': None}}, 3),
        ({}, 0),
    ],
)
def test_metadata_items_include_those_of_senlin(spec, items):
    """Senlin adds the ids of the cluster and the node, and the index of the node."""
    assert profile.metadata_items(spec) == items


@pytest.mark.parametrize('version', ['1.0', 1.0])
def test_a_server_profile_is_applicable(version):
    spec = {'type': 'os.nova.server', 'version': version, 'properties': {}}
    assert profile.check_applicable(spec) is spec


@pytest.mark.parametrize(
    ('kind', 'hint'),
    [('os.heat.stack', ''), ('senlin.policy.affinity', ' (this is the spec of a policy)')],
)
def test_another_profile_type_is_not_applicable(kind, hint):
    """R3-02: the message of Senlin's base class."""
    with pytest.raises(InvalidSpec) as caught:
        profile.check_applicable({'type': kind, 'version': '1.0', 'properties': {}})
    assert str(caught.value) == f'type: Policy not applicable on profile type: {kind}-1.0{hint}'


@pytest.mark.parametrize('spec', [None, [], {}, {'type': 'os.nova.server'}, {'version': '1.0'}])
def test_a_value_that_is_not_a_profile_is_rejected(spec):
    with pytest.raises(InvalidSpec, match='a profile spec must be a mapping'):
        profile.check_applicable(spec)


@pytest.mark.parametrize('group', [['a', 'b'], 5, {'name': 'web'}, [7]])
def test_a_group_hint_of_the_wrong_type_is_rejected(group):
    spec = {'properties': {'scheduler_hints': {'group': group}}}
    with pytest.raises(InvalidSpec, match=r'^properties\.scheduler_hints\.group: must be the name'):
        profile.group_hint(spec)


@pytest.mark.parametrize(
    ('spec', 'hints'),
    [
        ({}, {}),
        ({'properties': {'scheduler_hints': None}}, {}),
        ({'properties': {'scheduler_hints': {'query': '[]'}}}, {'query': '[]'}),
        ({'scheduler_hints': {'a': 1, 'b': 2}, 'properties': {'scheduler_hints': {'b': 3}}},
         {'a': 1, 'b': 3}),
    ],
    ids=['none', 'null', 'in the properties', 'in both places'],
)  # fmt: skip
def test_scheduler_hints_in_the_properties_take_precedence(spec, hints):
    assert profile.scheduler_hints(spec) == hints


@pytest.mark.parametrize(
    ('given', 'zone'),
    [(None, None), ('', None), ('az1', 'az1'), ('az1:cmp-1', 'az1:cmp-1'), (7, None)],
)
def test_the_zone_is_read_with_the_host(given, zone):
    assert profile.availability_zone({'properties': {'availability_zone': given}}) == zone


def device(**more):
    return {'properties': {'block_device_mapping_v2': [{'boot_index': 0, 'uuid': 'x', **more}]}}


@pytest.mark.parametrize(
    ('spec', 'image', 'is_volume_booted'),
    [
        ({'properties': {'image': 'cirros'}}, 'cirros', False),
        ({'properties': {'image': ''}}, None, False),
        ({}, None, False),
        (device(source_type='image', uuid=''), None, False),
        (device(source_type='image', destination_type='volume'), 'x', True),
        (device(source_type='image', destination_type='local'), 'x', False),
        (device(source_type='volume', destination_type='volume'), None, True),
        (device(source_type='volume'), None, True),
        (device(source_type='snapshot'), None, True),
        (device(source_type='image', destination_type='volume', boot_index='0'), 'x', True),
        (device(source_type='volume', boot_index=1), None, False),
        ({'properties': {'block_device_mapping': [{'device_name': 'vda'}]}}, None, True),
        ({'properties': {'image': 'cirros', 'block_device_mapping': []}}, 'cirros', False),
        ({'properties': {'image': 'cirros', 'block_device_mapping_v2': []}}, 'cirros', False),
        ({'properties': {'image': 'cirros', 'block_device_mapping': None}}, 'cirros', False),
        ({'properties': {'block_device_mapping_v2': 'odd'}}, None, False),
        ({'properties': {'block_device_mapping_v2': ['odd']}}, None, False),
    ],
)
def test_the_image_and_the_kind_of_root_disk_are_read(spec, image, is_volume_booted):
    assert profile.image(spec) == image
    assert profile.is_volume_booted(spec) == is_volume_booted


VOLUME = {'boot_index': 0, 'source_type': 'image', 'destination_type': 'volume'}


@pytest.mark.parametrize(
    ('by', 'devices', 'is_zone_noted', 'is_volume'),
    [
        ('availability_zone', [], True, False),
        ('availability_zone', [VOLUME], True, True),
        ('rack', [VOLUME], False, False),
        (None, [VOLUME], False, False),
    ],
)
def test_a_spread_over_zones_has_notes(by, devices, is_zone_noted, is_volume):
    spec = {'properties': {'block_device_mapping_v2': devices}}
    note = profile.zone_note(spec, (Spread(by),) if by else ())
    assert ('cannot leave the zone' in (note or ''), 'cross_az_attach' in (note or '')) == (
        is_zone_noted,
        is_volume,
    )


def test_servers_that_are_spread_over_zones_have_no_zone_in_the_profile():
    spec = {'properties': {'availability_zone': 'az-1'}}
    racks, zones = Spread('rack'), Spread('availability_zone')
    profile.check_zone(spec, (racks,))
    profile.check_zone({'properties': {}}, (zones,))
    with pytest.raises(InvalidSpec, match="zone: the profile names 'az-1'"):
        profile.check_zone(spec, (racks, zones))
