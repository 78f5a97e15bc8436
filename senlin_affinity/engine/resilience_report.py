"""Which domains of hosts can be lost with every server evacuated elsewhere. Plain values.

Example::

    found.losses[0].name         'rack-1'
    found.losses[0].verdict      'cannot'
    found.losses[0].line()       'cannot be lost: 2 of 31 servers are left; missing: ...'
    found.line()                 'of 4 domains (rack), 1 cannot be lost; 3 can be lost'
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from senlin_affinity.engine.drain_plan import DrainPlan, Move, Unblocking, all_fit, as_named
from senlin_affinity.engine.workload_plan import Obstacle
from senlin_affinity.model.numbers import counted
from senlin_affinity.model.verdict import Assumption

Outcome = Literal['any_host', 'in_order', 'at_most', 'not_found', 'cannot']
#: The outcomes from the best to the worst, with what they mean.
OUTCOMES: Mapping[Outcome, str] = {
    'any_host': 'can be lost, whichever hosts Nova picks',
    'in_order': 'can be lost: its servers fit in this order on these hosts',
    'at_most': 'can perhaps be lost: Nova may reject a host',
    'not_found': 'no order was found in which all servers fit, which proves nothing',
    'cannot': 'cannot be lost',
}


@dataclass(frozen=True)
class Loss:
    """What happens to the servers of some hosts if these are lost together.

    * ``servers`` is the number of servers on the hosts.
    * ``plan`` has the evacuations to carry out first, to their targets (``first``, if all servers
      then fit), the servers that no host takes, and those that are left.
    * ``anywhere`` is the number of the other servers: they are proven to fit afterwards, whichever
      hosts Nova picks, in any order.
    * ``obstacles`` are sums that prove that not all servers fit.
    * ``missing`` is what would let all servers fit.
    * ``caveats`` are the reasons why Nova may reject an evacuation.
    """

    name: str
    plan: DrainPlan
    servers: int
    anywhere: int = 0
    obstacles: tuple[Obstacle, ...] = ()
    missing: tuple[Unblocking, ...] = ()
    caveats: tuple[str, ...] = ()

    @property
    def hosts(self) -> tuple[str, ...]:
        """The service hosts that are lost."""
        return self.plan.hosts

    @property
    def verdict(self) -> Outcome:
        """The outcome, a stable code of ``OUTCOMES``."""
        if self.plan.stuck or self.plan.is_proven or self.obstacles:
            return 'cannot'
        if self.plan.not_found:
            return 'not_found'
        if self.caveats:
            return 'at_most'
        return 'in_order' if self.plan.moves else 'any_host'

    @property
    def fits(self) -> bool | None:
        """True if every server is evacuated, False if one certainly is not, else None."""
        return {'cannot': False, 'not_found': None, 'at_most': None}.get(self.verdict, True)

    @property
    def first(self) -> tuple[Move, ...]:
        """The evacuations to carry out before the others, if all servers then fit."""
        return self.plan.moves if self.verdict in ('in_order', 'at_most') else ()

    @property
    def left(self) -> int:
        """The number of servers for which no host was found."""
        return len(self.plan.stuck) + len(self.plan.not_found)

    def line(self) -> str:
        """Return the verdict, the servers that are left, and what is missing."""
        text = OUTCOMES[self.verdict]
        if self.left:
            of, are = counted(self.servers, 'server'), 'is' if self.left == 1 else 'are'
            text += f': {self.left:,} of {of} {are} left'
        return f'{text}; missing: {self.lacks()}' if self.missing else text

    def lacks(self) -> str:
        """Return what is missing: "at least 96 GiB of memory in az-2; 1 more host like cmp-3"."""
        amounts = [each.text for each in self.missing if each.code == 'amount']
        hosts = [each.text for each in self.missing if each.code != 'amount']
        return '; '.join(
            filter(None, (f'at least {", ".join(amounts)}' if amounts else '', *hosts))
        )

    def why(self) -> str:
        """Return why the first server that is left has no host; '' if that is not known.

        Of several hosts, the one that is the closest to being suitable is named.
        """
        if self.plan.stuck:
            first = self.plan.stuck[0]
            host, code = next(iter(first.hosts.items()), ('', ''))
            of_host = f'host {host} is rejected: ' if code == first.code else ''
            return f'{first.server.name}: {of_host}{first.reason}'
        if self.obstacles:
            return self.obstacles[0].text
        return 'no order moves all servers' if self.plan.is_proven else ''

    def as_dict(self) -> dict[str, Any]:
        """Return the loss for JSON."""
        return {
            'domain': self.name,
            'hosts': [*self.hosts],
            'servers': self.servers,
            'verdict': self.verdict,
            'line': self.line(),
            'anywhere': self.anywhere,
            'moves': [
                {'server': each.server.id, 'name': each.server.name, 'target': each.target}
                for each in self.first
            ],
            'stuck': [each.as_dict() for each in self.plan.stuck],
            'not_found': [as_named(each) for each in self.plan.not_found],
            'obstacles': [each._asdict() for each in self.obstacles],
            'missing': [each.as_dict() for each in self.missing],
            'caveats': [*self.caveats],
        }


@dataclass(frozen=True)
class Resilience:
    """The losses by domain; ``by`` is ``zone``, ``aggregate``, ``host`` or a metadata key.

    ``assumptions`` could change a verdict.
    """

    by: str
    losses: tuple[Loss, ...]
    assumptions: tuple[Assumption, ...] = ()
    taken_at: str | None = None

    @property
    def fits(self) -> bool | None:
        """True if each domain can be lost, False if one certainly cannot, else None."""
        return all_fit(each.fits for each in self.losses)

    def counts(self) -> Counter[str]:
        """Return the number of domains by verdict."""
        return Counter(each.verdict for each in self.losses)

    def line(self) -> str:
        """Return the sum: ``of 4 domains (rack), 1 cannot be lost; 3 can be lost``."""
        counts, number = self.counts(), len(self.losses)
        if not number:
            return f'there is no domain ({self.by})'
        words: Sequence[tuple[str, tuple[str, ...]]] = (
            ('cannot be lost', ('cannot',)),
            ('may or may not', ('not_found', 'at_most')),
            ('can be lost', ('any_host', 'in_order')),
        )
        parts = [(text, sum(counts[code] for code in codes)) for text, codes in words]
        said = '; '.join(f'{many:,} {text}' for text, many in parts if many)
        return f'of {counted(number, "domain")} ({self.by}), {said}'

    def as_dict(self) -> dict[str, Any]:
        """Return the answer for JSON."""
        return {
            'format': 1,
            'fits': self.fits,
            'line': self.line(),
            'by': self.by,
            'assumptions': [each._asdict() for each in self.assumptions],
            'domains': [each.as_dict() for each in self.losses],
        }
