"""Apply a remedy to the sandbox, from its ``data`` alone, and return the changed question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.accuracy.case import HOSTS, Ask, Case
from tests.accuracy.stage import Stage
from tests.support.values import replace

#: The new name of an object that a remedy creates.
NEW = 'new'
_Change = Callable[[Stage, Case, Ask, Any], Ask]


def can(case: Case, data: Mapping[str, Any]) -> bool:
    """Check whether the sandbox can apply the remedy; it cannot get more hosts."""
    number = data.get('new_hosts', {}).get('number', 0)
    return set() < set(data) <= set(_CHANGES) and number <= len(HOSTS) - len(case.hosts)


def carry_out(stage: Stage, case: Case, asked: Ask, data: Mapping[str, Any]) -> Ask:
    """Change the cloud, or the question."""
    for name, value in data.items():
        asked = _CHANGES[name](stage, case, asked, value)
    return asked


def _zone(_stage: Stage, _case: Case, asked: Ask, value: str | None) -> Ask:
    return replace(asked, zone=value)


def _group(stage: Stage, _case: Case, asked: Ask, value: dict[str, Any] | None) -> Ask:
    if value is None:
        return replace(asked, group=None)
    stage.groups[NEW] = stage.group(value['name'], {**value, 'user': asked.user})
    return replace(asked, group=NEW)


def _flavor(stage: Stage, _case: Case, asked: Ask, value: dict[str, str]) -> Ask:
    stage.flavors[NEW] = value['id']
    return replace(asked, flavor=NEW)


def _extra_specs(stage: Stage, case: Case, asked: Ask, value: Iterable[str]) -> Ask:
    flavor = case.flavors[asked.flavor]
    left = {key: flavor['extra_specs'][key] for key in flavor['extra_specs'] if key not in value}
    stage.flavors[NEW] = stage.flavor(NEW, {**flavor, 'extra_specs': left})
    return replace(asked, flavor=NEW)


def _image(stage: Stage, case: Case, asked: Ask, value: Iterable[str]) -> Ask:
    image = case.images[asked.image or '']
    stage.images[NEW] = stage.image(NEW, {key: image[key] for key in image if key not in value})
    return replace(asked, image=NEW)


def _enabled(stage: Stage, case: Case, asked: Ask, value: Iterable[str]) -> Ask:
    before = {name for name, host in case.hosts.items() if not host.get('disabled')}
    stage.enable({*before, *value})
    stage.undo.append(lambda: stage.enable(before))
    return asked


def _new_hosts(stage: Stage, case: Case, asked: Ask, value: dict[str, Any]) -> Ask:
    units = value.get('units', {})
    inventory = {
        name: {'total': total, 'allocation_ratio': 1.0, **units.get(name, {})}
        for name, total in value['amounts'].items()
    }
    for name in ('VCPU', 'MEMORY_MB', 'DISK_GB'):
        inventory.setdefault(name, {'total': 0})
    names = [name for name in HOSTS if name not in case.hosts][: value['number']]
    stage.undo.append(lambda: stage.put('hosts', stage.sizes))
    stage.put('hosts', {**stage.sizes, **{name: {'inventory': inventory} for name in names}})
    for name in names:
        traits = [trait for trait in value['traits'] if trait.startswith('CUSTOM_')]
        stage.add_traits(stage.uuids[name], traits)
        for aggregate in value['aggregates']:
            stage.join(name, aggregate['uuid'])
    return _enabled(stage, case, asked, names)


def _aggregate(stage: Stage, _case: Case, asked: Ask, value: dict[str, Any]) -> Ask:
    for name in value['hosts']:
        stage.join(name, value['aggregate']['uuid'])
    return asked


def _traits(stage: Stage, _case: Case, asked: Ask, value: dict[str, Any]) -> Ask:
    for name in value['hosts']:
        stage.add_traits(stage.uuids[name], value['traits'])
    return asked


def _quotas(stage: Stage, _case: Case, asked: Ask, value: dict[str, Any]) -> Ask:
    stage.limit(f'/os-quota-sets/{value["project_id"]}', value['limits'])
    return asked


def _removed_consumers(stage: Stage, _case: Case, asked: Ask, value: Iterable[str]) -> Ask:
    for host in value:
        stage.remove_orphan(host)
    return asked


def _requested_host(_stage: Stage, _case: Case, asked: Ask, _none: None) -> Ask:
    return replace(asked, host=None, zone=(asked.zone or '').partition(':')[0] or None)


def _created_traits(stage: Stage, _case: Case, asked: Ask, value: Iterable[str]) -> Ask:
    for name in value:
        stage.place('PUT', f'/traits/{name}')
        stage.undo.append(lambda path=f'/traits/{name}': stage.place('DELETE', path))
    return asked


def _set_extra_specs(stage: Stage, case: Case, asked: Ask, value: Mapping[str, str]) -> Ask:
    flavor = case.flavors[asked.flavor]
    changed = {**flavor, 'extra_specs': {**flavor['extra_specs'], **value}}
    stage.flavors[NEW] = stage.flavor(NEW, changed)
    return replace(asked, flavor=NEW)


_CHANGES: dict[str, _Change] = {
    'aggregate_hosts': _aggregate,
    'availability_zone': _zone,
    'created_traits': _created_traits,
    'enabled_hosts': _enabled,
    'flavor': _flavor,
    'host_traits': _traits,
    'new_hosts': _new_hosts,
    'quotas': _quotas,
    'removed_consumers': _removed_consumers,
    'removed_extra_specs': _extra_specs,
    'removed_image_properties': _image,
    'requested_host': _requested_host,
    'server_group': _group,
    'set_extra_specs': _set_extra_specs,
}
