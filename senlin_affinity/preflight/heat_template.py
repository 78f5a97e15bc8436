"""Read the servers that a Heat template creates.

Example::

    heat_template_version: 2018-08-31
    parameters: {size: {type: number, default: 3}}
    resources:
      group: {type: 'OS::Nova::ServerGroup', properties: {policies: [anti-affinity]}}
      web:
        type: OS::Heat::ResourceGroup
        properties:
          count: {get_param: size}
          resource_def:
            type: OS::Nova::Server
            properties: {flavor: m1.small, scheduler_hints: {group: {get_resource: group}}}

OS::Nova::Server, ServerGroup and Flavor are read, with the functions get_param and get_resource.
OS::Heat::ResourceGroup and AutoScalingGroup count with their present size: ``count``;
``desired_capacity``, else ``min_size``. Conditions, nested stacks, other functions in a property
that matters, resources that create servers in another way, and properties that Heat 19 does not
know are in ``Workload.not_read``.

Raises: InvalidSpec for an invalid template, with the path; for an unknown parameter, and one
without a value; for an unknown property that is nearly a known one.

Source: Heat's "Template Guide".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from senlin_affinity.model.errors import InvalidSpec, Mistakes
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.server_group import ServerGroup, check_policy, check_rules
from senlin_affinity.model.suggestion import meant, typo_of
from senlin_affinity.preflight.question import Question
from senlin_affinity.preflight.stack_yaml import count_at, flavor_of, list_at, mapping_at
from senlin_affinity.preflight.workload import Workload

#: The key by which a template is recognized.
VERSION = 'heat_template_version'
_SERVER, _GROUP, _FLAVOR = 'OS::Nova::Server', 'OS::Nova::ServerGroup', 'OS::Nova::Flavor'
_RESOURCE_GROUP, _SCALING = 'OS::Heat::ResourceGroup', 'OS::Heat::AutoScalingGroup'
#: Other resources that create servers.
_OTHERS = """
    OS::Heat::Stack OS::Heat::InstanceGroup OS::Heat::ResourceChain OS::Senlin::Cluster
    OS::Senlin::Node OS::Magnum::Cluster OS::Sahara::Cluster OS::Trove::Instance OS::Trove::Cluster
    AWS::EC2::Instance AWS::AutoScaling::AutoScalingGroup AWS::CloudFormation::Stack
"""
#: The prefixes of types that Heat itself provides; any other type is a nested stack.
_OF_HEAT = ('OS::', 'AWS::')
_INDEX = '%index%'
#: The keys of a template, and of a resource in it.
_SECTIONS = """
    heat_template_version description parameter_groups parameters conditions resources outputs
"""
_OF_RESOURCE = """
    type properties metadata depends_on deletion_policy update_policy description external_id
    condition
"""
#: The properties that Heat 19 knows, by the type of the resource.
_PROPERTIES = {
    _SERVER: """
        admin_pass admin_user availability_zone block_device_mapping block_device_mapping_v2
        config_drive deployment_swift_data diskConfig flavor flavor_update_policy image
        image_update_policy key_name metadata name networks personality reservation_id
        scheduler_hints security_groups software_config_transport tags user_data user_data_format
        user_data_update_policy
    """,
    _GROUP: 'name policies rules',
    _FLAVOR: """
        disk ephemeral extra_specs flavorid is_public name ram rxtx_factor swap tenants vcpus
    """,
    _RESOURCE_GROUP: 'count index_var removal_policies removal_policies_mode resource_def',
    _SCALING: 'cooldown desired_capacity max_size min_size resource rolling_updates',
}
#: The properties of a server that are read.
_READ = """
    flavor image availability_zone scheduler_hints metadata block_device_mapping
    block_device_mapping_v2
"""


class NotRead(Exception):
    """A value that only Heat can compute."""


def read(document: Mapping[str, Any], parameters: Mapping[str, str]) -> Workload:
    """Return the requests of a template.

    :param parameters: the values that override the defaults.
    """
    _check_keys(document, _SECTIONS, '')
    declared = mapping_at(document.get('parameters') or {}, 'parameters')
    for name in parameters:
        if name not in declared:
            raise InvalidSpec(f'unknown parameter: {meant(name, declared)}', f'parameters.{name}')
    resources = mapping_at(document.get('resources') or {}, 'resources')
    return _Reader(declared, parameters, resources).read()


@dataclass
class _Reader:
    """A template, and what is found out about it."""

    declared: Mapping[str, Any]
    given: Mapping[str, str]
    resources: Mapping[str, Any]
    not_read: list[str] = field(default_factory=list)

    def read(self) -> Workload:
        """Return the requests."""
        mistakes, questions = Mistakes(), list[Question]()
        for name in self.resources:
            with mistakes.collected():
                _check_keys(self._body(name), _OF_RESOURCE, f'resources.{name}')
                questions += self._resource(name)
        mistakes.check()
        groups = [each for each in self.groups.values() if each is not None]
        return Workload((*questions,), (*groups,), (*self.not_read,))

    @cached_property
    def groups(self) -> Mapping[str, ServerGroup | None]:
        """The server groups that are created, by the name of the resource; None: not read."""
        return {name: self._try(name, self._group) for name in self._of_type(_GROUP)}

    @cached_property
    def flavors(self) -> Mapping[str, Flavor | None]:
        """The flavors that are created, by the name of the resource; None: not read."""
        return {name: self._try(name, self._flavor) for name in self._of_type(_FLAVOR)}

    def _of_type(self, kind: str) -> Iterator[str]:
        for name in self.resources:
            body = self._body(name)
            if body.get('type') == kind and 'condition' not in body:
                yield name

    def _body(self, name: str) -> Mapping[str, Any]:
        return mapping_at(self.resources[name], f'resources.{name}')

    def _try(self, name: str, make: Any) -> Any:
        """Return what ``make`` returns; None, with a note, if only Heat can tell."""
        try:
            return make(name)
        except NotRead as error:
            self.not_read.append(f'{name}: {error}')
            return None

    def _resource(self, name: str) -> Iterator[Question]:
        """Yield the requests of a resource."""
        body, path = self._body(name), f'resources.{name}'
        kind = body.get('type')
        if not isinstance(kind, str):
            raise InvalidSpec('must be the type of a resource', f'{path}.type')
        is_nested = not kind.startswith(_OF_HEAT)
        if is_nested or kind in _OTHERS.split():
            what = 'a nested stack' if is_nested else 'its servers'
            self.not_read.append(f'{name}: {what} ({kind})')
        elif 'condition' in body:
            if kind in (_SERVER, _GROUP, _FLAVOR, _RESOURCE_GROUP, _SCALING):
                self.not_read.append(f'{name}: it has a condition')
        elif kind == _SERVER:
            given = self._properties(name, kind, body, path)
            found = self._server(name, given, f'{path}.properties')
            yield from () if found is None else (found,)
        elif kind in (_RESOURCE_GROUP, _SCALING):
            yield from self._members(name, kind, path)

    def _members(self, name: str, kind: str, path: str) -> Iterator[Question]:
        """Yield the requests of a group of resources at its present size."""
        given, path = self._properties(name, kind, self._body(name), path), f'{path}.properties'
        is_group = kind == _RESOURCE_GROUP
        key = 'count' if is_group else 'desired_capacity'
        if not is_group and given.get(key) is None:
            key = 'min_size'
        try:
            size = count_at(self._value(given.get(key, 1), f'{path}.{key}'), f'{path}.{key}')
        except NotRead as error:
            self.not_read.append(f'{name}: {error}')
            return
        inner = 'resource_def' if is_group else 'resource'
        path = f'{path}.{inner}'
        member = mapping_at(given.get(inner) or {}, path)
        if member.get('type') != _SERVER:
            if member.get('type') not in (_GROUP, _FLAVOR) and size:
                self.not_read.append(f'{name}: {size} times {member.get("type")}')
            return
        every = self._properties(name, _SERVER, member, path)
        # Heat replaces the variable in what the functions return, not in their arguments.
        properties = {
            key: self._inner(value, f'{path}.properties.{key}', is_partial=True)
            for key, value in every.items()
            if key in _READ.split()
        }
        variable = str(given.get('index_var') or _INDEX)
        is_indexed = is_group and _indexed(properties, variable, 0) != properties
        found: dict[int, list[Question]] = {}
        for index in range(size if is_indexed else min(size, 1)):
            own = _indexed(properties, variable, index) if is_indexed else properties
            question = self._server(name, own, f'{path}.properties')
            if question is None:
                return
            kinds = (at for at, each in found.items() if each[0] == question)
            found.setdefault(next(kinds, index), []).append(question)
        for index, each in found.items():
            shown = name if len(found) == 1 else f'{name}[{index}]'
            yield replace(each[0], name=shown, count=len(each) if is_indexed else size)

    def _properties(
        self, name: str, kind: str, body: Mapping[str, Any], path: str
    ) -> Mapping[str, Any]:
        """Return the properties of a resource, with a note about each unknown one.

        Heat rejects these; a later release may know more.
        """
        path = f'{path}.properties'
        given, known = mapping_at(body.get('properties') or {}, path), _PROPERTIES[kind].split()
        for key in given:
            if key not in known:
                if near := typo_of(str(key), known):
                    raise InvalidSpec(f'unknown property: did you mean {near}?', f'{path}.{key}')
                self.not_read.append(f'{name}: the property {key} of {kind}, which is unknown')
        return given

    def _server(self, name: str, given: Mapping[str, Any], path: str) -> Question | None:
        """Return the request for one server; None, with a note, if its flavor is not known."""
        try:
            flavor = self._flavor_of(given, path)
        except NotRead as error:
            self.not_read.append(f'{name}: its flavor: {error}')
            return None
        read: dict[str, Any] = {}
        for key in ('availability_zone', 'image', 'metadata'):
            try:
                read[key] = self._value(given.get(key), f'{path}.{key}')
            except NotRead as error:
                self.not_read.append(f'{name}: {key}: {error}')
        zone, colon, host = str(read.get('availability_zone') or '').partition(':')
        if colon:
            self.not_read.append(f'{name}: the host in its zone, {host}')
        is_volume_booted, image = self._devices(name, given, path)
        group, hints = self._hints(name, given, path)
        return Question(
            1,
            flavor,
            name=name,
            server_group=group,
            availability_zone=zone or None,
            image=image or _text(read.get('image')),
            is_volume_booted=is_volume_booted,
            scheduler_hints=hints,
            metadata_items=len(read.get('metadata') or {}),
        )

    def _flavor_of(self, given: Mapping[str, Any], path: str) -> Flavor | str:
        """Return the flavor of a server: one that is created, or the id or name of another."""
        value = given.get('flavor')
        if value is None:
            raise InvalidSpec('is missing', f'{path}.flavor')
        resource = _resource_of(value)
        if resource is None:
            return str(self._value(value, f'{path}.flavor'))
        found = self.flavors.get(resource)
        if found is None:
            raise NotRead(f'that of {resource}')
        return found

    def _devices(self, name: str, given: Mapping[str, Any], path: str) -> tuple[bool, str | None]:
        """Return whether a server boots from a volume, and the image of that volume."""
        for key in ('block_device_mapping_v2', 'block_device_mapping'):
            try:
                devices = self._value(given.get(key) or [], f'{path}.{key}', is_partial=True)
            except NotRead as error:
                self.not_read.append(f'{name}: {key}: {error}')
                continue
            for at, each in enumerate(list_at(devices, f'{path}.{key}')):
                device = mapping_at(each, f'{path}.{key}[{at}]')
                is_root = device.get('device_name') in ('vda', '/dev/vda')
                if key == 'block_device_mapping_v2':
                    is_root = str(device.get('boot_index')) == '0'
                if is_root:
                    image = device.get('image') or device.get('image_id')
                    return True, image if isinstance(image, str) else None
        return False, None

    def _hints(
        self, name: str, given: Mapping[str, Any], path: str
    ) -> tuple[ServerGroup | str | None, Mapping[str, Any]]:
        """Return the server group of a server, and its other scheduler hints."""
        group: ServerGroup | str | None = None
        hints: dict[str, Any] = {}
        path = f'{path}.scheduler_hints'
        for key, value in mapping_at(given.get('scheduler_hints') or {}, path).items():
            resource = _resource_of(value)
            if key == 'group' and resource is not None:
                group = self.groups.get(resource)
                near = None if resource in self.resources else typo_of(resource, self.resources)
                if near is not None:
                    raise InvalidSpec(f'unknown resource: did you mean {near}?', f'{path}.{key}')
                if group is None:
                    self.not_read.append(f'{name}: its server group, {resource}')
                continue
            try:
                hints[key] = self._value(value, f'{path}.{key}')
            except NotRead as error:
                self.not_read.append(f'{name}: the hint {key}: {error}')
        return group or _text(hints.pop('group', None)), hints

    def _created(self, name: str, kind: str) -> tuple[Any, str]:
        """Return the values of the properties of a resource, and their path."""
        path = f'resources.{name}'
        given = self._properties(name, kind, self._body(name), path)
        path = f'{path}.properties'
        return self._value(given, path), path

    def _group(self, name: str) -> ServerGroup:
        """Return a server group that is created."""
        given, path = self._created(name, _GROUP)
        policies = list_at(given.get('policies') or ['anti-affinity'], f'{path}.policies')
        policy = check_policy(policies[0] if policies else None, f'{path}.policies')
        rules = check_rules(given.get('rules') or {}, policy, f'{path}.rules')
        return ServerGroup.planned(str(given.get('name') or name), policy, rules, name)

    def _flavor(self, name: str) -> Flavor:
        """Return a flavor that is created."""
        given, path = self._created(name, _FLAVOR)
        return flavor_of(f'new flavor {name}', str(given.get('name') or name), given, path)

    def _value(self, value: Any, path: str, *, is_partial: bool = False) -> Any:
        """Return a value with its parameters; raise NotRead for another function.

        :param is_partial: keep other functions inside of lists and mappings.
        """
        if isinstance(value, list):
            return [self._inner(each, path, is_partial=is_partial) for each in value]
        if not isinstance(value, Mapping):
            return value
        if len(value) == 1:
            ((key, argument),) = value.items()
            if key == 'get_param':
                return self._parameter(argument, path)
            if key in _FUNCTIONS.split():
                raise NotRead(f'the function {key}')
        return {key: self._inner(each, path, is_partial=is_partial) for key, each in value.items()}

    def _inner(self, value: Any, path: str, *, is_partial: bool) -> Any:
        try:
            return self._value(value, path, is_partial=is_partial)
        except NotRead:
            if is_partial:
                return value
            raise

    def _parameter(self, argument: Any, path: str) -> Any:
        """Return the value of a parameter, or of a part of it: ``[name, key, 0]``.

        As in Heat, a part that does not exist is empty.
        """
        name, *keys = argument if isinstance(argument, list) and argument else [argument]
        if isinstance(name, str) and name.startswith('OS::'):
            raise NotRead(f'the parameter {name}')
        if name not in self.declared:
            raise InvalidSpec(f'the template has no parameter {name!r}', path)
        body = mapping_at(self.declared[name], f'parameters.{name}')
        if name in self.given:
            value: Any = self.given[name]
        elif 'default' in body:
            value = body['default']
        else:
            words = f'has no default: add --parameter {name}=VALUE'
            raise InvalidSpec(words, f'parameters.{name}')
        if isinstance(value, str) and body.get('type') == 'comma_delimited_list':
            value = value.split(',') if value else []
        if isinstance(value, str) and body.get('type') == 'json':
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                raise InvalidSpec('must be JSON', f'parameters.{name}') from None
        for key in keys:
            try:
                value = value[int(key) if isinstance(value, list) else key]
            except (LookupError, TypeError, ValueError):
                return ''
        return value


def _check_keys(given: Mapping[str, Any], known: str, path: str) -> None:
    """Raise InvalidSpec for an unknown key of a template or resource, which Heat rejects."""
    for key in given:
        if key not in known.split():
            where = f'{path}.{key}' if path else str(key)
            raise InvalidSpec(f'unknown key: {meant(str(key), known.split())}', where)


#: The functions of a template, without those that are read.
_FUNCTIONS = """
    get_resource get_attr get_file list_join str_replace str_replace_strict str_replace_vstrict
    str_split map_merge map_replace repeat resource_facade digest yaql if and or not equals contains
    filter make_url list_concat list_concat_unique
"""


def _resource_of(value: object) -> str | None:
    """Return the name in ``{get_resource: NAME}``; None for any other value."""
    if isinstance(value, Mapping) and [*value] == ['get_resource']:
        return str(value['get_resource'])
    return None


def _indexed(value: Any, variable: str, index: int) -> Any:
    """Return a value in which the variable in its texts, outside of functions, is the index."""
    if isinstance(value, str):
        return value.replace(variable, str(index))
    if isinstance(value, list):
        return [_indexed(each, variable, index) for each in value]
    if isinstance(value, Mapping) and not (len(value) == 1 and {*value} <= {*_FUNCTIONS.split()}):
        return {key: _indexed(each, variable, index) for key, each in value.items()}
    return value


def _text(value: object) -> str | None:
    return str(value) if value else None
