"""Load all definitions: those of this project, and those of installed packages.

An entry point is a list of definitions (the specification's form), or a module or callable that
registers them (Nova's form). A plugin's definition of a name of this project has no effect
(:attr:`Registry.shadowed`).

Importing a package may hang or end the process. The reader in the group ``READERS`` therefore loads
all entry points in a separate process first, unless this process runs Nova. This process imports
only what loaded there. Importing nova then fails, because the options of Nova and Senlin conflict;
the reader's result replaces an entry point that fails to load for this reason.

Raises: PluginError for an entry point that does not load or has neither form, and for two plugins
that define one name. :func:`available` raises nothing: :meth:`Registry.missing_for` lists the names
that cannot be validated. (In Nova, the last definition wins, and a plugin that fails to load is
skipped.)
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.metadata import EntryPoint
from typing import Any

from stevedore import ExtensionManager, NamedExtensionManager

from senlin_affinity.extra_specs.base import EXTRA_SPEC, PLACEHOLDER, ExtraSpecValidator, Namespace
from senlin_affinity.extra_specs.suggestions import Suggestions
from senlin_affinity.extra_specs.validators import namespaces
from senlin_affinity.model.errors import InvalidSpec, PluginError

#: The groups of plugins.
GROUPS = ('senlin_affinity.extra_spec_validators', 'nova.extra_spec_validators')
NOVA_GROUP = 'nova.api.extra_spec_validators'
#: A callable that takes entry points and returns a Plugin or a PluginError for each of them:
#: Unanswered if the reader failed instead of the plugin.
READERS = 'senlin_affinity.extra_spec_readers'
_OURS = 'senlin_affinity.'
#: A process that has loaded this can import Nova.
_NOVA_OPTIONS = 'nova.conf'
#: Recursive, so that eventlet converts it in a process that is patched later.
_READING = threading.RLock()


@dataclass(frozen=True)
class Plugin:
    """An entry point: its name, its target, and its definitions."""

    name: str
    target: str
    validators: tuple[ExtraSpecValidator, ...]

    def __str__(self) -> str:
        return f'{self.name} ({self.target})'


class Unanswered(PluginError):
    """A plugin whose reader failed, so that it must be read again."""


class Index:
    """Definitions by the names that they match.

    A definition without a placeholder comes first, then those with a placeholder in only one of the
    two sides of the first colon. Of these, the one with the most characters outside its
    placeholders wins, or else the first by name.
    """

    def __init__(self, validators: Iterable[ExtraSpecValidator] = ()) -> None:
        self._literal: dict[str, ExtraSpecValidator] = {}
        #: By the two sides; None: a side with a placeholder.
        self._templates: dict[tuple[str | None, ...], list[ExtraSpecValidator]] = {}
        for each in validators:
            if each.is_literal:
                self._literal[each.name] = each
            else:
                texts = (part.text if part else '' for part in each.parts)
                sides = (*(None if '{' in text else text for text in texts),)
                self._templates.setdefault(sides, []).append(each)
        for found in self._templates.values():
            found.sort(key=lambda it: (-len(PLACEHOLDER.sub('', it.name)), it.name))

    def find(self, name: str) -> ExtraSpecValidator | None:
        """Return the definition that matches a name, or None."""
        if name in self._literal:
            return self._literal[name]
        before, colon, behind = name.partition(':')
        namespace, key = (before, behind) if colon else ('', name)
        for sides in ((namespace, None), (None, key), (None, None)):
            for each in self._templates.get(sides, ()):
                if each.matches(name):
                    return each
        return None


class Registry:
    """All definitions.

    ``namespaces`` and ``own`` belong to this project. ``added`` has the definitions of plugins, and
    ``shadowed`` their definitions without effect, each with its plugin. ``missing`` has an error
    for each plugin that could not be read, and for each name that is defined twice.
    """

    def __init__(
        self,
        own: Iterable[Namespace] | None = None,
        plugins: Iterable[Plugin] = (),
        missing: Iterable[PluginError] = (),
        kind: str = EXTRA_SPEC,
    ) -> None:
        self.kind = kind
        self.namespaces = namespaces() if own is None else tuple(own)
        self.own = tuple(each for namespace in self.namespaces for each in namespace.validators)
        self._own = Index(self.own)
        names = {validator.name for validator in self.own}
        added: list[ExtraSpecValidator] = []
        shadowed: list[tuple[Plugin, ExtraSpecValidator]] = []
        unique, clashes = _unique(plugins)
        for plugin, validator in unique:
            if validator.name in names or self._own.find(validator.name) is not None:
                shadowed.append((plugin, validator))
            else:
                added.append(validator)
        self.added, self.shadowed = tuple(added), tuple(shadowed)
        self._added = Index(added)
        self._clashes = {each.name: clashes[each.name] for each in added if each.name in clashes}
        self._unread = tuple(missing)
        self.missing = (*self._unread, *clashes.values())
        self.validators = self.own + self.added

    def find(self, name: str) -> ExtraSpecValidator | None:
        """Return the definition that matches a name, or None."""
        return self._own.find(name) or self._added.find(name)

    def missing_for(self, name: str) -> tuple[PluginError, ...]:
        """Return the errors of :attr:`missing` that concern this name.

        For an unknown name, return every plugin that could not be read.
        """
        found = self.find(name)
        if found is None:
            return self._unread
        return (self._clashes[found.name],) if found.name in self._clashes else ()

    def is_in_own_namespace(self, name: str) -> bool:
        """Check whether this project defines names in the namespace of a name."""
        return _are_in_namespace(self.own, name)

    def is_in_namespace_of_plugin(self, name: str) -> bool:
        """Check whether a plugin defines names in the namespace of a name."""
        return _are_in_namespace(self.added, name)

    def suggest(self, name: str) -> str | None:
        """Return the known name that an unknown one resembles, or None."""
        return self._suggestions.suggest(name)

    @cached_property
    def _suggestions(self) -> Suggestions:
        return Suggestions(self.validators, self.find)


def _are_in_namespace(validators: Iterable[ExtraSpecValidator], name: str) -> bool:
    """Check whether any of the definitions is in the namespace of a name."""
    namespace, colon, _ = name.partition(':')
    patterns = {each.parts[0].pattern for each in validators if each.parts[0] is not None}
    return bool(colon) and any(re.fullmatch(each, namespace) for each in patterns)


def installed(*, with_nova: bool = False) -> Registry:
    """Return all installed definitions; raise PluginError if any plugin is missing.

    :param with_nova: include Nova's own group, whose modules need nova.
    """
    registry = available(with_nova=with_nova)
    if registry.missing:
        raise PluginError('; '.join(map(str, registry.missing))) from registry.missing[0]
    return registry


def available(*, with_nova: bool = False) -> Registry:
    """Return the installed definitions without the plugins that cannot be read.

    The result is cached for the life of the process, unless it contains an Unanswered.
    """
    with _READING:
        registry = _kept((*GROUPS, NOVA_GROUP) if with_nova else GROUPS)
        if any(isinstance(each, Unanswered) for each in registry.missing):
            _kept.cache_clear()
        return registry


@cache
def own() -> Registry:
    """Return the definitions of this project only."""
    return Registry()


def _read(groups: Iterable[str]) -> Registry:
    found: dict[tuple[str, str], Plugin | PluginError] = {}
    entry_points: dict[tuple[str, str], EntryPoint] = {}
    for group in groups:
        for entry_point in NamedExtensionManager(group, ()).list_entry_points():
            # An entry point in two groups is one plugin.
            key = (entry_point.name, entry_point.value)
            if not (group == NOVA_GROUP and entry_point.value.startswith(_OURS)):
                entry_points.setdefault(key, entry_point)
    if entry_points and _NOVA_OPTIONS not in sys.modules:
        for reader in ExtensionManager(READERS).extensions:
            found |= zip(entry_points, reader.plugin(tuple(entry_points.values())), strict=True)
    for key, entry_point in entry_points.items():
        if isinstance(found.get(key), PluginError) and not isinstance(found[key], Unanswered):
            continue  # importing it here could end this process
        try:
            with _without_nova():
                found[key] = load(entry_point)
        except PluginError as error:
            found.setdefault(key, error)
    return Registry(
        own().namespaces,
        (each for each in found.values() if isinstance(each, Plugin)),
        (each for each in found.values() if isinstance(each, PluginError)),
    )


_kept = cache(_read)


@contextmanager
def _without_nova() -> Iterator[None]:
    """Let imports of nova fail in the block, unless this process runs Nova."""
    if _NOVA_OPTIONS in sys.modules:
        yield
        return
    known = {'nova': sys.modules['nova']} if 'nova' in sys.modules else {}
    sys.modules['nova'] = None  # type: ignore[assignment]  # Python's own word for "not there"
    try:
        yield
    finally:
        sys.modules.pop('nova', None)
        sys.modules.update(known)


def load(entry_point: EntryPoint) -> Plugin:
    """Return the definitions of an entry point, loaded into this process."""
    plugin = Plugin(entry_point.name, entry_point.value, ())
    try:
        source = entry_point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        words = str(error) or type(error).__name__
        raise PluginError(f'extra spec validators {plugin} do not load: {words}') from error
    try:
        if not isinstance(source, list | tuple):
            source = source.register() if hasattr(source, 'register') else source()
        return replace(plugin, validators=tuple(map(converted, source)))
    except InvalidSpec as error:
        raise PluginError(f'extra spec validators {plugin}: {error}') from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise PluginError(
            f'extra spec validators {plugin} cannot be read: {error}; the entry point must be a '
            'list of definitions, or a module or callable that returns such a list'
        ) from error


def converted(given: Any) -> ExtraSpecValidator:
    """Return the equivalent definition of one that was written for Nova.

    A definition of this project is returned unchanged. Attributes that Nova ignores are dropped. Of
    a pattern and an enum, only the pattern counts, as in Nova. Raise InvalidSpec for anything else.
    """
    if isinstance(given, ExtraSpecValidator):
        return given
    name, value = getattr(given, 'name', None), getattr(given, 'value', None)
    if not isinstance(name, str) or not isinstance(value, Mapping):
        raise InvalidSpec(f'must be definitions (ExtraSpecValidator), not {given!r}')
    parameters = [
        {'pattern': each.get('pattern'), 'name': each['name']}
        | {key: each[key] for key in ('description',) if key in each}
        for each in getattr(given, 'parameters', None) or ()
        if f'{{{each["name"]}}}' in name
    ]
    return ExtraSpecValidator(
        name=name,
        description=getattr(given, 'description', None) or name,
        value=_value(value),
        parameters=parameters,
        deprecated=bool(getattr(given, 'deprecated', False)),
    )


def _value(value: Mapping[str, Any]) -> dict[str, Any]:
    kind = value.get('type')
    read = {'type': kind, 'description': value.get('description', '')}
    if kind is int:
        read |= {key: value[key] for key in ('min', 'max') if key in value}
    elif kind is str and value.get('pattern'):
        read['pattern'] = value['pattern']
    elif kind is str and 'enum' in value:
        read['enum'] = tuple(dict.fromkeys(value['enum']))
    return read


def _unique(
    plugins: Iterable[Plugin],
) -> tuple[Iterable[tuple[Plugin, ExtraSpecValidator]], Mapping[str, PluginError]]:
    """Return each name once, and an error for each name that is defined twice.

    A plugin may repeat an equal definition.
    """
    defined: dict[str, tuple[Plugin, ExtraSpecValidator]] = {}
    clashes: dict[str, PluginError] = {}
    for plugin in plugins:
        for validator in plugin.validators:
            name = validator.name
            other, known = defined.setdefault(name, (plugin, validator))
            if other is not plugin:
                words = f'two plugins define {name}: {other} and {plugin}'
            elif known != validator:
                words = f'{plugin} has two different definitions of {name}'
            else:
                continue
            clashes.setdefault(name, PluginError(words))
    return defined.values(), clashes
