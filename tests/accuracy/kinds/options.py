"""nova.conf: optional scheduler filters, and the default zone of servers."""

from __future__ import annotations

import random
from typing import Any

from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.sandbox.blueprint import IMAGE_ID
from tests.accuracy.case import Case
from tests.accuracy.kinds import parts

_SSD = 'aggregate_instance_extra_specs:ssd'


def case(seed: int) -> Case:
    dice = random.Random(f'filters {seed}')
    names = parts.names(dice)
    groups = parts.policy(dice, 0.5)
    servers = (*parts.members(dice, names, groups), *parts.others(dice, names))
    hosts = parts.hosts(dice, names, (4, 9), servers=servers)
    chosen = dice.sample(_DRAWS, dice.choice([1, 1, 1, 2]))
    drawn = [draw(dice, names) for draw in chosen]
    specs, aggregates, filters = {}, {}, []
    options: dict[str, dict[str, Any]] = {}
    for name, values in drawn:
        filters += [name] if name else []
        specs |= values.get('specs', {})
        aggregates |= values.get('aggregates', {})
        for group, options_of in values.get('options', {}).items():
            options.setdefault(group, {}).update(options_of)
    zone = options.get('DEFAULT', {}).get('default_schedule_zone')
    return Case(
        'filters',
        seed,
        hosts,
        {'asked': parts.flavor(**specs), 'plain': parts.PLAIN},
        parts.asks(dice, groups, {}, {'zone': zone if dice.random() < 0.3 else None}),
        aggregates,
        groups=groups,
        servers=servers,
        filters=(*DEFAULT_FILTERS, *filters),
        nova_options=options,
    )


def _instances(dice: random.Random, _names: list[str]) -> tuple[str, dict[str, Any]]:
    limit = {'max_instances_per_host': dice.randint(1, 3)}
    return 'NumInstancesFilter', {'options': {'filter_scheduler': limit}}


def _instances_of_aggregates(dice: random.Random, names: list[str]) -> tuple[str, dict[str, Any]]:
    hosts = sorted(dice.sample(names, dice.randint(1, len(names))))
    metadata = {'max_instances_per_host': dice.choice(['1', '2', '3'])}
    limit = {'filter_scheduler': {'max_instances_per_host': dice.randint(1, 4)}}
    aggregate = {'few': {'hosts': hosts, 'metadata': metadata}}
    return 'AggregateNumInstancesFilter', {'aggregates': aggregate, 'options': limit}


def _extra_specs(dice: random.Random, names: list[str]) -> tuple[str, dict[str, Any]]:
    hosts = sorted(dice.sample(names, dice.randint(1, len(names))))
    metadata = {'ssd': dice.choice(['true', 'false', 'true,false'])}
    aggregate = {'ssd': {'hosts': hosts, 'metadata': metadata}}
    return 'AggregateInstanceExtraSpecsFilter', {'specs': {_SSD: 'true'}, 'aggregates': aggregate}


def _tenants(dice: random.Random, names: list[str]) -> tuple[str, dict[str, Any]]:
    hosts = sorted(dice.sample(names, dice.randint(1, len(names))))
    metadata = {'filter_tenant_id': dice.choice(['{admin}', '{demo}', '{demo},{admin}'])}
    aggregate = {'tenant': {'hosts': hosts, 'metadata': metadata}}
    return 'AggregateMultiTenancyIsolation', {'aggregates': aggregate}


def _isolated(dice: random.Random, names: list[str]) -> tuple[str, dict[str, Any]]:
    hosts = sorted(dice.sample(names, dice.randint(1, len(names) - 1)))
    values = {
        'isolated_hosts': hosts,
        'isolated_images': [IMAGE_ID] if dice.random() < 0.4 else [],
        'restrict_isolated_hosts_to_isolated_images': dice.random() < 0.8,
    }
    return 'IsolatedHostsFilter', {'options': {'filter_scheduler': values}}


def _zone(dice: random.Random, names: list[str]) -> tuple[None, dict[str, Any]]:
    hosts = sorted(dice.sample(names, dice.randint(1, len(names) - 1)))
    aggregate = {'hosts': hosts, 'availability_zone': 'az-1'}
    default = {'default_schedule_zone': dice.choice(['az-1', 'nova'])}
    return None, {'aggregates': {'az-1': aggregate}, 'options': {'DEFAULT': default}}


def _type(dice: random.Random, names: list[str]) -> tuple[str, dict[str, Any]]:
    hosts = sorted(dice.sample(names, dice.randint(1, len(names))))
    metadata = {'instance_type': dice.choice(['asked', 'plain'])}
    return 'AggregateTypeAffinityFilter', {
        'aggregates': {'typed': {'hosts': hosts, 'metadata': metadata}}
    }


_DRAWS = (_instances, _instances_of_aggregates, _extra_specs, _tenants, _isolated, _zone, _type)
