"""The plan of several requests: whether all of their servers fit together. Plain values.

Example::

    plan.fits                    True: in this order, on these hosts
    plan.requests[0].name        'web', with plan.requests[0].decision
    plan.line()                  'fits in this order on these hosts: 12 of 12 servers placed; ...'
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from senlin_affinity.engine.decision import Decision
from senlin_affinity.model.numbers import listed
from senlin_affinity.model.verdict import Assumption

_MOST_NAMED = 3


class Obstacle(NamedTuple):
    """A proof that the servers do not fit together, in whatever order they are created."""

    code: str
    text: str


@dataclass(frozen=True)
class PlannedRequest:
    """A request of a list, and the decision about it after the servers of all earlier ones.

    ``is_sure``: Nova certainly accepts the servers on these hosts. ``is_alone``: the request does
    not even fit alone, and the decision does not count the servers of other requests. Only its
    ``placements`` are beside them.
    """

    name: str
    decision: Decision
    server_group: str | None = None
    is_sure: bool = True
    is_alone: bool = False

    @property
    def is_placed(self) -> bool:
        """Whether all servers are expected to fit, and have a host."""
        return bool(self.decision.fits) and len(self.decision.placements) == self.decision.wanted

    def as_dict(self, *, skipped: bool = True, with_hosts: bool = True) -> dict[str, Any]:
        """Return the request for JSON.

        :param skipped: whether to include the verdicts with the outcome SKIP.
        """
        found = self.decision.as_dict(skipped=skipped)
        if not with_hosts:
            del found['hosts']
        return {'name': self.name, 'server_group': self.server_group, **found}


@dataclass(frozen=True)
class WorkloadPlan:
    """Whether the servers of several requests fit together. Requests are in the order of the list.

    * ``order`` are the names of the requests in the order in which their servers are placed.
    * ``obstacles`` prove that the servers do not fit.
    * ``is_any_host``: proven to fit whichever hosts Nova picks, in whatever order.
    * ``tried`` is the number of orders that were tried.
    * ``not_read`` are the parts of the list that were not read. They can only add servers and
      conditions.
    * ``removed`` are servers that are deleted before others are created. They still count here, so
      that ``obstacles`` prove nothing.
    """

    requests: tuple[PlannedRequest, ...]
    order: tuple[str, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    is_any_host: bool = False
    tried: int = 0
    not_read: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def fits(self) -> bool | None:
        """True if all fit in this order on these hosts, False if proven not to fit, else None."""
        if all(each.is_placed for each in self.requests) and not self.obstacles:
            return True
        return False if self.obstacles and not self.removed else None

    @property
    def is_unknown(self) -> bool:
        """Whether ``fits`` is None because something is not known, such as the hosts."""
        return self.fits is None and any(each.decision.fits is None for each in self.requests)

    @property
    def fits_by_upper_bound(self) -> bool:
        """Whether all fit, but with a caveat for which Nova may reject a server or its host."""
        is_bound = any(each.decision.fits_by_upper_bound for each in self.requests)
        is_moved = len(self.requests) > 1 and not all(each.is_sure for each in self.requests)
        return bool(self.fits) and (is_bound or (is_moved and not self.is_any_host))

    @property
    def is_certain(self) -> bool:
        """Whether all fit by what is guaranteed, and everything was read."""
        return bool(self.fits) and not self.fits_by_upper_bound and not self.not_read

    @property
    def wanted(self) -> int:
        """The number of servers."""
        return sum(each.decision.wanted for each in self.requests)

    @property
    def placed(self) -> int:
        """The number of servers that are placed."""
        return sum(len(each.decision.placements) for each in self.requests)

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What could change the plan, each once."""
        of_each = (each.decision.decisive_assumptions for each in self.requests)
        return tuple(dict.fromkeys(chain.from_iterable(of_each)))

    @property
    def explained(self) -> PlannedRequest | None:
        """The first request that does not fit; None if each does, or is unknown."""
        return next((each for each in self.requests if each.decision.fits is False), None)

    def line(self) -> str:
        """Return the answer in one line.

        "fits in this order on these hosts", "does not fit: OBSTACLE", "not known whether it fits"
        or "no order was found in which it fits", then "12 of 12 servers placed", and what was not
        read.
        """
        parts = [f'{self.placed:,} of {self.wanted:,} servers placed']
        if self.fits:
            head = 'fits in this order on these hosts'
            if self.fits_by_upper_bound:
                head = 'fits by an upper bound only'
            if self.is_any_host:
                parts.append('fits whichever hosts Nova picks')
        elif self.fits is False:
            head = 'does not fit'
            parts = [each.text for each in self.obstacles[:1]] + parts
        elif self.is_unknown:
            head = 'not known whether it fits'
        else:
            head = 'no order was found in which it fits'
            parts += [f'{self.tried} tried, which proves nothing'] * (self.tried > 1)
        if self.not_read:
            number = len(self.not_read)
            parts.append(f'{number} {"part was" if number == 1 else "parts were"} not read')
        return f'{head}: {"; ".join(parts)}'

    def as_dict(self, *, skipped: bool = True) -> dict[str, Any]:
        """Return the plan for JSON; only the request that is ``explained`` has its hosts.

        :param skipped: whether to include the verdicts with the outcome SKIP.
        """
        return {
            'format': 1,
            'fits': self.fits,
            'fits_on_any_host': self.is_any_host,
            'certain': self.is_certain and not self.assumptions,
            'wanted': self.wanted,
            'placed': self.placed,
            'line': self.line(),
            'order': [*self.order],
            'tried': self.tried,
            'obstacles': [each._asdict() for each in self.obstacles],
            'assumptions': [each._asdict() for each in self.assumptions],
            'not_read': [*self.not_read],
            'removed': [*self.removed],
            'requests': [
                each.as_dict(skipped=skipped, with_hosts=each is self.explained)
                for each in self.requests
            ],
        }


def named(names: Iterable[str]) -> str:
    """Return "web, db, app and 2 more"."""
    return listed([*dict.fromkeys(names)], _MOST_NAMED)
