"""Read the servers that a Terraform plan creates: ``terraform show -json PLANFILE``.

Example::

    {"format_version": "1.2", "resource_changes": [
        {"address": "openstack_compute_instance_v2.web[0]", "mode": "managed",
         "type": "openstack_compute_instance_v2", "name": "web", "index": 0,
         "change": {"actions": ["create"], "after": {"flavor_name": "m1.small", ...}, ...}}, ...]}

Resources of OpenTofu are the same. Instances of one resource with equal values are one request.
Servers that are replaced count beside those that they replace. What is not known until apply is
found by the references in ``configuration``; else it is in ``Workload.not_read``.

Units: as in Nova: memory in MiB, disk in GiB.

Raises: InvalidSpec for another document, with the address of a resource that is not valid.

Source: Terraform, "JSON Output Format"; the provider's documentation of the resources in
:data:`_INSTANCE`, :data:`_GROUP`, :data:`_FLAVOR` and :data:`_VOLUME`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from senlin_affinity.model.errors import InvalidSpec, Mistakes
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.server_group import ServerGroup, check_policy, check_rules
from senlin_affinity.preflight.question import Question
from senlin_affinity.preflight.stack_yaml import flavor_of, mapping_at
from senlin_affinity.preflight.terraform_references import Configuration
from senlin_affinity.preflight.workload import Workload

#: The key by which a plan is recognized.
VERSION = 'format_version'
_INSTANCE = 'openstack_compute_instance_v2'
_GROUP = 'openstack_compute_servergroup_v2'
_FLAVOR = 'openstack_compute_flavor_v2'
_VOLUME = 'openstack_blockstorage_volume_v3'
#: Resources that create servers in another way.
_OTHERS: Mapping[str, str] = {
    'openstack_containerinfra_cluster_v1': 'the servers of a Magnum cluster',
    'openstack_containerinfra_nodegroup_v1': 'the servers of a Magnum node group',
    'openstack_db_instance_v1': 'the server of a Trove instance',
    'openstack_orchestration_stack_v1': 'the servers of a Heat stack',
}
_HINTS = """
    different_host same_host query target_cell different_cell build_near_host_ip
"""
_STATE = 'is a Terraform state, not a plan: run terraform plan -out FILE, terraform show -json FILE'
_Change = Mapping[str, Any]


def read(document: Mapping[str, Any]) -> Workload:
    """Return the requests of a plan."""
    if str(document[VERSION]).partition('.')[0] not in ('0', '1'):
        version = document[VERSION]
        raise InvalidSpec(f'must be 0.x or 1.x, not {version!r}', VERSION)
    if 'resource_changes' not in document and 'values' in document:
        raise InvalidSpec(_STATE)
    if document.get('errored'):
        raise InvalidSpec('terraform plan failed: the plan is not complete', 'errored')
    changes = document.get('resource_changes', [])
    if not isinstance(changes, list):
        raise InvalidSpec('must be a list', 'resource_changes')
    managed = [{**mapping_at(each, f'resource_changes[{at}]')} for at, each in enumerate(changes)]
    managed = [each for each in managed if each.get('mode', 'managed') == 'managed']
    return _Reader(managed, mapping_at(document.get('configuration', {}), 'configuration')).read()


@dataclass
class _Reader:
    """The resources of a plan, and what is found out about them."""

    changes: Sequence[_Change]
    root: Mapping[str, Any]
    not_read: list[str] = field(default_factory=list)

    def read(self) -> Workload:
        """Return the requests."""
        mistakes, servers = Mistakes(), list[tuple[_Change, Question]]()
        for change in self.created:
            if change.get('type') == _INSTANCE:
                with mistakes.collected():
                    question = self._server(change)
                    servers += [] if question is None else [(change, question)]
        with mistakes.collected():
            groups = (*self.groups.values(),)
        mistakes.check()
        regions = sorted(
            {str(_after(each).get('region') or '') for each, _question in servers} - {''}
        )
        if len(regions) > 1:
            raise InvalidSpec(f'has servers in {len(regions)} regions: {", ".join(regions)}')
        self.not_read += self._others()
        return Workload((*_joined(servers),), groups, (*self.not_read,), (*self._removed(),))

    @cached_property
    def created(self) -> Sequence[_Change]:
        """The resources that the plan creates or replaces."""
        return [each for each in self.changes if 'create' in _actions(each)]

    @cached_property
    def configuration(self) -> Configuration:
        """The configuration, with the resources that are created."""
        return Configuration(self.root, self.created)

    @cached_property
    def groups(self) -> Mapping[str, ServerGroup]:
        """The server groups that are created, by address."""
        return {_address(each): _group(each) for each in self._of_type(_GROUP)}

    @cached_property
    def flavors(self) -> Mapping[str, Flavor]:
        """The flavors that are created, by address."""
        return {_address(each): _flavor(each) for each in self._of_type(_FLAVOR)}

    def _of_type(self, kind: str) -> Iterator[_Change]:
        return (each for each in self.created if each.get('type') == kind)

    def _others(self) -> Iterator[str]:
        """Yield what else creates or changes servers, and is not read."""
        for each in self.changes:
            kind, name = str(each.get('type')), _address(each)
            if kind in _OTHERS and 'create' in _actions(each):
                yield f'{name}: {_OTHERS[kind]}'
            elif kind == _INSTANCE and _actions(each) == ['update'] and _is_resized(each):
                yield f'{_short(each)}: the server is resized'

    def _removed(self) -> Iterator[str]:
        """Yield the servers that are deleted, perhaps before others are created."""
        for each in self.changes:
            if each.get('type') == _INSTANCE and 'delete' in _actions(each)[:1]:
                yield _short(each)

    def _server(self, change: _Change) -> Question | None:
        """Return the request for a server; None if its flavor is not known."""
        after, name = _after(change), _short(change)
        flavor = self._flavor(change)
        if flavor is None:
            self.not_read.append(f'{name}: its flavor is not known until apply')
            return None
        image, is_volume_booted = self._image(change)
        group, hints = self._hints(change)
        return Question(
            1,
            flavor,
            name=name,
            server_group=group,
            availability_zone=self._zone(change),
            image=image,
            is_volume_booted=is_volume_booted,
            scheduler_hints=hints,
            metadata_items=len(after.get('metadata') or {}),
        )

    def _known(self, change: _Change, key: str) -> str | None:
        """Return an argument; None if it is not set. What is set but unknown is not read."""
        value = _after(change).get(key)
        if value:
            return str(value)
        if _unknown(change).get(key) and self.configuration.has(change, key):
            self.not_read.append(f'{_short(change)}: {key} is not known until apply')
        return None

    def _flavor(self, change: _Change) -> Flavor | str | None:
        """Return the flavor of a server: one that is created, or the id or name of another."""
        after = _after(change)
        for key in ('flavor_id', 'flavor_name'):
            if after.get(key):
                new = (each for each in self.flavors.values() if after[key] in (each.id, each.name))
                return next(new, str(after[key]))
        for key in ('flavor_id', 'flavor_name'):
            found = self.configuration.find(change, (key,), _FLAVOR)
            if found is not None:
                return self.flavors[_address(found)]
        return None

    def _zone(self, change: _Change) -> str | None:
        """Return the zone of a server; a host in it is not read."""
        text = self._known(change, 'availability_zone')
        text = text or self._known(change, 'availability_zone_hints')
        zone, colon, host = (text or '').partition(':')
        if colon:
            self.not_read.append(f'{_short(change)}: the host in its zone, {host}')
        if node := _after(change).get('hypervisor_hostname'):
            self.not_read.append(f'{_short(change)}: hypervisor_hostname {node}')
        return zone or None

    def _image(self, change: _Change) -> tuple[str | None, bool]:
        """Return the id or name of the image of a server, and whether it boots from a volume."""
        devices = _after(change).get('block_device') or []
        at = next((at for at, each in enumerate(devices) if not each.get('boot_index')), None)
        if at is None:
            return self._known(change, 'image_id') or self._known(change, 'image_name'), False
        root = devices[at]
        source, image = root.get('source_type'), root.get('uuid')
        if source == 'volume':
            image = None
            volume = self.configuration.find(change, ('block_device', 'uuid'), _VOLUME)
            if volume is not None:
                image = _after(volume).get('image_id')
        elif source != 'image':
            image = None
        is_volume = root.get('destination_type') == 'volume' or source in ('volume', 'snapshot')
        return str(image) if image else None, is_volume

    def _hints(self, change: _Change) -> tuple[ServerGroup | str | None, Mapping[str, Any]]:
        """Return the server group of a server, and its other scheduler hints."""
        given, marks = _first(_after(change).get('scheduler_hints')), _mark(change)
        unknown = _first(marks)
        is_set = marks is True or any(unknown.values())
        group: ServerGroup | str | None = given.get('group') or None
        if group is None and is_set:
            found = self.configuration.find(change, ('scheduler_hints', 'group'), _GROUP)
            group = None if found is None else self.groups[_address(found)]
            if group is None and (marks is True or unknown.get('group')):
                self.not_read.append(f'{_short(change)}: its server group is not known until apply')
        found_hints = {key: given[key] for key in _HINTS.split() if given.get(key)}
        if 'query' in found_hints:
            found_hints['query'] = json.dumps(found_hints['query'])
        more = given.get('additional_properties') or {}
        for key in (*_HINTS.split(), 'additional_properties'):
            if _is_any(unknown.get(key)):
                self.not_read.append(f'{_short(change)}: the hint {key} is not known until apply')
        return group, {**found_hints, **more}


def _group(change: _Change) -> ServerGroup:
    """Return a server group that is created."""
    after, path = _after(change), _address(change)
    policies = after.get('policies') or []
    policy = check_policy(policies[0] if policies else None, f'{path}.policies')
    rules = {key: value for key, value in _first(after.get('rules')).items() if value}
    checked = check_rules(rules, policy, f'{path}.rules')
    return ServerGroup.planned(str(after.get('name')), policy, checked, path)


def _flavor(change: _Change) -> Flavor:
    """Return a flavor that is created."""
    after, path = _after(change), _address(change)
    identity = str(after.get('flavor_id') or f'new flavor {path}')
    return flavor_of(identity, str(after.get('name')), after, path)


def _joined(servers: Sequence[tuple[_Change, Question]]) -> Iterator[Question]:
    """Yield one question for instances of a resource with equal values, with their number."""
    found: dict[str, list[list[Question]]] = {}
    for change, question in servers:
        kinds = found.setdefault(_short({**change, 'index': None}), [])
        for kind in kinds:
            if replace(kind[0], name='') == replace(question, name=''):
                kind.append(question)
                break
        else:
            kinds.append([question])
    for name, kinds in found.items():
        for kind in kinds:
            more = f' and {len(kind) - 1} more' if len(kind) > 1 else ''
            shown = name if len(kinds) == 1 else f'{kind[0].name}{more}'
            yield replace(kind[0], name=shown, count=len(kind))


def _is_resized(change: _Change) -> bool:
    before = mapping_at(_changed(change).get('before') or {}, _address(change))
    return any(
        before.get(key) != _after(change).get(key) and _after(change).get(key)
        for key in ('flavor_id', 'flavor_name')
    )


def _changed(change: _Change) -> Mapping[str, Any]:
    return mapping_at(change.get('change', {}), f'{_address(change)}.change')


def _actions(change: _Change) -> list[str]:
    return [*map(str, _changed(change).get('actions') or ())]


def _after(change: _Change) -> Mapping[str, Any]:
    return mapping_at(_changed(change).get('after') or {}, f'{_address(change)}.change.after')


def _unknown(change: _Change) -> Mapping[str, Any]:
    path = f'{_address(change)}.change.after_unknown'
    return mapping_at(_changed(change).get('after_unknown') or {}, path)


def _mark(change: _Change) -> object:
    """Return which scheduler hints are unknown: True, or a list with a mapping."""
    return _unknown(change).get('scheduler_hints')


def _first(value: object) -> Mapping[str, Any]:
    """Return the only element of a block; {} without one."""
    first = value[0] if isinstance(value, list) and value else {}
    return first if isinstance(first, Mapping) else {}


def _is_any(value: object) -> bool:
    """Check whether anything in a mark of unknown values is True."""
    return value is True or (isinstance(value, list) and any(map(_is_any, value)))


def _address(change: _Change) -> str:
    return str(change.get('address'))


def _short(change: _Change) -> str:
    """Return the address without the type: ``module.app.web[0]``."""
    module, index = change.get('module_address'), change.get('index')
    written = '' if index is None else f'["{index}"]' if isinstance(index, str) else f'[{index}]'
    return f'{f"{module}." if module else ""}{change.get("name")}{written}'
