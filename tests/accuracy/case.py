"""What one random cloud is, and what is asked of it: plain values, the same for the same seed.

Shapes: a function ``seed -> Case`` is a generator; ``read(asdict(case)) == case``, through YAML.

Units: memory in MB, disk in GB. A name stands for what will have it: groups, flavors, images,
aggregates, providers; ``nova_options`` are ``group -> option -> value`` of nova.conf.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.spread import Spread

#: The hosts of every sandbox; a case has some of them, and the others are disabled.
HOSTS = tuple(f'cmp-{number}' for number in range(1, 7))
#: The users, and their projects: the administrator, a plain user, and the former in the project
#: of the latter.
PROJECT_OF = {'admin': 'admin', 'demo': 'demo', 'guest': 'demo'}


@dataclass(frozen=True)
class Server:
    """A server that is there before, on this host (None: it finds none, and is in ERROR).

    ``state`` is what it is brought into (``states.py``), ``target`` where it is migrated to.
    """

    host: str | None
    flavor: str = 'plain'
    group: str | None = None
    state: str = 'ACTIVE'
    user: str = 'admin'
    target: str | None = None


@dataclass(frozen=True)
class Provider:
    """A resource provider below a host's (``parent``), or for all hosts of the aggregates."""

    parent: str | None
    inventory: dict[str, dict[str, Any]]
    traits: tuple[str, ...] = ()
    aggregates: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stale:
    """Records that differ from what Nova would write now.

    ``disabled`` are hosts with a trait too many, ``unowned`` hosts without the trait that
    nova-compute sets, ``unmirrored`` hosts whose aggregates Placement does not know, ``removed``
    the aggregates that only Placement still has hosts in, by the host, and ``orphans`` amounts on
    hosts that no server has.
    """

    disabled: tuple[str, ...] = ()
    unowned: tuple[str, ...] = ()
    unmirrored: tuple[str, ...] = ()
    removed: dict[str, list[str]] = field(default_factory=dict)
    orphans: dict[str, dict[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Ask:
    """A question: do ``count`` servers fit?

    ``is_told``: with the image and the options of nova.conf. ``metadata`` is the number of metadata
    items of each server, 3 of which Senlin adds. ``hints`` are scheduler hints; in them,
    ``server 0`` is the first of the case's servers.
    """

    count: int
    flavor: str = 'asked'
    group: str | None = None
    zone: str | None = None
    image: str | None = None
    user: str = 'admin'
    is_told: bool = True
    is_remedied: bool = False
    metadata: int = 0
    spread: tuple[Spread, ...] = ()
    hints: dict[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Case:
    """A cloud, what is in it before, and what is asked of it then, one after the other.

    ``hosts`` are fields of a sandbox's host, of which ``disabled`` is true, false or the operator's
    reason; ``aggregates`` have ``hosts``, ``metadata`` and
    perhaps a zone, ``images`` are as Glance has them. ``quotas`` are those of projects, and
    ``user_quotas`` those of users.
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

    def __str__(self) -> str:
        return f'{self.kind} {self.seed}'


Generator = Callable[[int], Case]
_PARTS: dict[str, type] = {'asks': Ask, 'servers': Server, 'providers': Provider}


def read(row: dict[str, Any]) -> Case:
    """The case of the fields (``dataclasses.asdict``) that come back from YAML as lists."""
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
