"""The library's door: loads the installed constraints, and plans. It fails closed.

The way of the data: entry points of :data:`~senlin_affinity.constraints.base.NAMESPACE` come in,
one made and checked constraint each goes out, in the order of their reasons; with them a request is
planned on a snapshot.

Errors: PluginError for a constraint that does not load, lacks a part of the protocol, declares a
code outside its own name, or shares its name with another: a rule that is silently missing would
let servers onto the wrong hosts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from stevedore import ExtensionManager
from stevedore.extension import Extension

from senlin_affinity.constraints.base import (
    NAMESPACE,
    Constraint,
    DomainConstraint,
    HostConstraint,
    RequestConstraint,
)
from senlin_affinity.core import planner
from senlin_affinity.core.decision import Decision
from senlin_affinity.core.errors import PluginError
from senlin_affinity.core.objects import CloudSnapshot, PlacementRequest, Rules
from senlin_affinity.core.reasons import Reason


def plan(
    request: PlacementRequest,
    snapshot: CloudSnapshot,
    constraints: Sequence[Constraint] | None = None,
    rules: Rules | None = None,
    *,
    remedies: bool = True,
) -> Decision:
    """Will the request fit, and if not, why? Constraints of None are all that are installed.

    :param remedies: whether to look for what would help, which is most of a refusal's cost.
    """
    chosen = load_constraints() if constraints is None else constraints
    return planner.plan(request, snapshot, chosen, rules, remedies=remedies)


def take_snapshot(
    connection: Any,
    *,
    server_groups: Collection[str] | None = None,
    project_id: str | None = None,
    timeout: float | None = None,
) -> CloudSnapshot:
    """The cloud behind an ``openstack.connection.Connection``, as the planner sees it.

    :param server_groups: ids or names of the only groups that will be asked about, which is
        cheaper; None is all groups.
    :param project_id: the project that the servers will belong to, where it is not the
        connection's own: its quotas are read, and its groups are called by their names. Where its
        quotas may not be read, a plan's number is "at most".
    :param timeout: seconds that a service may be silent; None is the connection's own, or a minute.
    """
    # Imported here: openstacksdk takes a second to load, and a saved snapshot needs none.
    from senlin_affinity.cloud import snapshot

    taken = snapshot.take(
        connection, server_groups=server_groups, project_id=project_id, timeout=timeout
    )
    return taken.snapshot


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
    return tuple(sorted(made, key=lambda constraint: (constraint.order, constraint.name)))


def _make(extension: Extension) -> Constraint:
    target = f'constraint {extension.name} ({extension.entry_point_target})'
    try:
        constraint = extension.plugin()
    except Exception as error:
        raise PluginError(f'{target} can not be made: {error}') from error
    if not isinstance(constraint, HostConstraint | DomainConstraint | RequestConstraint):
        raise PluginError(
            f'{target} is none of HostConstraint, DomainConstraint and RequestConstraint'
        )
    if not isinstance(constraint.order, int) or not isinstance(constraint.reasons, Mapping):
        raise PluginError(f'{target}: order must be an integer, and reasons a mapping')
    if constraint.name != extension.name:
        raise PluginError(f'{target} calls itself {constraint.name}')
    for code, reason in constraint.reasons.items():
        if not isinstance(reason, Reason):
            raise PluginError(f'{target}: {code} must be a Reason, not {reason!r}')
        if not code.startswith(f'{constraint.name}.'):
            raise PluginError(f'{target} declares the code {code}: it must begin with its name')
    return constraint
