"""The lines that carry a remedy out, where there are such: ``openstack ...``, quoted for a shell.

Source: the reference of python-openstackclient, and that of osc-placement for traits.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from senlin_affinity.core.host import Host
from senlin_affinity.core.host_status import DISABLED, is_left_behind
from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.planning.actions import carry_out, unused
from senlin_affinity.core.server_group import (
    NOT_YET,
    RULES_MICROVERSION,
    SOFT_POLICIES_MICROVERSION,
)

#: osc-placement has traits from this microversion on.
_PLACEMENT = ('--os-placement-api-version', '1.6')


def of(data: Mapping[str, Any], resolved: ResolvedRequest) -> tuple[str, ...]:
    """The lines for a remedy's data, and the question that it helps."""
    quoted = cache(_quoted)  # most words are those of many lines
    lines: list[str] = []
    for number, (name, value) in enumerate(data.items(), 1):
        if name in _LINES:
            each = _LINES[name](resolved, value)
            lines += (' '.join(('openstack', *map(quoted, words))) for words in each)
        if number < len(data):  # the next action finds the cloud as this one leaves it
            resolved = carry_out({name: value}, resolved)
    return tuple(lines)


class _Inner(tuple[str, ...]):
    """Words of a command whose output is a word of another one."""


_Words = Iterable[str | _Inner]
_Lines = Callable[[ResolvedRequest, Any], Iterator[_Words]]


def _quoted(word: str | _Inner) -> str:
    return f'"$({shlex.join(word)})"' if isinstance(word, _Inner) else shlex.quote(word)


def _named(*names: str) -> tuple[str, ...]:
    """Names as the last words, also those that look like options."""
    return ('--', *names) if any(name.startswith('-') for name in names) else names


def _server_group(resolved: ResolvedRequest, value: Mapping[str, Any]) -> Iterator[_Words]:
    """Nova makes a group in the project of the log-in, whoever the servers are of."""
    old = resolved.server_group
    if old is None or old.id == NOT_YET:
        return  # an attach creates it, as its policy says
    rules = (('--rule', f'{name}={number}') for name, number in value['rules'].items())
    words = [word for pair in rules for word in pair]
    policy = ('--policy', value['policy'])
    since = RULES_MICROVERSION if words else SOFT_POLICIES_MICROVERSION
    version = ('--os-compute-api-version', '.'.join(map(str, since)))
    project = value.get('project_id')
    scope = () if project is None else ('--os-project-id', project)
    yield (*scope, *version, 'server', 'group', 'create', *policy, *words, *_named(value['name']))


def _enabled_hosts(resolved: ResolvedRequest, value: Iterable[str]) -> Iterator[_Words]:
    """A service that is enabled stays as it is: Nova would not write the trait again."""
    known, chosen = resolved.snapshot.hosts or (), set(value)
    stale = [each for each in known if each.host in chosen and is_left_behind(each)]
    enabled = {each.host for each in stale}
    for name in (name for name in value if name not in enabled):
        yield ('compute', 'service', 'set', '--enable', *_named(name, 'nova-compute'))
    yield from (words for host in stale for words in _traits(host, host.traits - {DISABLED}))


def _quotas(_question: ResolvedRequest, value: Mapping[str, Any]) -> Iterator[_Words]:
    if value['project_id'] is None or not value['limits']:
        return
    limits = ((f'--{name.replace("_", "-")}', str(most)) for name, most in value['limits'].items())
    yield (
        'quota',
        'set',
        *(word for pair in limits for word in pair),
        *_named(value['project_id']),
    )


def _aggregate_hosts(_question: ResolvedRequest, value: Mapping[str, Any]) -> Iterator[_Words]:
    for host in value['hosts']:
        yield ('aggregate', 'add', 'host', *_named(value['aggregate']['name'], host))


def _host_traits(resolved: ResolvedRequest, value: Mapping[str, Any]) -> Iterator[_Words]:
    known, chosen = resolved.snapshot.hosts or (), set(value['hosts'])
    given = [
        words
        for host in known
        if host.host in chosen
        for words in _traits(host, host.traits.union(value['traits']))
    ]
    for trait in value['traits'] if given else ():
        yield (*_PLACEMENT, 'trait', 'create', trait)
    yield from given


def _traits(host: Host, traits: Iterable[str]) -> Iterator[_Words]:
    """The line replaces all traits of a provider; of a tree it is not known which has which."""
    if host.is_nested:
        return
    words = (word for trait in sorted(traits) for word in ('--trait', trait))
    named = ('openstack', 'resource', 'provider', 'list', '--name', host.hypervisor_hostname)
    identity = _Inner((*named, '-f', 'value', '-c', 'uuid'))
    yield (*_PLACEMENT, 'resource', 'provider', 'trait', 'set', *words, identity)


def _flavor_without(resolved: ResolvedRequest, value: Iterable[str]) -> Iterator[_Words]:
    """A flavor of the same size, for one project; none is changed under those who use it."""
    flavor, known = resolved.flavor, resolved.snapshot.flavors or ()
    if flavor is None or not value:
        return
    sizes = ('vcpus', 'ram', 'disk', 'ephemeral', 'swap')
    amounts = ((f'--{name}', str(getattr(flavor, name))) for name in sizes)
    left = ((key, each) for key, each in flavor.extra_specs.items() if key not in value)
    specs = (('--property', f'{key}={each}') for key, each in left)
    words = (word for pair in (*amounts, *specs) for word in pair)
    project = resolved.project_id
    owner = () if project is None else ('--private', '--project', project)
    name = next(unused(flavor.name, (each.name for each in known)))
    yield ('flavor', 'create', *words, *owner, *_named(name))


_LINES: Mapping[str, _Lines] = {
    'aggregate_hosts': _aggregate_hosts,
    'enabled_hosts': _enabled_hosts,
    'host_traits': _host_traits,
    'quotas': _quotas,
    'removed_extra_specs': _flavor_without,
    'server_group': _server_group,
}
