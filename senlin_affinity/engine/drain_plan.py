"""The plan of a drain: the moves in waves, and the servers that are stuck. Plain values.

Example::

    plan.moves[0]        web-1 to cmp-3, live, wave 1
    plan.stuck[0]        db-1: server_group.other_host, "group db has the policy affinity, ..."
    plan.line()          '31 of 33 servers move in 5 waves; 2 are stuck'
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from senlin_affinity.model.numbers import counted
from senlin_affinity.model.server import Server
from senlin_affinity.model.verdict import Assumption, Verdict
from senlin_affinity.nova import moves
from senlin_affinity.nova.moves import Kind


@dataclass(frozen=True)
class Move:
    """A server, and the host that it moves to.

    ``target`` is the service host, and ``target_node`` its hypervisor. Moves of one ``wave``, from
    1, may run at the same time; the next wave starts when all have ended. ``not_checked`` is what
    only the target's hypervisor decides. ``caveats`` are the reasons why Nova may reject the move.
    """

    server: Server
    kind: Kind
    target: str
    target_node: str
    wave: int = 1
    not_checked: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()

    @property
    def is_certain(self) -> bool:
        """Whether Nova accepts the move, if the assumptions of the plan hold."""
        return not self.caveats

    def as_dict(self) -> dict[str, Any]:
        """Return the move for JSON."""
        return {
            **as_named(self.server),
            'kind': self.kind,
            'target': self.target,
            'target_node': self.target_node,
            'wave': self.wave,
            'not_checked': [*self.not_checked],
            'caveats': [*self.caveats],
        }


@dataclass(frozen=True)
class Unblocking:
    """What lets a stuck server move: a stable code, a short text, and the objects concerned."""

    code: str
    text: str
    data: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def as_dict(self) -> dict[str, Any]:
        """Return the change for JSON."""
        return {'code': self.code, 'text': self.text, 'data': dict(self.data)}


@dataclass(frozen=True)
class Stuck:
    """A server that Nova moves to no host, wherever the other servers go.

    ``verdict`` rejects the move to any host (``move.busy``), else it is the first REJECT of the
    host that is the closest to being suitable, or that of the request as a whole. ``reason`` is its
    sentence. ``hosts`` has the code of each service host, this one first, without those that are
    drained; {} if no host was asked.
    """

    server: Server
    kind: Kind
    verdict: Verdict
    reason: str
    hosts: Mapping[str, str] = field(default_factory=dict, hash=False)
    remedies: tuple[Unblocking, ...] = ()

    @property
    def code(self) -> str:
        """The code of the verdict."""
        return self.verdict.code

    @property
    def advice(self) -> str:
        """What to do about an obstacle of the server itself; '' if the hosts reject it."""
        return moves.REASONS[self.code].advice if self.code in moves.REASONS else ''

    def as_dict(self) -> dict[str, Any]:
        """Return the server for JSON, with the number of hosts of each code."""
        return {
            **as_named(self.server),
            'kind': self.kind,
            'code': self.code,
            'reason': self.reason,
            'facts': dict(self.verdict.facts),
            'rejected': dict(Counter(self.hosts.values())),
            'advice': self.advice,
            'remedies': [each.as_dict() for each in self.remedies],
        }


@dataclass(frozen=True)
class DrainPlan:
    """How the servers of ``hosts`` move. Moves are in their order.

    ``not_found`` are the servers that may move, but for which the orders that were tried leave no
    target; ``is_proven``: there is no order that moves all of them as well. ``blocked`` says why no
    host takes them once the others have moved, as far as this is known. ``assumptions`` could
    change the plan.
    """

    hosts: tuple[str, ...]
    moves: tuple[Move, ...] = ()
    stuck: tuple[Stuck, ...] = ()
    not_found: tuple[Server, ...] = ()
    is_proven: bool = False
    assumptions: tuple[Assumption, ...] = ()
    blocked: tuple[Stuck, ...] = ()

    @property
    def fits(self) -> bool | None:
        """True if Nova accepts each move in this order; False if a server certainly stays."""
        if self.stuck or self.is_proven:
            return False
        if self.not_found or not all(each.is_certain for each in self.moves):
            return None
        return True

    @property
    def waves(self) -> int:
        """The number of waves."""
        return max((each.wave for each in self.moves), default=0)

    def line(self) -> str:
        """Return the sum: ``31 of 33 servers move in 5 waves; 2 are stuck``."""
        number, left, stuck = len(self.moves), len(self.not_found), len(self.stuck)
        total = number + left + stuck
        if not total:
            return 'no servers to move'
        text = f'{number:,} of {counted(total, "server")} '
        text += 'moves' if 1 in (number, total) else 'move'
        if number:
            text += f' in {counted(self.waves, "wave")}'
        return '; '.join((text, *self.stays()))

    def stays(self) -> Iterator[str]:
        """Yield how many servers stay, and why: ``2 are stuck``."""
        left, stuck = len(self.not_found), len(self.stuck)
        if stuck:
            yield f'{stuck} {"is" if stuck == 1 else "are"} stuck'
        if left and self.is_proven:
            yield f'{left} {"does" if left == 1 else "do"} not fit'
        elif left:
            yield f'no target was found for {left}'

    def as_dict(self) -> dict[str, Any]:
        """Return the plan for JSON."""
        return {
            'format': 1,
            'fits': self.fits,
            'line': self.line(),
            'hosts': [*self.hosts],
            'waves': self.waves,
            'moves': [each.as_dict() for each in self.moves],
            'stuck': [each.as_dict() for each in self.stuck],
            'not_found': [as_named(each) | self._why(each) for each in self.not_found],
            'is_proven': self.is_proven,
            'assumptions': [each._asdict() for each in self.assumptions],
        }

    def blocked_by(self, server: Server) -> Stuck | None:
        """Return why no host takes a server of ``not_found`` after the moves; None: not known."""
        return next((each for each in self.blocked if each.server.id == server.id), None)

    def _why(self, server: Server) -> dict[str, Any]:
        found = self.blocked_by(server)
        if found is None:
            return {'code': None, 'reason': None}
        return {'code': found.code, 'reason': found.reason}


def as_named(server: Server) -> dict[str, Any]:
    """Return the id, the name and the host of a server for JSON."""
    return {'server': server.id, 'name': server.name, 'host': server.host}


def all_fit(answers: Iterable[bool | None]) -> bool | None:
    """Return False if one of the answers is False, else None if one is None, else True."""
    found = {*answers}
    return False if False in found else None if None in found else True
