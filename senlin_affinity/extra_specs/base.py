"""Define an extra spec: its name, its value and its meaning.

Example::

    ExtraSpecValidator(
        name='hw:numa_mem.{id}',
        description='The memory of the guest NUMA node ``{id}``.',
        parameters=[{'name': 'id', 'type': int, 'description': 'The guest NUMA node.'}],
        value={'type': int, 'min': 1, 'description': 'Its memory in MB.'},
    )

A parameter has a ``type`` (int: digits; str: any text), as in the specification, or Nova's
``pattern``. The first colon of a name ends its namespace: no placeholder before it matches a colon.

Raises: InvalidSpec for an invalid definition, with the name of the definition in its path.

Source: https://blueprints.launchpad.net/nova/+spec/flavor-extra-spec-validators;
``nova/api/validation/extra_specs/base.py``. Deviation: outside its placeholders a name is literal
(a dot matches only a dot).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from senlin_affinity.extra_specs import hints
from senlin_affinity.extra_specs.values import Value, check_keys, compiled
from senlin_affinity.model.errors import InvalidSpec, PluginError, quoted

#: The kinds of definitions.
EXTRA_SPEC, IMAGE_PROPERTY = 'extra spec', 'image property'
PLACEHOLDER = re.compile(r'\{(\w+)\}')
_TYPES: Mapping[type, str] = {int: r'\d+', str: r'.+'}


@dataclass(frozen=True)
class Parameter:
    """A placeholder of a name; ``pattern`` must match its whole text."""

    name: str
    pattern: str
    description: str = ''

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.isidentifier():
            raise InvalidSpec(f'must be a word, not {self.name!r}', 'parameters.name')
        compiled(self.pattern, f'parameters.{self.name}.pattern')

    @classmethod
    def read(cls, given: Parameter | Mapping[str, Any]) -> Parameter:
        """Return a parameter from a mapping in the form of the specification or of Nova."""
        if isinstance(given, Parameter):
            return given
        if not isinstance(given, Mapping) or 'name' not in given:
            raise InvalidSpec(
                f"must be mappings such as {{'name': 'id', 'type': int}}, not {given!r}",
                'parameters',
            )
        path = f'parameters.{given["name"]}'
        check_keys(given, ('name', 'type', 'pattern', 'description'), path)
        if ('type' in given) == ('pattern' in given):
            raise InvalidSpec('must have either a type (int or str) or a pattern', path)
        if 'pattern' in given:
            pattern = given['pattern']
        elif given['type'] in (int, str):
            pattern = _TYPES[given['type']]
        else:
            raise InvalidSpec(f'must be int or str, not {given["type"]!r}', f'{path}.type')
        return cls(given['name'], pattern, given.get('description', ''))


class Part:
    """One side of a name, before or after its first colon, with its placeholders.

    ``head`` is the text before the first placeholder, ``tail`` the text after the last one.
    """

    def __init__(self, text: str, parameters: Iterable[Parameter]) -> None:
        self.text = text
        self.pieces = PLACEHOLDER.split(text)
        self.is_literal = len(self.pieces) == 1
        self.head, self.tail = self.pieces[0], '' if self.is_literal else self.pieces[-1]
        self._patterns = {parameter.name: parameter.pattern for parameter in parameters}

    @cached_property
    def pattern(self) -> str:
        """The pattern that this whole side of a name must match; equal for equal parts."""
        return ''.join(
            f'(?:{self._patterns[piece]})' if place % 2 else re.escape(piece)
            for place, piece in enumerate(self.pieces)
        )

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return re.compile(self.pattern)


@dataclass(frozen=True, init=False)
class ExtraSpecValidator:
    """The definition of an extra spec, or of a family of extra specs.

    :param name: the name, with a ``{placeholder}`` for each parameter.
    :param description: what the extra spec does, in reStructuredText.
    :param value: the allowed values, see :mod:`senlin_affinity.extra_specs.values`.
    :param parameters: the allowed texts of the placeholders.
    :param deprecated: whether new flavors should avoid it. Documented only.
    :param replaced_by: the extra spec to use instead of a deprecated one.
    :param image_property: the equivalent image property (``hw_cpu_policy``).
    :param drivers: the virt drivers that support it; empty: all, or unknown. Documented only.
    :param depends_on: names of extra specs that it needs to have an effect. Documented only.
    :param check: an additional check. It receives the number, boolean or string, and raises a
        ValueError or an InvalidSpec with the reason. Any other exception becomes a PluginError.
    """

    kind: ClassVar[str] = EXTRA_SPEC
    name: str
    description: str
    value: Value
    parameters: tuple[Parameter, ...]
    deprecated: bool
    replaced_by: str | None
    image_property: str | None
    drivers: tuple[str, ...]
    depends_on: tuple[str, ...]
    check: Callable[[Any], object] | None

    def __init__(
        self,
        name: str,
        description: str,
        value: Value | Mapping[str, Any],
        parameters: Iterable[Parameter | Mapping[str, Any]] = (),
        deprecated: bool = False,
        replaced_by: str | None = None,
        image_property: str | None = None,
        drivers: Iterable[str] = (),
        depends_on: Iterable[str] = (),
        check: Callable[[Any], object] | None = None,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise InvalidSpec(f'an {self.kind} needs a name, not {name!r}')
        try:
            if check is not None and not callable(check):
                raise InvalidSpec(f'must be a callable, not {check!r}', 'check')
            vars(self).update(
                name=name,
                description=_text('description', description),
                value=Value.read(value),
                parameters=_parameters(name, parameters),
                deprecated=bool(deprecated),
                replaced_by=replaced_by,
                image_property=image_property,
                drivers=_texts('drivers', drivers),
                depends_on=_texts('depends_on', depends_on),
                check=check,
            )
        except InvalidSpec as error:
            raise InvalidSpec(error.message, f'{name}.{error.path}') from error

    @property
    def status(self) -> str:
        """The support status: ``supported`` or ``deprecated``."""
        return 'deprecated' if self.deprecated else 'supported'

    @property
    def namespace(self) -> str:
        """``hw`` for ``hw:cpu_policy``, ``trait`` for ``trait{group}:...``, '' without one."""
        before, colon, _ = self.name.partition(':')
        return before.partition('{')[0] if colon else ''

    @cached_property
    def parts(self) -> tuple[Part | None, Part]:
        """The parts before the first colon (None: there is no colon) and after it."""
        before, colon, behind = self.name.partition(':')
        if not colon:
            return None, Part(self.name, self.parameters)
        return Part(before, self.parameters), Part(behind, self.parameters)

    @property
    def is_literal(self) -> bool:
        """Whether the name has no placeholder."""
        return '{' not in self.name

    def matches(self, name: str) -> bool:
        """Check whether this is a definition of an extra spec of this name."""
        before, colon, behind = name.partition(':')
        namespace, key = self.parts
        if namespace is None:
            return not colon and key.regex.fullmatch(name) is not None
        sides = (namespace, before), (key, behind)
        return bool(colon) and all(part.regex.fullmatch(text) for part, text in sides)

    def complaint(self, value: object) -> str | None:
        """Return why a value is invalid, or None."""
        found = self.value.complaint(value, self.name)
        if found is None and self.check is not None:
            try:
                self.check(self.value.parsed(str(value)))
            except InvalidSpec as error:
                return error.message
            except ValueError as error:
                return str(error) or f'must not be {quoted(value)}'
            except PluginError:
                raise
            except Exception as error:
                raise PluginError(f'the check of {self.name} fails: {error!r}') from error
        return found

    def note(self, value: object) -> str | None:
        """Return what Nova silently makes of a valid value, or None."""
        return hints.of_value(self.name, str(value))


@dataclass(frozen=True)
class Namespace:
    """A namespace of definitions; ``name`` is '' for extra specs without one."""

    name: str
    title: str
    summary: str
    validators: tuple[ExtraSpecValidator, ...]
    kind: str = EXTRA_SPEC


def _parameters(name: str, given: Iterable[Parameter | Mapping[str, Any]]) -> tuple[Parameter, ...]:
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise InvalidSpec(f'must be a list of mappings, not {given!r}', 'parameters')
    read = tuple(map(Parameter.read, given))
    pieces = PLACEHOLDER.split(name)
    placeholders = pieces[1::2]
    for piece in pieces[::2]:
        if '{' in piece or '}' in piece:
            raise InvalidSpec('must have braces only around a placeholder: {word}', 'name')
    for known, used, what in (
        ([each.name for each in read], placeholders, 'the name has no such placeholder'),
        (placeholders, [each.name for each in read], 'the placeholder has no parameter'),
    ):
        for word in known:
            if known.count(word) > 1:
                raise InvalidSpec('occurs twice', f'parameters.{word}')
            if word not in used:
                raise InvalidSpec(what, f'parameters.{word}')
    return read


def _text(key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidSpec(f'must be a text, not {value!r}', key)
    return value


def _texts(key: str, values: Iterable[str]) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidSpec(f'must be a list of names, not {values!r}', key)
    return tuple(_text(key, value) for value in values)
