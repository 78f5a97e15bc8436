"""Changes that a constraint proposes, as plain data.

The planner applies the ``data`` of each, evaluates the request again, and ranks what helps.
:mod:`senlin_affinity.engine.changes` lists the actions of ``data``.

Example::

    Change('any_zone', 'no availability_zone', {'availability_zone': None}, kind=Kind.REQUESTER)
    RaisedNumber('most_per_rack', 'most_per_rack: {number}', path=('options', 'most_per_rack'),
                 now=2, most=5)
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol

from senlin_affinity.model.host import Host
from senlin_affinity.model.verdict import Verdict

#: The change in plain values (:ref:`remedies-as-data`).
Data = Mapping[str, Any]
#: The keys and indexes that lead to a value of ``data``.
Path = tuple[str | int, ...]


class Kind(enum.Enum):
    """A kind of change: the user makes it, an operator makes it, or a requirement is given up.

    Changes of one size are ranked in this order. The values are stable words of JSON.
    """

    REQUESTER = 'askers'
    OPERATORS = 'operators'
    GIVEN_UP = 'given_up'


@dataclass(frozen=True)
class Change:
    """One change, with its public code and its description.

    ``size`` is the number of servers, hosts or values that change. ``for_tenant``: it names only
    objects of the user, who could make it within the current quotas. ``is_sufficient``: if it is
    enough, later proposals of the constraint are not evaluated.
    """

    code: str
    change: str
    data: Data = field(default_factory=dict, hash=False)
    size: int = 1
    kind: Kind = Kind.OPERATORS
    for_tenant: bool = False
    is_sufficient: bool = False


@dataclass(frozen=True, kw_only=True)
class RaisedNumber(Change):
    """A number of ``data`` that is raised by the smallest sufficient increase, at most by ``most``.

    ``change`` contains ``{number}``. ``is_per_host``: the number limits the servers of each host.
    """

    path: Path
    now: int
    most: int
    is_per_host: bool = False


@dataclass(frozen=True, kw_only=True)
class ChangedHosts(Change):
    """The smallest sufficient number of the given hosts, those with the most room first.

    ``hosts`` are hosts of the scenario, by their names. ``change`` contains ``{hosts}``, such as "3
    hosts", or ``{names}``, the names of up to three hosts, and perhaps ``{are}``. ``lists`` are the
    paths of lists in ``data``, each with the service hosts that belong in the list. ``{done}``
    becomes the ``verbs`` of the lists that are used, such as "enabled and started"; ``verbs`` has
    one for each list. ``notes`` are warnings about service hosts: such a host is used only if all
    others are not enough, and the remedy ranks last. ``details`` are texts about service hosts, and
    ``remarks`` texts without names, of which equal ones are counted; neither changes the order.
    ``{it}`` becomes "them" for several.
    """

    hosts: tuple[Host, ...]
    lists: tuple[tuple[Path, frozenset[str]], ...]
    verbs: tuple[str, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict, hash=False)
    details: Mapping[str, str] = field(default_factory=dict, hash=False)
    remarks: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class NewHosts(Change):
    """The smallest sufficient number of new hosts like existing ones."""


@dataclass(frozen=True)
class MovedServer(Change):
    """The move of the smallest sufficient server to another host, which certainly takes it."""


@dataclass(frozen=True, kw_only=True)
class OneOf(Change):
    """The best one of several plain changes; of equal ones, the first."""

    choices: tuple[Change, ...]


class Evaluated(Protocol):
    """The evaluation of a request that does not fit, as one constraint reads it.

    The hosts are those before any new server: a host with room for some of the servers is not
    rejected.
    """

    @property
    def verdict(self) -> Verdict | None:
        """The constraint's verdict about the request; None if it checks no requests."""

    @property
    def rejected(self) -> Sequence[Host]:
        """The hosts that the constraint rejects."""

    @property
    def codes(self) -> Collection[str]:
        """The codes of the first rejection of each host."""

    @property
    def is_limiting(self) -> bool:
        """Whether it, or the resources of a host, limit the number, or the request is rejected."""


def unused(name: str, taken: Iterable[str], first: int = 2) -> Iterator[str]:
    """Yield names that begin with the given name and are not taken."""
    known = set(taken)
    return (each for each in (f'{name}-{number}' for number in count(first)) if each not in known)
