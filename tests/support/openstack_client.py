"""Carry out the ``openstack`` commands on the page of reservations with openstacksdk.

Run it with ``python -m tests.support.openstack_client``; ``on_path`` installs it as ``openstack``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import openstack

ROOT = Path(__file__).parents[2]


def on_path(folder: Path) -> dict[str, str]:
    """Create the command in a folder, and return an environment in which a shell finds it."""
    command = folder / 'openstack'
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -W ignore -m {__name__} "$@"\n')
    command.chmod(0o700)
    return {
        **os.environ,
        'PATH': f'{folder}:{os.environ["PATH"]}',
        'PYTHONPATH': str(ROOT),
        'NO_PROXY': '127.0.0.1',
    }


def main(words: Sequence[str]) -> None:
    """Run one command with the cloud of the environment."""
    cloud = openstack.connect()
    placement, compute = cloud.placement, cloud.compute
    placement.default_microversion = os.environ.get('OS_PLACEMENT_API_VERSION')
    match words:
        case ['trait', 'create', name]:
            answer = placement.put(f'/traits/{name}')
            assert answer.ok, answer.text
        case ['resource', 'provider', 'list', '--name', name, '-f', 'value', '-c', 'uuid']:
            (provider,) = placement.resource_providers(name=name)
            sys.stdout.write(f'{provider.id}\n')
        case ['resource', 'provider', 'trait', 'list', uuid, '-f', 'value']:
            traits = placement.get(f'/resource_providers/{uuid}/traits').json()['traits']
            sys.stdout.write('\n'.join([*traits, '']))
        case ['resource', 'provider', 'trait', 'set', uuid, *more]:
            assert set(more[::2]) == {'--trait'}
            path = f'/resource_providers/{uuid}/traits'
            known = placement.get(path).json()
            answer = placement.put(path, json={**known, 'traits': more[1::2]})
            assert answer.ok, answer.text
        case ['aggregate', 'create', '--property', pair, name]:
            made = compute.create_aggregate(name=name)
            compute.set_aggregate_metadata(made, dict([pair.split('=')]))
        case ['aggregate', 'add', 'host', name, host]:
            compute.add_host_to_aggregate(compute.find_aggregate(name), host)
        case ['flavor', 'create', '--vcpus', vcpus, '--ram', ram, '--disk', disk, *more]:
            option, pair, name = more
            assert option == '--property'
            flavor = compute.create_flavor(name=name, vcpus=vcpus, ram=ram, disk=disk)
            compute.create_flavor_extra_specs(flavor, dict([pair.split('=')]))
        case _:
            sys.exit(f'openstack: no such command: {words}')


if __name__ == '__main__':
    main(sys.argv[1:])
