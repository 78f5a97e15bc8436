"""What every constraint says about every host, asked once about hosts that look alike.

The way of the data: the hosts come in; one :class:`Row` for each goes out, and hosts that look
alike share theirs. Hosts look alike when all that a snapshot knows of them is equal but for their
names; a constraint for which names count (``is_by_name``) adds its own ``shape`` of each host. A
constraint is asked about one host of each shape.

Units: ``room`` is a number of servers, ``least`` what is certain of it; a room of None is no number
that anybody knows.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from senlin_affinity.core.constraint import HostConstraint
from senlin_affinity.core.objects import Host, Question
from senlin_affinity.core.verdict import Outcome, Verdict


@dataclass(frozen=True)
class Row:
    """The verdicts about hosts that look alike, and what follows from them."""

    verdicts: Mapping[str, Verdict] = field(hash=False)
    room: int | None
    is_certain: bool
    is_at_most: bool
    by: str | None

    @property
    def code(self) -> str | None:
        """The code of the first REJECT."""
        return None if self.by is None else self.verdicts[self.by].code


def assess(
    question: Question, constraints: Sequence[HostConstraint], hosts: Sequence[Host]
) -> list[Row]:
    """One row for each host, in the order of the hosts."""
    judge = _Judge(question, constraints)
    return [judge.row(host) for host in hosts]


class _Judge:
    """Remembers what was answered, for one question."""

    def __init__(self, question: Question, constraints: Sequence[HostConstraint]) -> None:
        self._question = question
        self._constraints = constraints
        self._named = [item for item in constraints if getattr(item, 'is_by_name', True)]
        self._rows: dict[Hashable, Row] = {}
        self._same: dict[tuple[int, ...], Row] = {}
        self._verdicts: dict[tuple[str, Hashable], Verdict] = {}

    def row(self, host: Host) -> Row:
        question = self._question
        resources = host.resources
        key = (
            host.availability_zone,
            host.enabled,
            host.up,
            host.aggregates,
            host.traits,
            None if resources is None else (*resources.items(),),
            host.hypervisor_type,
            host.is_nested,
            *[constraint.shape(question, host) for constraint in self._named],
        )
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = self._ask(host)
        return row

    def _ask(self, host: Host) -> Row:
        said = [self._verdict(constraint, host) for constraint in self._constraints]
        # Hosts of which the same was said share their row, too. The verdicts live as long as this.
        key = tuple(map(id, said))
        row = self._same.get(key)
        if row is None:
            names = [constraint.name for constraint in self._constraints]
            row = self._same[key] = _row(dict(zip(names, said, strict=True)))
        return row

    def _verdict(self, constraint: HostConstraint, host: Host) -> Verdict:
        shape = (constraint.name, constraint.shape(self._question, host))
        verdict = self._verdicts.get(shape)
        if verdict is None:
            verdict = constraint.check_host(self._question, host)
            self._verdicts[shape] = verdict
        return verdict


def _row(verdicts: Mapping[str, Verdict]) -> Row:
    room: int | None = None
    is_certain, is_at_most, by = True, False, None
    for name, verdict in verdicts.items():
        if verdict.outcome is Outcome.REJECT:
            by = by or name
        elif verdict.room is not None and (room is None or verdict.room < room):
            room = verdict.room
        is_certain = is_certain and verdict.is_known
        is_at_most = is_at_most or verdict.is_at_most
    if by is not None:
        return Row(verdicts, 0, True, False, by)
    return Row(verdicts, room, is_certain and room is not None, is_at_most, None)
