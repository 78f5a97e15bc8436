"""Measure whether the cost of long input is linear in its length.

A maker writes input of a given length, and our code reads or rejects it. The function calls,
including those of Python's own functions, are counted for a length and for eight times the length.

Units: a ratio of 8 is linear, 64 is quadratic.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from typing import Any

from senlin_affinity.cloud import snapshot_file
from senlin_affinity.extra_specs import validate_all
from senlin_affinity.model.cloud import Aggregate, Flavor
from senlin_affinity.model.errors import AffinityError
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.nova import aggregate_metadata, aggregates, extra_spec_operators
from senlin_affinity.nova.demand import demand
from senlin_affinity.policy import properties
from tests.unit.cloud.test_snapshot_file import DOCUMENT

TIMES = 8
#: Between 8 and 64.
MOST = 24.0


def _aggregates(count: int) -> list[Aggregate]:
    return [Aggregate(f'00000000-0000-4000-8000-{n:012x}', f'a{n}') for n in range(count)]


def _hosts(count: int) -> str:
    document = copy.deepcopy(DOCUMENT)
    document['hosts'] = [
        {**DOCUMENT['hosts'][0], 'host': f'h{n}', 'hypervisor_hostname': f'h{n}'}
        for n in range(count)
    ]
    return json.dumps(document)


def _groups(count: int) -> str:
    members = [{'server': f's{n}', 'host': 'cmp-1'} for n in range(count)]
    group = {**DOCUMENT['server_groups'][0], 'members': members}
    return json.dumps({**DOCUMENT, 'server_groups': [group]})


def _policy(**more: Any) -> dict[str, Any]:
    return {'type': properties.TYPE, 'version': '1.1', 'properties': more}


#: For each name, a function that makes input of a length, and one that reads it.
MAKERS: dict[str, tuple[Callable[[int], Any], Callable[[Any], object]]] = {
    'hosts of a snapshot': (_hosts, snapshot_file.parse),
    'members of a group': (_groups, snapshot_file.parse),
    'nesting in a snapshot': (lambda n: '[' * n, snapshot_file.parse),
    'names in one value of member_of': (
        lambda n: (['in:' + ','.join(f'a{k}' for k in range(n))], _aggregates(n)),
        lambda value: aggregates.resolve(*value),
    ),
    'values of member_of': (
        lambda n: ([f'!a{k}' for k in range(n)], _aggregates(n)),
        lambda value: aggregates.resolve(*value),
    ),
    'an unknown name beside many': (
        lambda n: (['b0'], _aggregates(n)),
        lambda value: aggregates.resolve(*value),
    ),
    'member_of of a spec': (
        lambda n: _policy(member_of=[f'in:a{k}' for k in range(n)]),
        properties.load,
    ),
    'unknown properties': (
        lambda n: _policy(**{f'p{k}': k for k in range(n)}),
        properties.load,
    ),
    'alternatives of <or>': (
        lambda n: ('x', ' '.join(f'<or> v{k}' for k in range(n))),
        lambda value: extra_spec_operators.match(*value),
    ),
    'words of <all-in>': (
        lambda n: ('x', '<all-in> ' + ' '.join(f'v{k}' for k in range(n))),
        lambda value: extra_spec_operators.match(*value),
    ),
    'blanks of an operator': (
        lambda n: ('x', '<in>' + ' ' * n + 'y' + ' ' * n + '<in>'),
        lambda value: extra_spec_operators.match(*value),
    ),
    'metadata of aggregates': (
        lambda n: ({'k': 'v'}, [{'k': f'v{k},w'} for k in range(n)]),
        lambda value: aggregate_metadata.check(*value),
    ),
    'values of one metadata key': (
        lambda n: ({'k': '<or> x'}, [{'k': ','.join(f'v{k}' for k in range(n))}]),
        lambda value: aggregate_metadata.check(*value),
    ),
    'unknown extra specs': (lambda n: {f'hw:no{k}': '1' for k in range(n)}, validate_all),
    'a long extra spec': (lambda n: {'hw:' + 'x' * n: '1' * n}, validate_all),
    'resources of a flavor': (
        lambda n: Flavor('1', 'f', 1, 1, 1, 0, 0, {f'resources{k}:VCPU': '1' for k in range(n)}),
        demand,
    ),
    'a long mask of processors': (
        lambda n: Flavor(
            '1', 'f', 4, 1, 1, 0, 0, {'hw:cpu_realtime_mask': '^0' + ',^1-2' * n, 'hw:cpu_policy':
            'dedicated', 'hw:cpu_realtime': 'yes'}),
        demand,
    ),
    'members that Nova shows': (
        lambda n: {'id': 'g', 'name': 'w', 'policies': [], 'policy': 'affinity',
                   'members': [f's{k}' for k in range(n)]},
        ServerGroup.from_api,
    ),
}  # fmt: skip


def ratio(name: str, length: int) -> float:
    """Return the ratio of the function calls for eight times the length to those for the length."""
    make, read = MAKERS[name]

    def reading(count: int) -> Callable[[], object]:
        value = make(count)

        def call() -> object:
            try:
                return read(value)
            except AffinityError as error:
                return str(error)

        return call

    calls(reading(2))  # fill the caches of the process
    few, many = calls(reading(length)), calls(reading(length * TIMES))
    return many / few if few else 0.0


def calls(call: Callable[[], object]) -> float:
    """Return the number of function calls."""
    number = 0

    def count(_frame: object, event: str, _what: object) -> None:
        nonlocal number
        number += event in ('call', 'c_call')

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(before)
    return number
