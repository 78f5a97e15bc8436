"""A random cloud and questions about it, as plain values that depend on the seed alone.

A generator is a function ``seed -> Case``. YAML preserves cases: ``read(asdict(case)) == case``.

Units: memory in MB, disk in GB. Groups, flavors, images, aggregates and providers are referred to
by name; ``nova_options`` are ``group -> option -> value`` of nova.conf.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.spread import Spread
from tests.support.values import replace

#: All hosts of the sandbox; those that a case does not use are disabled.
HOSTS = tuple(f'cmp-{number}' for number in range(1, 7))
#: The name of a PCI device that flavors may request, and that no host has.
DEVICE = 'gpu'
#: The project of each user: an administrator, a tenant, and the same administrator in the tenant's
#: project.
PROJECT_OF = {'admin': 'admin', 'demo': 'demo', 'guest': 'demo'}


@dataclass(frozen=True)
class Server:
    """An existing server on this host (None: no host is found, and it is in ERROR).

    Nova chooses the host of a server of demo, who may not. ``states.py`` puts it into the state;
    ``target`` is the destination of a migration.
    """

    host: str | None
    flavor: str = 'plain'
    group: str | None = None
    state: str = 'ACTIVE'
    user: str = 'admin'
    target: str | None = None


@dataclass(frozen=True)
class Provider:
    """A resource provider below that of a host (``parent``), or shared with the hosts of
    aggregates.

    The consumer of the host's ``Stale.orphans`` also has the allocations ``orphaned`` of it.
    """

    parent: str | None
    inventory: dict[str, dict[str, Any]]
    traits: tuple[str, ...] = ()
    aggregates: tuple[str, ...] = ()
    orphaned: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Stale:
    """Records that differ from what Nova would write now.

    ``disabled`` are hosts with an extra trait, ``offered`` disabled hosts without it, ``renamed``
    hosts whose provider has another name, ``unowned`` hosts without the trait that
    nova-compute sets, ``unmirrored`` hosts whose aggregates are missing in Placement, ``removed``
    the hosts, each with the aggregates that it has only in Placement, and ``orphans`` the
    allocations on hosts of consumers that are no servers.
    """

    disabled: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    renamed: dict[str, str] = field(default_factory=dict)
    unowned: tuple[str, ...] = ()
    unmirrored: tuple[str, ...] = ()
    removed: dict[str, list[str]] = field(default_factory=dict)
    orphans: dict[str, dict[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Ask:
    """A question: do ``count`` servers fit?

    ``is_complete``: with the image and the options of nova.conf. ``metadata`` is the number of
    metadata items of each server, 3 of which Senlin adds. ``hints`` are scheduler hints, in which
    ``server 0`` is the first of the case's servers. ``host`` is Nova's parameter (2.74). ``by`` is
    the user who asks, by default the user of the servers, or an administrator for demo;
    ``is_user_named``: the question names the user.
    """

    count: int
    flavor: str = 'asked'
    group: str | None = None
    zone: str | None = None
    image: str | None = None
    user: str = 'admin'
    is_complete: bool = True
    is_remedied: bool = False
    metadata: int = 0
    spread: tuple[Spread, ...] = ()
    hints: dict[str, Any] = field(default_factory=dict, hash=False)
    by: str | None = None
    is_user_named: bool = False
    host: str | None = None


@dataclass(frozen=True)
class Case:
    """A cloud, its existing servers, and the questions in their order.

    ``hosts`` have the fields of a host of the sandbox, of which ``disabled`` is true, false or the
    operator's reason, and perhaps ``down``; ``aggregates`` have ``hosts``, ``metadata`` and
    optionally a zone; ``images`` have the fields of Glance. ``quotas`` are those of projects,
    ``user_quotas`` those of users. ``is_conductor_restarted``: nova-conductor has the filters of
    nova-scheduler; otherwise, it has Nova's default filters.
    """

    kind: str
    seed: int
    hosts: dict[str, dict[str, Any]]
    flavors: dict[str, dict[str, Any]]
    asks: tuple[Ask, ...]
    aggregates: dict[str, dict[str, Any]] = field(default_factory=dict)
    images: dict[str, dict[str, Any]] = field(default_factory=dict)
    groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    servers: tuple[Server, ...] = ()
    providers: tuple[Provider, ...] = ()
    traits: dict[str, tuple[str, ...]] = field(default_factory=dict)
    stale: Stale = field(default_factory=Stale)
    quotas: dict[str, dict[str, int]] = field(default_factory=dict)
    user_quotas: dict[str, dict[str, int]] = field(default_factory=dict)
    filters: tuple[str, ...] = DEFAULT_FILTERS
    nova_options: dict[str, dict[str, Any]] = field(default_factory=dict)
    is_conductor_restarted: bool = False

    def __str__(self) -> str:
        return f'{self.kind} {self.seed}'


Generator = Callable[[int], Case]
_PARTS: dict[str, type] = {'asks': Ask, 'servers': Server, 'providers': Provider}


def read(row: dict[str, Any]) -> Case:
    """Convert the fields of a case (``dataclasses.asdict``), which YAML returns with lists."""
    values = dict(row)
    for name, kind in _PARTS.items():
        values[name] = tuple(_made(kind, item) for item in row[name])
    values['asks'] = tuple(
        replace(ask, spread=tuple(_made(Spread, item) for item in ask.spread))
        for ask in values['asks']
    )
    values['stale'] = _made(Stale, row['stale'])
    values['traits'] = {name: tuple(traits) for name, traits in row['traits'].items()}
    return _made(Case, values)


def _made(kind: type, row: dict[str, Any]) -> Any:
    known = {item.name for item in fields(kind)}
    return kind(
        **{
            key: tuple(value) if isinstance(value, list) else value
            for key, value in row.items()
            if key in known
        }
    )
