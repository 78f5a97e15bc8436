"""Make random clouds with a question for the recorded plans; a seed determines the case.

Shapes: ``make(7) == {'name': 'case 7', 'question': {...}, 'snapshot': {...}}``, plain JSON values:
the question has the fields of :class:`senlin_affinity.api.Question`, the snapshot is a file of
format 1.

Units: those of a snapshot's file.
"""

from __future__ import annotations

import random
from typing import Any
from uuid import UUID

from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.scheduler_hints import OF_SERVERS

_PROJECTS = ('ours', 'theirs')
_FLAVORS = ('asked', 'small', 'large')
_OPTIONAL = (
    'AggregateInstanceExtraSpecsFilter',
    'AggregateInstanceTypeFilter',
    'AggregateMultiTenancyIsolation',
    'AggregateTypeAffinityFilter',
    'AggregateImagePropertiesIsolation',
    'IsolatedHostsFilter',
    'AggregateNumInstancesFilter',
    'NumInstancesFilter',
    'ImagePropertiesFilter',
    'RackFilter',
)
#: Metadata of aggregates, each with the extra specs of a flavor that ask for it.
_METADATA = (
    ({'ssd': 'true'}, {'aggregate_instance_extra_specs:ssd': 'true'}),
    ({'ssd': 'false'}, {'ssd': 'true'}),
    ({'filter_tenant_id': 'ours'}, {}),
    ({'filter_tenant_id': 'theirs'}, {}),
    ({'instance_type': 'asked'}, {}),
    ({'instance_type': 'small'}, {}),
    ({'os_distro': 'linux'}, {}),
    ({'reservation:a': '1'}, {'reservation:a': '1'}),
    ({'reservation:a': '1'}, {}),
    ({'trait:CUSTOM_LICENSED': 'required'}, {}),
    ({'max_instances_per_host': '2'}, {}),
    ({}, {'reservation:b': '1'}),
    ({}, {}),
)
_SPECS: tuple[dict[str, str], ...] = (
    {},
    {},
    {'trait:CUSTOM_FAST': 'required'},
    {'trait:CUSTOM_FAST': 'forbidden'},
    {'trait:CUSTOM_LICENSED': 'required'},
    {'resources:CUSTOM_GPU': '1'},
    {'hw:cpu_policy': 'dedicated'},
)
_IMAGES: tuple[dict[str, Any] | None, ...] = (
    None,
    {},
    {},
    {'id': 'image-1', 'min_ram': 512, 'min_disk': 1},
    {'id': 'image-1', 'min_ram': 8192},
    {'properties': {'os_distro': 'windows'}},
    {'properties': {'img_hv_type': 'vmware'}},
    {'properties': {'hw_architecture': 'aarch64'}},
    {'properties': {'trait:CUSTOM_FAST': 'required'}},
    {'properties': {'reservation:a': '1'}},
)
_OPTIONS: tuple[dict[str, Any], ...] = (
    {'placement_req_required_member_prefix': 'reservation:',
     'placement_req_default_forbidden_member_prefix': ['reservation:'],
     'reservations_enforced_by': 'nova'},
    {'enable_isolated_aggregate_filtering': True},
    {'limit_tenants_to_placement_aggregate': True},
    {'isolated_hosts': ['cmp-1'], 'isolated_images': ['image-1']},
    {'max_instances_per_host': 3},
    {'max_placement_results': 2},
)  # fmt: skip
_POLICIES = ('anti-affinity', 'anti-affinity', 'affinity', 'soft-affinity', 'soft-anti-affinity')


def make(seed: int) -> dict[str, Any]:
    """Return the case of this number."""
    dice = random.Random(f'plans {seed}')
    names = [f'cmp-{number}' for number in range(1, dice.randint(3, 7))]
    aggregates, specs = _aggregates(dice)
    zones = {each['uuid']: each['availability_zone'] for each in aggregates}
    groups = _groups(dice, names)
    snapshot: dict[str, Any] = {
        'format': 1,
        'project_id': 'ours',
        'hosts': [_host(dice, name, zones) for name in names],
        'aggregates': aggregates,
        'flavors': [_flavor(dice, name, specs) for name in _FLAVORS],
        'server_groups': groups,
    }
    if dice.random() < 0.5:
        used = dice.randint(0, 4)
        snapshot['quotas'] = {
            'instances': {'limit': used + dice.randint(0, 9), 'used': used},
            'cores': {'limit': dice.choice([-1, 12]), 'used': used},
            'server_group_members': {'limit': dice.randint(2, 9)},
        }
    question = _question(dice, aggregates, groups)
    if dice.random() < 0.2:
        server, host = str(UUID(int=seed)), dice.choice(snapshot['hosts'])['host']
        snapshot['servers'] = [{'server': server, 'host': host, 'state': 'ACTIVE'}]
        question['scheduler_hints'] = {dice.choice([*OF_SERVERS]): server}
        filters = question.get('enabled_filters', DEFAULT_FILTERS)
        question['enabled_filters'] = [*filters, *OF_SERVERS.values()]
    return {'name': f'case {seed}', 'question': question, 'snapshot': snapshot}


def _question(
    dice: random.Random, aggregates: list[dict[str, Any]], groups: list[dict[str, Any]]
) -> dict[str, Any]:
    question: dict[str, Any] = {'count': dice.randint(1, 9), 'flavor': 'asked'}
    zones = sorted(each['availability_zone'] for each in aggregates if each['availability_zone'])
    if groups and dice.random() < 0.6:
        question['server_group'] = 'web'
    if dice.random() < 0.25:
        question['availability_zone'] = dice.choice(zones)
    elif dice.random() < 0.3:
        limits = dice.choice([{}, {'max_skew': 2}, {'max_per_domain': 1}, {'mode': 'soft'}])
        question['spread'] = [{'by': dice.choice(['rack', 'availability_zone']), **limits}]
    if dice.random() < 0.25:
        sign = dice.choice(['in:', '!'])
        question['member_of'] = [f'{sign}{dice.choice(aggregates)["name"]}']
    if dice.random() < 0.1:
        properties = {'enable_drs_extension': True}
        question |= {'policy': _policy(properties), 'server_group': None, 'spread': []}
    if (image := dice.choice(_IMAGES)) is not None:
        question['image'] = image
    if dice.random() < 0.7:
        chosen = dice.sample(_OPTIONAL, dice.randint(0, 4))
        question['enabled_filters'] = [*DEFAULT_FILTERS, *sorted(chosen)]
    chosen_options = dice.sample(_OPTIONS, dice.choice([0, 0, 1, 1, 2]))
    question['options'] = {key: value for each in chosen_options for key, value in each.items()}
    return question


def _policy(properties: dict[str, Any]) -> dict[str, Any]:
    return {'type': 'senlin.policy.affinity', 'version': '1.1', 'properties': properties}


def _aggregates(dice: random.Random) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return zones and others, and extra specs that ask for some of these."""
    metadata, specs = zip(*dice.sample(_METADATA, 2), strict=True)
    found = [
        ('az-1', 'az-1', {'rack': 'r1'}),
        ('az-2', 'az-2', {'rack': 'r2'}),
        ('one', None, metadata[0]),
        ('two', None, metadata[1]),
    ]
    aggregates = [
        {'uuid': str(UUID(int=number)), 'name': name, 'availability_zone': zone, 'metadata': each}
        for number, (name, zone, each) in enumerate(found, 1)
    ]
    return aggregates, specs[0] | specs[1]


def _host(dice: random.Random, name: str, zones: dict[str, str | None]) -> dict[str, Any]:
    free, size = dice.randint(0, 4), dice.choice([4, 4, 8])
    of_zone = dice.choice([uuid for uuid, zone in zones.items() if zone])
    others = [uuid for uuid, zone in zones.items() if zone is None and dice.random() < 0.5]
    is_vsphere = dice.random() < 0.15
    host: dict[str, Any] = {
        'host': f'{name}-drs' if is_vsphere and dice.random() < 0.5 else name,
        'hypervisor_type': 'VMware vCenter Server' if is_vsphere else 'QEMU',
        'availability_zone': zones[of_zone],
        'aggregates': [of_zone, *others],
        'traits': sorted(t for t in ('CUSTOM_FAST', 'CUSTOM_LICENSED') if dice.random() < 0.4),
        'servers': size - free,
        'resources': {
            'VCPU': {'capacity': 4 * size, 'used': 4 * (size - free), 'max_unit': size},
            'MEMORY_MB': {'capacity': 1024 * size, 'used': 0, 'max_unit': 1024 * size},
            'DISK_GB': {'capacity': 20 * size, 'used': 0, 'max_unit': 20 * size},
        },
    }
    if dice.random() < 0.3:
        host['resources']['CUSTOM_GPU'] = {'capacity': dice.randint(1, 2), 'used': 0}
    if dice.random() < 0.2:
        host['enabled'] = False
        host |= dice.choice([{}, {'disabled_reason': 'do not enable'}])
    elif dice.random() < 0.15:
        host |= dice.choice([{'up': False}, {'traits': ['COMPUTE_STATUS_DISABLED']}])
    if dice.random() < 0.05:
        host['resources'] = None
    return host


def _flavor(dice: random.Random, name: str, specs: dict[str, str]) -> dict[str, Any]:
    vcpus = {'asked': 4, 'small': 2, 'large': 16}[name]
    own = {**specs, **dice.choice(_SPECS)} if name == 'asked' else dice.choice([{}, specs])
    size = {'vcpus': vcpus, 'ram': 256 * vcpus, 'disk': vcpus}
    return {'id': f'flavor-{name}', 'name': name, **size, 'extra_specs': own}


def _groups(dice: random.Random, names: list[str]) -> list[dict[str, Any]]:
    policy = dice.choice(_POLICIES)
    rules = {'max_server_per_host': dice.randint(1, 3)} if policy == 'anti-affinity' else {}
    hosts = dice.choices([*names, None], k=dice.choice([0, 0, 1, 2]))
    members = [{'server': f'vm-{number}', 'host': host} for number, host in enumerate(hosts)]
    project = {'project_id': dice.choice([*_PROJECTS, 'ours', 'ours'])}
    group = {'id': 'group-web', 'name': 'web', 'policy': policy, 'rules': rules}
    return [{**group, 'members': members, **project}]
