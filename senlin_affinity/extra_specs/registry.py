"""Every definition that is known here: those of this project, and those of installed packages.

Data flow: entry points come in, each a list of definitions (document 004), or a module or callable
that registers them (Nova's form); one :class:`Registry` goes out, read once for the whole process.

What a plugin defines under a name of this project has no effect (:attr:`Registry.shadowed`).

Nova's options and Senlin's do not fit into one process, so nova is never imported here: while an
entry point is loaded, nova cannot be found, unless the process runs Nova and has it already. What
does not load like that is handed, all at once, to the reader in the group ``READERS``.

Errors: PluginError for an entry point that does not load or is none of these, and for two plugins
that define one name: it names both. Only :func:`available` goes without what does not load, and
with names that two plugins define: :meth:`Registry.missing_for` says which names cannot be judged.

Source: document 004. We differ on purpose: in Nova the last one wins, and what fails to load is
skipped.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.metadata import EntryPoint

from senlin_affinity.core.errors import InvalidSpec, PluginError
from senlin_affinity.extra_specs.base import ExtraSpecValidator, Namespace
from senlin_affinity.extra_specs.conversion import converted
from senlin_affinity.extra_specs.index import Index
from senlin_affinity.extra_specs.suggestions import Suggestions
from senlin_affinity.extra_specs.validators import namespaces

#: Where plugins are looked for; in Nova's own group only on request, as its modules need nova.
GROUPS = ('senlin_affinity.extra_spec_validators', 'nova.extra_spec_validators')
NOVA_GROUP = 'nova.api.extra_spec_validators'
#: Who reads what does not load here: a callable that takes entry points, and gives a Plugin or a
#: PluginError for each of them: an Unanswered where the reader failed, and not the plugin.
READERS = 'senlin_affinity.extra_spec_readers'
_OURS = 'senlin_affinity.'
#: A process that has Nova's options has room for all of it. (``nova`` alone is an empty package.)
_NOVA_OPTIONS = 'nova.conf'
#: Recursive, so that eventlet makes a green one of it in a process that is patched later.
_READING = threading.RLock()


@dataclass(frozen=True)
class Plugin:
    """An entry point: its name, what it points to, and the definitions that it brings."""

    name: str
    target: str
    validators: tuple[ExtraSpecValidator, ...]

    def __str__(self) -> str:
        return f'{self.name} ({self.target})'


class Unanswered(PluginError):
    """A plugin of which nothing was found out, so that it has to be read again."""


class Registry:
    """The definitions, and how to find the one that a name belongs to.

    ``namespaces`` and ``own`` are those of this project; ``added`` is what plugins define besides,
    and ``shadowed`` what they define in vain, each with its plugin. ``missing`` says what is not
    whole: plugins that could not be read, and names that are defined twice.
    """

    def __init__(
        self,
        own: Iterable[Namespace] | None = None,
        plugins: Iterable[Plugin] = (),
        missing: Iterable[PluginError] = (),
    ) -> None:
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
        #: Every definition that has an effect.
        self.validators = self.own + self.added
        # Most names have no placeholder: one look, whoever defines them.
        self._literal = {each.name: each for each in self.validators if each.is_literal}

    def find(self, name: str) -> ExtraSpecValidator | None:
        """The definition that a name belongs to; None: there is none."""
        return self._literal.get(name) or self._own.find(name) or self._added.find(name)

    def missing_for(self, name: str) -> tuple[PluginError, ...]:
        """What of :attr:`missing` counts for this name.

        For one that is not found, every plugin that could not be read: it may be one of theirs.
        """
        found = self.find(name)
        if found is None:
            return self._unread
        return (self._clashes[found.name],) if found.name in self._clashes else ()

    def suggest(self, name: str) -> str | None:
        """The known name that an unknown one was meant to be; None: it looks like no other."""
        return self._suggestions.suggest(name)

    @cached_property
    def _suggestions(self) -> Suggestions:
        return Suggestions(self.validators, self.find)


def installed(*, with_nova: bool = False) -> Registry:
    """All that is installed, ``with_nova`` also Nova's own group; PluginError if any is missing."""
    registry = available(with_nova=with_nova)
    if registry.missing:
        raise PluginError('; '.join(map(str, registry.missing))) from registry.missing[0]
    return registry


def available(*, with_nova: bool = False) -> Registry:
    """The same, without the plugins that cannot be read (:attr:`Registry.missing`).

    A registry is kept as long as the process lives, with what it lacks: no entry point is added
    meanwhile, and modules stay as they were imported. It is read again after an Unanswered.
    """
    with _READING:
        registry = _kept((*GROUPS, NOVA_GROUP) if with_nova else GROUPS)
        if any(isinstance(each, Unanswered) for each in registry.missing):
            _kept.cache_clear()
        return registry


@cache
def own() -> Registry:
    """What this project defines, and no plugin."""
    return Registry()


def _read(groups: Iterable[str]) -> Registry:
    # Longer to import than all that is above.
    from stevedore import ExtensionManager, NamedExtensionManager

    found: dict[tuple[str, str], Plugin | PluginError] = {}
    failed: dict[tuple[str, str], EntryPoint] = {}
    for group in groups:
        for entry_point in NamedExtensionManager(group, ()).list_entry_points():
            # One entry point in two groups is one plugin.
            key = (entry_point.name, entry_point.value)
            if key in found or (group == NOVA_GROUP and entry_point.value.startswith(_OURS)):
                continue
            try:
                with _without_nova():
                    found[key] = load(entry_point)
            except PluginError as error:
                found[key], failed[key] = error, entry_point
    if failed and _NOVA_OPTIONS not in sys.modules:
        for reader in ExtensionManager(READERS).extensions:
            found |= zip(failed, reader.plugin(tuple(failed.values())), strict=True)
    return Registry(
        own().namespaces,
        (each for each in found.values() if isinstance(each, Plugin)),
        (each for each in found.values() if isinstance(each, PluginError)),
    )


_kept = cache(_read)


@contextmanager
def _without_nova() -> Iterator[None]:
    """Let no module be imported from nova, unless it is at home in this process."""
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
    """The definitions of an entry point, loaded into this process."""
    plugin = Plugin(entry_point.name, entry_point.value, ())
    try:
        source = entry_point.load()
    except (Exception, SystemExit) as error:
        words = str(error) or type(error).__name__
        raise PluginError(f'extra spec validators {plugin} do not load: {words}') from error
    try:
        if not isinstance(source, list | tuple):
            source = source.register() if hasattr(source, 'register') else source()
        return replace(plugin, validators=tuple(map(converted, source)))
    except InvalidSpec as error:
        raise PluginError(f'extra spec validators {plugin}: {error}') from error
    except Exception as error:
        raise PluginError(
            f'extra spec validators {plugin} can not be read: {error}; the entry point must be a '
            'list of definitions, or a module or callable that gives one'
        ) from error


def _unique(
    plugins: Iterable[Plugin],
) -> tuple[Iterable[tuple[Plugin, ExtraSpecValidator]], Mapping[str, PluginError]]:
    """Each name once, and the names that are defined twice; a plugin may repeat itself."""
    seen: dict[str, tuple[Plugin, ExtraSpecValidator]] = {}
    clashes: dict[str, PluginError] = {}
    for plugin in plugins:
        for validator in plugin.validators:
            name = validator.name
            other, known = seen.setdefault(name, (plugin, validator))
            if other is not plugin:
                words = f'two plugins define {name}: {other} and {plugin}'
            elif known != validator:
                words = f'{plugin} defines {name} twice, and differently'
            else:
                continue
            clashes.setdefault(name, PluginError(words))
    return seen.values(), clashes
