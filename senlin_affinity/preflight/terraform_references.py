"""Follow the references in the configuration of a Terraform plan to the resources that they mean.

The id of a resource that is created is not known until apply. The configuration still names the
resource, such as ``openstack_compute_servergroup_v2.web``, perhaps by way of a variable or an
output of a module. Local values and ``dynamic`` blocks are not in it: nothing is found.

Example::

    Configuration(plan['configuration'], changes).find(change, ('scheduler_hints', 'group'), GROUP)
    the change with the address openstack_compute_servergroup_v2.web[0]

Source: Terraform, "JSON Output Format", Configuration Representation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: The name of a module, and its index as it is written; '' for none or an unknown one.
_Step = tuple[str, str]
_MODULE = re.compile(r'module\.([^.\[]+)(?:\[([^\]]*)\])?')
_RESOURCE = re.compile(r'(\w+)\.([^.\[]+)(?:\[([^\]]*)\])?')
#: References by which an instance chooses the instance of another resource with its own index.
_OWN_INDEX = ('each.key', 'count.index')
#: A chain of modules is not longer.
_DEEPEST = 20


@dataclass(frozen=True)
class Configuration:
    """The configuration of a plan, and the resources that it creates."""

    root: Mapping[str, Any]
    changes: Sequence[Mapping[str, Any]]

    def has(self, change: Mapping[str, Any], *path: str) -> bool:
        """Check whether the configuration sets an argument of a resource."""
        return bool(self._expression(change, path))

    def find(
        self, change: Mapping[str, Any], path: Sequence[str], kind: str
    ) -> Mapping[str, Any] | None:
        """Return the created resource of a kind that an argument refers to; None unless it is one.

        :param path: an argument, or a block and its argument.
        """
        references = [*map(str, self._expression(change, path).get('references', ()))]
        modules = _modules_of(change)
        found = [*self._targets(modules, references, kind, _DEEPEST)]
        named = {(where, name) for where, name, _index in found}
        if len(named) != 1:
            return None
        ((where, name),) = named
        instances = {
            _index_of(each): each
            for each in self.changes
            if (each.get('type'), each.get('name')) == (kind, name) and _is_in(each, where)
        }
        written = {index for _where, _name, index in found if index}
        if len(written) == 1:
            return instances.get(written.pop())
        if len(instances) == 1:
            return next(iter(instances.values()))
        is_own = any(each in references for each in _OWN_INDEX)
        return instances.get(_index_of(change)) if is_own else None

    def _expression(self, change: Mapping[str, Any], path: Sequence[str]) -> Mapping[str, Any]:
        """Return the expression of an argument; {} without one."""
        module = self._module(_modules_of(change))
        for each in _listed(module.get('resources')):
            if (each.get('type'), each.get('name')) == (change.get('type'), change.get('name')):
                found: Any = each.get('expressions', {})
                for key in path:
                    found = found[0] if isinstance(found, list) and found else found
                    found = found.get(key, {}) if isinstance(found, Mapping) else {}
                return found if isinstance(found, Mapping) else {}
        return {}

    def _module(self, modules: Sequence[_Step]) -> Mapping[str, Any]:
        found: Any = self.root.get('root_module', {})
        for name, _index in modules:
            found = _mapping(_mapping(_mapping(found).get('module_calls')).get(name)).get('module')
        return _mapping(found)

    def _targets(
        self, modules: tuple[_Step, ...], references: Sequence[str], kind: str, deep: int
    ) -> Iterator[tuple[tuple[_Step, ...], str, str]]:
        """Yield the modules, the name and the written index of each resource of a kind."""
        if not deep:
            return
        for text in references:
            step, resource = _MODULE.match(text), _RESOURCE.match(text)
            if step is not None:
                inner = (*modules, (step[1], step[2] or ''))
                output = text[step.end() :].removeprefix('.').partition('.')[0]
                outputs = _mapping(self._module(inner).get('outputs'))
                expression = _mapping(_mapping(outputs.get(output)).get('expression'))
            elif text.startswith('var.') and modules:
                inner, (name, _index) = modules[:-1], modules[-1]
                call = _mapping(_mapping(self._module(inner).get('module_calls')).get(name))
                variable = text.removeprefix('var.').partition('.')[0].partition('[')[0]
                expression = _mapping(_mapping(call.get('expressions')).get(variable))
            elif resource is not None and resource[1] == kind:
                index = resource[3] or ''
                yield modules, resource[2], '' if index in _OWN_INDEX else index
                continue
            else:
                continue
            more = [*map(str, expression.get('references', ()))]
            yield from self._targets(inner, more, kind, deep - 1)


def _modules_of(change: Mapping[str, Any]) -> tuple[_Step, ...]:
    """Return the modules of a resource, from the root."""
    address = str(change.get('module_address') or '')
    return tuple((name, index) for name, index in _MODULE.findall(address))


def _is_in(change: Mapping[str, Any], modules: Sequence[_Step]) -> bool:
    """Check whether a resource is in these modules; without an index, in any of the name."""
    own = _modules_of(change)
    return len(own) == len(modules) and all(
        one[0] == two[0] and two[1] in ('', one[1]) for one, two in zip(own, modules, strict=True)
    )


def _index_of(change: Mapping[str, Any]) -> str:
    """Return the index of an instance as it is written in an address; '' without one."""
    index = change.get('index')
    return '' if index is None else f'"{index}"' if isinstance(index, str) else str(index)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _listed(value: object) -> Iterator[Mapping[str, Any]]:
    every = value if isinstance(value, list) else ()
    return (each for each in every if isinstance(each, Mapping))
