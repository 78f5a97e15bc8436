"""Every definition that is known here: those of this project, and those of installed packages.

The way of the data: entry points come in, each a list of definitions (document 004), or a module or
callable that registers them (Nova's form); one :class:`Registry` goes out. :func:`installed` reads
them once for the whole process.

What this project defines comes first: what a plugin defines under the same name has no effect, and
is listed in :attr:`Registry.shadowed`, so that the caller can say so.

Errors: PluginError for an entry point that does not load or is none of these, and for two plugins
that define one name: it names both.

Source: R4-12, R4-13, Q4-3, Q4-4. We differ on purpose: in Nova the last one wins, and what fails to
load is skipped (D4-04).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

from senlin_affinity.core.errors import InvalidSpec, PluginError
from senlin_affinity.extra_specs.base import ExtraSpecValidator, Namespace
from senlin_affinity.extra_specs.conversion import converted
from senlin_affinity.extra_specs.index import Index
from senlin_affinity.extra_specs.suggestions import Suggestions
from senlin_affinity.extra_specs.validators import namespaces

if TYPE_CHECKING:
    from stevedore import ExtensionManager
    from stevedore.extension import Extension

#: Where plugins are looked for; in Nova's own group only on request, as it imports nova.
GROUPS = ('senlin_affinity.extra_spec_validators', 'nova.extra_spec_validators')
NOVA_GROUP = 'nova.api.extra_spec_validators'
_OURS = 'senlin_affinity.'


@dataclass(frozen=True)
class Plugin:
    """An entry point: its name, what it points to, and the definitions that it brings."""

    name: str
    target: str
    validators: tuple[ExtraSpecValidator, ...]

    def __str__(self) -> str:
        return f'{self.name} ({self.target})'


class Registry:
    """The definitions, and how to find the one that a name belongs to.

    ``namespaces`` are those of this project; ``added`` is what plugins define besides, and
    ``shadowed`` what they define in vain, each with its plugin.
    """

    def __init__(
        self, own: Iterable[Namespace] | None = None, plugins: Iterable[Plugin] = ()
    ) -> None:
        self.namespaces = namespaces() if own is None else tuple(own)
        self.own = tuple(each for namespace in self.namespaces for each in namespace.validators)
        self._own = Index(self.own)
        added: list[ExtraSpecValidator] = []
        shadowed: list[tuple[Plugin, ExtraSpecValidator]] = []
        names = {validator.name for validator in self.own}
        for plugin, validator in _unique(plugins):
            if validator.name in names or self._own.find(validator.name) is not None:
                shadowed.append((plugin, validator))
            else:
                added.append(validator)
        self.added, self.shadowed = tuple(added), tuple(shadowed)
        self._added = Index(added)
        # Most names have no placeholder: one look, whoever defines them.
        self._literal = {each.name: each for each in self.validators if each.is_literal}

    @property
    def validators(self) -> tuple[ExtraSpecValidator, ...]:
        """Every definition that has an effect."""
        return self.own + self.added

    def find(self, name: str) -> ExtraSpecValidator | None:
        """The definition that a name belongs to; None: there is none."""
        return self._literal.get(name) or self._own.find(name) or self._added.find(name)

    def suggest(self, name: str) -> str | None:
        """The known name that an unknown one was meant to be; None: it looks like no other."""
        return self._suggestions.suggest(name)

    @cached_property
    def _suggestions(self) -> Suggestions:
        return Suggestions(self.validators, self.find)


@cache
def installed(*, with_nova: bool = False) -> Registry:
    """The registry of this process: read at the first call.

    ``with_nova`` reads Nova's own group as well, which imports nova.
    """
    from stevedore import ExtensionManager  # takes longer to import than all that is above

    found: dict[tuple[str, str], Plugin] = {}
    for group in (*GROUPS, NOVA_GROUP) if with_nova else GROUPS:
        manager = ExtensionManager(group, on_load_failure_callback=_refuse)
        for extension in manager.extensions:
            if group != NOVA_GROUP or not extension.entry_point_target.startswith(_OURS):
                # One entry point in two groups is one plugin.
                found.setdefault(
                    (extension.name, extension.entry_point_target), read_plugin(extension)
                )
    return Registry(plugins=found.values())


def read_plugin(extension: Extension) -> Plugin:
    """The definitions of an entry point that was loaded."""
    plugin = Plugin(extension.name, extension.entry_point_target, ())
    source = extension.plugin
    try:
        if not isinstance(source, list | tuple):
            source = source.register() if hasattr(source, 'register') else source()
        read = tuple(converted(each) for each in source)
    except InvalidSpec as error:
        raise PluginError(f'extra spec validators {plugin}: {error}') from error
    except Exception as error:
        raise PluginError(
            f'extra spec validators {plugin} can not be read: {error}; the entry point must be a '
            'list of definitions, or a module or callable that gives one'
        ) from error
    return Plugin(plugin.name, plugin.target, read)


def _refuse(manager: ExtensionManager, entry_point: object, error: BaseException) -> None:
    if manager.namespace == NOVA_GROUP and str(getattr(entry_point, 'value', '')).startswith(_OURS):
        return
    raise PluginError(f'extra spec validators {entry_point} do not load: {error}') from error


def _unique(plugins: Iterable[Plugin]) -> Iterable[tuple[Plugin, ExtraSpecValidator]]:
    """Each definition once; a plugin may repeat itself, but no other plugin."""
    seen: dict[str, tuple[Plugin, ExtraSpecValidator]] = {}
    for plugin in plugins:
        for validator in plugin.validators:
            other, known = seen.setdefault(validator.name, (plugin, validator))
            if other is not plugin:
                raise PluginError(f'two plugins define {validator.name}: {other} and {plugin}')
            if known != validator:
                raise PluginError(f'{plugin} defines {validator.name} twice, and differently')
    return seen.values()
