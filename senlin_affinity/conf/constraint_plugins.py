"""Load the installed constraints: those of this project, and those of other packages.

Each entry point of :data:`~senlin_affinity.constraints.base.NAMESPACE` yields one constraint.

Raises: PluginError for a constraint that does not load, is not a subclass of Constraint, declares a
code outside its own name, a part that no snapshot has or a field that no host has, or shares its
name or an option's name with another. A missing constraint would let servers onto the wrong hosts,
so nothing is skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from stevedore import NamedExtensionManager
from stevedore.extension import Extension

from senlin_affinity.constraints.base import NAMESPACE, Constraint, Host
from senlin_affinity.model import suggestion
from senlin_affinity.model.cloud import OF_FETCH, Cloud
from senlin_affinity.model.errors import PluginError, in_words
from senlin_affinity.model.option import Option
from senlin_affinity.model.verdict import Reason
from senlin_affinity.scenario.constraint import overrides
from senlin_affinity.scenario.scenario import FREE

_BASE = 'senlin_affinity.constraints.base.Constraint'
_DECLARED = ('name', 'order', 'summary', 'needs')
#: The methods that check something, with the method that they need.
_CHECKS = {'check': '', 'column': '', 'check_domains': 'domains', 'check_request': ''}
_PARTS = tuple(each for each in Cloud.__struct_fields__ if each not in OF_FETCH)
_PROPERTIES = tuple(name for name, value in vars(Host).items() if isinstance(value, property))
#: ``free`` in place of ``resources``, whose values are no key of a class.
_READABLE = ({*Host.__struct_fields__, *_PROPERTIES} - {'resources'}) | {FREE}
_OLD_FORM = (
    'defines check_host, which nothing calls any more: define reads, prepare and check instead '
    '(see "howto/own-constraint" in the manual)'
)


def load_constraints() -> tuple[Constraint, ...]:
    """Return every installed constraint, sorted by ``order``, then by name."""
    # stevedore only lists the entry points: it does not catch SystemExit.
    found = NamedExtensionManager(NAMESPACE, names=[]).list_entry_points()
    return check_constraints([Extension(each.name, each, _load(each), None) for each in found])


def _load(entry_point: Any) -> Any:
    try:
        return entry_point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        target = f'constraint {entry_point.name} ({entry_point.value})'
        raise PluginError(f'{target} does not load: {in_words(error)}') from error


def check_constraints(extensions: Iterable[Extension]) -> tuple[Constraint, ...]:
    """Create the constraint of each extension, and validate and sort them."""
    extensions = tuple(extensions)
    for name, times in Counter(extension.name for extension in extensions).items():
        if times > 1:
            targets = ', '.join(
                extension.entry_point_target for extension in extensions if extension.name == name
            )
            raise PluginError(f'{times} constraints are called {name}: {targets}')
    made = [_make(extension) for extension in extensions]
    _check_options(made)
    return tuple(sorted(made, key=lambda constraint: (constraint.order, constraint.name)))


def _check_options(constraints: Iterable[Constraint]) -> None:
    """Raise PluginError if two constraints declare one option differently."""
    known: dict[object, tuple[str, Option]] = {}
    for constraint in constraints:
        for option in constraint.options:
            for name in (option.key, (option.group, option.dest)):
                other, declared = known.setdefault(name, (constraint.name, option))
                if declared != option:
                    raise PluginError(
                        f'constraints {other} and {constraint.name} declare the option '
                        f'[{option.group}] {option.dest} ({option.key}) differently'
                    )


def _make(extension: Extension) -> Constraint:
    target = f'constraint {extension.name} ({extension.entry_point_target})'
    try:
        constraint = extension.plugin()
    except Exception as error:
        raise PluginError(f'{target} cannot be created: {error}') from error
    check_declarations(constraint, target)
    if constraint.name != extension.name:
        raise PluginError(f'{target} calls itself {constraint.name}')
    return constraint


def check_declarations(constraint: Constraint, target: str) -> None:
    """Validate what one constraint declares.

    :param target: the beginning of an error.
    """
    if not isinstance(constraint, Constraint):
        raise PluginError(f'{target} is not a subclass of {_BASE}')
    if overrides(constraint, 'check_host'):
        raise PluginError(f'{target} {_OLD_FORM}')
    if not any(overrides(constraint, check) for check in _CHECKS):
        raise PluginError(f'{target} must define one of {", ".join(_CHECKS)}')
    missing = [name for name in _DECLARED if name not in dir(constraint)]
    for check, other in _CHECKS.items():
        if other and overrides(constraint, check) and not overrides(constraint, other):
            missing.append(other)
    if missing:
        raise PluginError(f'{target} has no {", ".join(missing)}')
    if not isinstance(constraint.order, int) or not isinstance(constraint.reasons, Mapping):
        raise PluginError(f'{target}: order must be an integer, and reasons a mapping')
    for name, kind in {'needs': str, 'reads': str, 'filters': str, 'options': Option}.items():
        items = getattr(constraint, name)
        if not isinstance(items, tuple) or not all(isinstance(item, kind) for item in items):
            raise PluginError(f'{target}: {name} must be a tuple of {kind.__name__}, not {items!r}')
    _check_names(constraint.needs, _PARTS, f'{target}: needs: a snapshot')
    _check_names(constraint.reads, _READABLE, f'{target}: reads: a host')
    for code, reason in constraint.reasons.items():
        if not isinstance(reason, Reason):
            raise PluginError(f'{target}: {code} must be a Reason, not {reason!r}')
        if not code.startswith(f'{constraint.name}.'):
            raise PluginError(f'{target}: the code {code} must begin with "{constraint.name}."')


def _check_names(names: Iterable[str], known: Collection[str], beginning: str) -> None:
    """Raise PluginError for a name that is not known."""
    for name in names:
        if name not in known:
            raise PluginError(f'{beginning} has no {name!r}: {suggestion.meant(name, known)}')
