"""Generate the ``openstack`` commands that carry out one action of a remedy.

Each function of :data:`~senlin_affinity.engine.changes.ACTIONS` gets the request, the cloud, and
the value of the action, and yields the arguments of ``openstack``, or a whole shell command. No
command declares a trait, or puts a host into an aggregate: these describe the hardware.

Source: the references of python-openstackclient and osc-placement. With a requested host, Nova's
scheduler checks live migrations from 2.30 on, and allows cold ones from 2.56 on.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.host import Host
from senlin_affinity.model.proposal import unused
from senlin_affinity.model.request import Request
from senlin_affinity.model.server_group import (
    RULES_MICROVERSION,
    SOFT_POLICIES_MICROVERSION,
)
from senlin_affinity.nova.host_status import DISABLED, has_stale_trait
from senlin_affinity.nova.moves import LIVE

#: osc-placement has traits from this microversion on.
_PLACEMENT = ('--os-placement-api-version', '1.6')


#: The arguments of ``openstack``, or a whole shell command.
Words = tuple[str, ...] | str
Commands = Callable[[Request, Cloud, Any], Iterator[Words]]


def _named(*names: str) -> tuple[str, ...]:
    """Return the names, after ``'--'`` if any begins with a hyphen."""
    return ('--', *names) if any(name.startswith('-') for name in names) else names


def server_group(
    request: Request, _cloud: Cloud, value: Mapping[str, Any] | None
) -> Iterator[Words]:
    """Yield the command that creates the group; nothing for none, or with none to replace.

    ``('--os-project-id', <id>, '--os-compute-api-version', '2.64', 'server', 'group', 'create',
    '--policy', <policy>, '--rule', 'max_server_per_host=2', <name>)``. The version is 2.15 without
    rules; the first two words depend on ``project_id``.
    """
    old = request.server_group
    if value is None or old is None or old.is_planned:
        return  # an attach creates it
    rules = (('--rule', f'{name}={number}') for name, number in value['rules'].items())
    words = [word for pair in rules for word in pair]
    policy = ('--policy', value['policy'])
    since = RULES_MICROVERSION if words else SOFT_POLICIES_MICROVERSION
    version = ('--os-compute-api-version', '.'.join(map(str, since)))
    project = value.get('project_id')
    scope = () if project is None else ('--os-project-id', project)
    yield (*scope, *version, 'server', 'group', 'create', *policy, *words, *_named(value['name']))


def enabled_hosts(request: Request, cloud: Cloud, names: Iterable[str]) -> Iterator[Words]:
    """Yield ``('compute', 'service', 'set', '--enable', <name>, 'nova-compute')`` for each host.

    If only the trait is stale, another command removes it, after all others.
    """
    hosts, chosen = cloud.hosts or (), set(names)
    stale = [each for each in hosts if each.host in chosen and has_stale_trait(each)]
    enabled = {each.host for each in stale}
    for name in (name for name in names if name not in enabled):
        yield ('compute', 'service', 'set', '--enable', *_named(name, 'nova-compute'))
    yield from (line for host in stale for line in _enabled_in_placement(host))


#: The quotas whose option in the client has another name.
_QUOTA: Mapping[str, str] = {'metadata_items': '--properties'}


def quotas(request: Request, cloud: Cloud, value: Mapping[str, Any]) -> Iterator[Words]:
    """Yield ``('quota', 'set', '--instances', '7', <project>)``.

    Nothing without a project or ``limits``.
    """
    if value['project_id'] is None or not value['limits']:
        return
    limits = (
        (_QUOTA.get(name, f'--{name.replace("_", "-")}'), str(most))
        for name, most in value['limits'].items()
    )
    yield (
        'quota',
        'set',
        *(word for pair in limits for word in pair),
        *_named(value['project_id']),
    )


def created_traits(request: Request, cloud: Cloud, names: Iterable[str]) -> Iterator[Words]:
    """Yield a command that creates each trait."""
    for name in names:
        yield (*_PLACEMENT, 'trait', 'create', name)


def migration(kind: str, server: str, target: str, *options: str) -> tuple[str, ...]:
    """Return the command that starts the live or cold migration of a server, by id, to a host."""
    version, how = ('2.30', ('--live-migration',)) if kind == LIVE else ('2.56', ())
    words = ('--os-compute-api-version', version, 'server', 'migrate', *how, *options)
    return (*words, '--host', target, server)


def moved_servers(
    _request: Request, _cloud: Cloud, servers: Iterable[Mapping[str, str]]
) -> Iterator[Words]:
    """Yield the command that migrates each server and waits, and the confirmation of a cold one."""
    for each in servers:
        yield migration(each['kind'], each['id'], each['to'], '--wait')
        if each['kind'] != LIVE:
            yield ('server', 'migration', 'confirm', each['id'])


def set_extra_specs(request: Request, _cloud: Cloud, specs: Mapping[str, str]) -> Iterator[Words]:
    """Yield ``('flavor', 'set', '--property', <key=value>, ..., <flavor id>)``."""
    flavor = request.flavor
    if flavor is not None:
        words = (word for each in specs.items() for word in ('--property', '='.join(each)))
        yield ('flavor', 'set', *words, *_named(flavor.id))


def _enabled_in_placement(host: Host) -> Iterator[str]:
    """Yield a shell command that removes the stale trait of a host; nothing if it is nested."""
    if host.is_nested:
        return
    name = shlex.quote(host.hypervisor_hostname)
    of_provider = f'openstack {" ".join(_PLACEMENT)} resource provider trait'
    yield (
        f'provider="$(openstack resource provider list --name {name} -f value -c uuid)" && '
        f'traits="$({of_provider} list "$provider" -f value -c name)" && {of_provider} set '
        f'$(echo "$traits" | sed \'/^{DISABLED}$/d; s/./--trait &/\') "$provider"'
    )


def flavor_without(request: Request, cloud: Cloud, keys: Collection[str]) -> Iterator[Words]:
    """Create a flavor of the same size without these extra specs, private to a known project.

    Its name is unused, such as "m1-2". Nothing without a flavor or ``keys``.
    """
    flavor, flavors = request.flavor, cloud.flavors or ()
    if flavor is None or not keys:
        return
    sizes = ('vcpus', 'ram', 'disk', 'ephemeral', 'swap')
    amounts = ((f'--{name}', str(getattr(flavor, name))) for name in sizes)
    left = ((key, each) for key, each in flavor.extra_specs.items() if key not in keys)
    specs = (('--property', f'{key}={each}') for key, each in left)
    words = (word for pair in (*amounts, *specs) for word in pair)
    project = request.project_id
    owner = () if project is None else ('--private', '--project', project)
    name = next(unused(flavor.name, (each.name for each in flavors)))
    yield ('flavor', 'create', *words, *owner, *_named(name))
