"""Extra specs without a namespace, requests that Placement rejects, and degenerate names.

Source: nova-api below 2.86, which accepts any name and value of an extra spec.
"""

from __future__ import annotations

import random
from typing import Any

from senlin_affinity.model.request import DEFAULT_FILTERS
from tests.accuracy.case import Case
from tests.accuracy.kinds import parts
from tests.accuracy.kinds.plain import NOVAS
from tests.support.values import replace

_HAS, _BM = 'CUSTOM_HAS', 'CUSTOM_LICENSE'
_UNSCOPED = (
    {'public-sriov': 'true'},
    {'group_policy': 'none'},
    {'hide_hypervisor_id': 'true'},
    {'ssd': 'true', 'hw:boot_menu': 'true'},
    {'aggregate_instance_extra_specs:': 'true'},
)
_DEGENERATE = (
    {'trait:': 'required'},
    {'trait:': 'forbidden'},
    {'trait:': 'required', f'trait:{_HAS}': 'required'},
    {'trait1:': 'required'},
    {'trait1:': 'required', f'resources1:{_BM}': '1'},
    {'trait: ': 'required'},
    {f'trait: {_HAS} ': 'required'},
    {f'trait: {_HAS}': 'forbidden'},
    {f'trait:{_HAS}': ''},
    {f'trait:{_HAS}': 'Required'},
    {f'trait:in:{_HAS}': 'required'},
    {f'traits:{_HAS}': 'required'},
    {'resources:': '1'},
    {'resources1:': '1'},
    {'resources:VCPU': ''},
    {'resources:VCPU': ' 2 '},
    {'resources1:MEMORY_MB': '0'},
    {f'resources:{_BM}': '-1'},
    {f'resources:{_BM}': '1.0'},
    {f'resources:{_BM} ': '1'},
    {f'resources:{_BM}:2': '1'},
    {f'resources1:{_BM}': '0', f'trait1:{_HAS}': 'required'},
    {'resources:vcpu': '9'},
    {'resource:VCPU': '99'},
    {'group_policy': '', f'resources1:{_BM}': '1', 'resources2:DISK_GB': '1'},
)


def unscoped(seed: int) -> Case:
    """Return a case with keys that Nova's filter compares, perhaps with an aggregate."""
    dice = random.Random(f'unscoped keys {seed}')
    names = parts.names(dice)
    groups = parts.policy(dice, 0.6)
    specs = dice.choice(_UNSCOPED)
    key, value = next(iter(specs.items()))
    own = {key.removeprefix('aggregate_instance_extra_specs:') or 'ssd': value}
    aggregate = {'hosts': sorted(dice.sample(names, dice.randint(1, len(names)))), 'metadata': own}
    return Case(
        'unscoped keys',
        seed,
        parts.hosts(dice, names),
        {'asked': parts.flavor(**specs)},
        parts.asks(dice, groups, {}, {}),
        {'own': aggregate} if dice.random() < 0.5 else {},
        groups=groups,
        filters=(*DEFAULT_FILTERS, NOVAS) if dice.random() < 0.6 else DEFAULT_FILTERS,
    )


def rejected(seed: int) -> Case:
    """Return a case with a request that Placement may reject, and a remedy."""
    dice = random.Random(f'rejected queries {seed}')
    nope = f'CUSTOM_NOPE_{seed}'
    choices: tuple[dict[str, str], ...] = (
        {f'trait:{nope}': 'forbidden'},
        {f'trait:{nope}': 'forbidden', f'trait:{_HAS}': 'forbidden'},
        {f'trait:{nope}': 'required'},
        {f'resources:{nope}': '1'},
        {f'trait1:{_HAS}': 'required'},
        {f'trait1:{nope}': 'forbidden', f'resources1:{_BM}': '1'},
        {f'resources1:{_BM}': '1', 'resources2:DISK_GB': '1'},
        {f'resources1:{_BM}': '1', f'resources_b:{nope}': '1', 'group_policy': 'none'},
        {f'trait:{_HAS}': 'forbidden'},
        {f'trait:{_HAS}': 'required'},
        {f'resources1:{_BM}': '1', 'resources2:DISK_GB': '1', 'group_policy': 'none'},
    )
    specs = choices[seed % len(choices)]
    wants = {f'trait:{_HAS}': 'required'} if dice.random() < 0.2 else {}
    return _case('rejected queries', seed, dice, specs, {'asked': wants}, is_remedied=True)


def degenerate(seed: int) -> Case:
    """Return a case with names and values that Nova and Placement treat in their own ways."""
    dice = random.Random(f'degenerate keys {seed}')
    specs: dict[str, str] = {}
    for more in dice.sample(_DEGENERATE, dice.choice([1, 1, 2])):
        specs |= more
    return _case('degenerate keys', seed, dice, specs, {})


def _case(
    kind: str,
    seed: int,
    dice: random.Random,
    specs: dict[str, str],
    images: dict[str, dict[str, Any]],
    *,
    is_remedied: bool = False,
) -> Case:
    """Return a case in which some hosts have the trait, and all have the class."""
    names = parts.names(dice)
    groups = parts.policy(dice, 0.6)
    hosts = parts.hosts(dice, names)
    for host in hosts.values():
        host['inventory'] = {_BM: {'total': dice.randint(1, 4)}}
    chosen = [None, 'asked'] if images else [None, None]
    asks = parts.asks(dice, groups, *({'image': image} for image in chosen))
    asks = tuple(replace(ask, is_remedied=is_remedied and ask.is_complete) for ask in asks)
    return Case(
        kind,
        seed,
        hosts,
        {'asked': parts.flavor(**specs)},
        asks,
        images=images,
        groups=groups,
        traits={name: (_HAS,) for name in names if dice.random() < 0.6},
    )
