"""The installed constraints: those of this project, and those of other packages. It fails closed.

The way of the data: entry points of :data:`~senlin_affinity.constraints.base.NAMESPACE` come in,
one made and checked constraint each goes out, in the order of their reasons.

Errors: PluginError for a constraint that does not load, lacks a part of the protocol, declares a
code outside its own name, or shares its name, or that of an option, with another: a rule that is
silently missing would let servers onto the wrong hosts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from stevedore import ExtensionManager
from stevedore.extension import Extension

from senlin_affinity.constraints.base import (
    NAMESPACE,
    Constraint,
    DomainConstraint,
    HostConstraint,
    RequestConstraint,
)
from senlin_affinity.core.errors import PluginError
from senlin_affinity.core.options import Option
from senlin_affinity.core.reasons import Reason


def load_constraints() -> tuple[Constraint, ...]:
    """Every installed constraint, in the order in which reasons are told."""

    def refuse(_manager: object, entry_point: object, error: BaseException) -> None:
        raise PluginError(f'constraint {entry_point} does not load: {error}') from error

    manager = ExtensionManager(NAMESPACE, on_load_failure_callback=refuse)
    return check_constraints(manager.extensions)


def check_constraints(extensions: Iterable[Extension]) -> tuple[Constraint, ...]:
    """Make each extension's constraint and hold it against the protocol."""
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
    """An option may be of several constraints, but then it is the same one."""
    known: dict[object, tuple[str, Option]] = {}
    for constraint in constraints:
        for option in getattr(constraint, 'options', ()):
            for name in (option.key, (option.group, option.dest)):
                other, declared = known.setdefault(name, (constraint.name, option))
                if declared != option:
                    raise PluginError(
                        f'constraints {other} and {constraint.name} declare the option '
                        f'[{option.group}] {option.dest} ({option.key}) in two ways'
                    )


def _make(extension: Extension) -> Constraint:
    target = f'constraint {extension.name} ({extension.entry_point_target})'
    try:
        constraint = extension.plugin()
    except Exception as error:
        raise PluginError(f'{target} can not be made: {error}') from error
    if not isinstance(constraint, HostConstraint | DomainConstraint | RequestConstraint):
        raise PluginError(
            f'{target} is neither a HostConstraint, a DomainConstraint nor a RequestConstraint'
        )
    if not isinstance(constraint.order, int) or not isinstance(constraint.reasons, Mapping):
        raise PluginError(f'{target}: order must be an integer, and reasons a mapping')
    if constraint.name != extension.name:
        raise PluginError(f'{target} calls itself {constraint.name}')
    options = getattr(constraint, 'options', ())
    if not isinstance(options, tuple) or not all(isinstance(item, Option) for item in options):
        raise PluginError(f'{target}: options must be a tuple of Option')
    for code, reason in constraint.reasons.items():
        if not isinstance(reason, Reason):
            raise PluginError(f'{target}: {code} must be a Reason, not {reason!r}')
        if not code.startswith(f'{constraint.name}.'):
            raise PluginError(f'{target} declares the code {code}: it must begin with its name')
    return constraint
