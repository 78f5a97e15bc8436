"""What every constraint says about every host, asked once about hosts that look alike.

The way of the data: the hosts come in; one :class:`Row` for each goes out, and hosts that look
alike share theirs. Hosts look alike when all that a snapshot knows of them is equal but for their
names and the figures of their resources; a constraint for which names count (``is_by_name``) adds
its own ``shape`` of each host. A constraint is asked about one host of each shape; where hosts
differ in their names and these figures alone, only those for which they count
(``is_by_resources``) are asked again.

Units: ``room`` is a number of servers, ``least`` what is certain of it; a room of None is no number
that anybody knows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from operator import attrgetter
from typing import NamedTuple

from senlin_affinity.core import blame
from senlin_affinity.core.constraint import Constraint, HostConstraint
from senlin_affinity.core.errors import ConstraintError
from senlin_affinity.core.objects import Host, Question
from senlin_affinity.core.verdict import Outcome, Verdict

#: All of a host but its names and its resources, of which :func:`_listed` says what is listed.
_LOOK = (
    'availability_zone',
    'enabled',
    'up',
    'aggregates',
    'traits',
    'hypervisor_type',
    'is_nested',
    'is_partial',
)
_look = attrgetter(*_LOOK)


@dataclass(frozen=True)
class Row:
    """The verdicts about hosts that look alike, and what follows from them.

    ``is_eligible``: nothing but room is missing, if anything is (None: perhaps). ``free`` is the
    room that the resources leave, whatever else limits it. ``roomless`` are the constraints that
    read the figures of the resources and let servers in, and do not say how many.
    """

    verdicts: Mapping[str, Verdict] = field(hash=False)
    room: int | None
    is_certain: bool
    is_at_most: bool
    by: str | None
    is_eligible: bool | None = True
    free: int = 0
    roomless: tuple[str, ...] = ()

    @cached_property
    def certain(self) -> int:
        """The room that is there whatever the unknown parts of the snapshot are."""
        return (self.room or 0) if self.is_certain else 0

    @property
    def code(self) -> str | None:
        """The code of the first REJECT."""
        return None if self.by is None else self.verdicts[self.by].code


def assess(
    question: Question, constraints: Sequence[HostConstraint], hosts: Sequence[Host]
) -> list[Row]:
    """One row for each host, in the order of the hosts."""
    named = [constraint for constraint in constraints if _is_by_name(constraint)]
    try:
        return _assess(question, constraints, hosts, named)
    except ConstraintError:
        raise
    except Exception:
        _find_mistake(question, named, hosts)
        raise


def _assess(
    question: Question,
    constraints: Sequence[HostConstraint],
    hosts: Sequence[Host],
    named: Sequence[HostConstraint],
) -> list[Row]:
    judge = _Judge(question, constraints)
    shapes = [map(constraint.shape, repeat(question), hosts) for constraint in named]
    known: dict[Hashable, dict[Hashable, Row]] = {}
    rows = []
    for host, look in zip(hosts, zip(map(_look, hosts), *shapes, strict=True), strict=True):
        if host.is_partial or not host.resources:
            look = ((look[0], _listed(host)), *look[1:])
        alike = known.get(look)
        if alike is None:
            alike = known[look] = {}
        resources = host.resources
        has = None if resources is None else (*resources, *resources.values())
        row = alike.get(has)
        if row is None:
            row = alike[has] = judge.row(host, look)
        rows.append(row)
    return rows


def _find_mistake(
    question: Question, constraints: Iterable[HostConstraint], hosts: Iterable[Host]
) -> None:
    """Raise the error that names the constraint whose ``shape`` fails, and the host."""
    for constraint in constraints:
        for host in hosts:
            with blame.blaming(constraint, 'shape', f'host {host.host}'):
                hash(constraint.shape(question, host))


def tally(rows: Iterable[Row]) -> list[tuple[Row, int]]:
    """Each row that several hosts share, and how many they are."""
    rows = list(rows)
    shared = dict(zip(map(id, rows), rows, strict=True))
    numbers = Counter(map(id, rows))
    return [(row, numbers[key]) for key, row in shared.items()]


class _Judge:
    """Asks the constraints, and remembers what they answered, for one question."""

    def __init__(self, question: Question, constraints: Sequence[HostConstraint]) -> None:
        self._question = question
        self._constraints = constraints
        self._names = [constraint.name for constraint in constraints]
        numbered = list(enumerate(constraints))
        #: Those that are asked again where hosts differ in their resources, and in their names.
        self._of_resources = [item for item in numbered if _is_by_resources(item[1])]
        self._of_both = [
            item for item in numbered if _is_by_resources(item[1]) or _is_by_name(item[1])
        ]
        self._kinds = Kinds.of(constraints)
        self._rows: dict[tuple[int, ...], Row] = {}
        self._said: dict[Hashable, list[Verdict]] = {}
        self._verdicts: dict[str, dict[Hashable, Verdict]] = {name: {} for name in self._names}

    def row(self, host: Host, look: tuple[Hashable, ...]) -> Row:
        """The row of a host unlike those before; its look, and the shapes for which names count."""
        if look in self._said:
            said = self._ask_again(self._of_resources, host, self._said[look])
        else:
            bare = look[0]
            if bare in self._said:
                said = self._ask_again(self._of_both, host, self._said[bare])
            else:
                said = [self._ask(constraint, host) for constraint in self._constraints]
                self._said[bare] = said
            self._said[look] = said
        # Hosts of which the same was said share their row, too. The verdicts live as long as this.
        key = (*map(id, said),)
        row = self._rows.get(key)
        if row is None:
            verdicts = dict(zip(self._names, said, strict=True))
            row = self._rows[key] = make_row(verdicts, self._kinds)
        return row

    def _ask_again(
        self,
        constraints: Iterable[tuple[int, HostConstraint]],
        host: Host,
        said: Iterable[Verdict],
    ) -> list[Verdict]:
        """What is said about a host for which only some of the constraints can differ."""
        again = [*said]
        for index, constraint in constraints:
            again[index] = self._ask(constraint, host)
        return again

    def _ask(self, constraint: HostConstraint, host: Host) -> Verdict:
        known = self._verdicts[constraint.name]
        method = 'shape'
        try:
            shape = constraint.shape(self._question, host)
            verdict = known.get(shape)
            if verdict is None:
                method = 'check_host'
                verdict = constraint.check_host(self._question, host)
                known[shape] = blame.answered(verdict)
        except Exception as error:
            raise blame.blamed(constraint, method, error, host) from error
        return verdict


def _listed(host: Host) -> Hashable:
    """Is anything known of the resources? And of which classes, where that is not all."""
    return (*host.resources,) if host.is_partial and host.resources else bool(host.resources)


def _is_by_name(constraint: Constraint) -> bool:
    return getattr(constraint, 'is_by_name', True)


def _is_by_resources(constraint: Constraint) -> bool:
    return getattr(constraint, 'is_by_resources', True)


class Kinds(NamedTuple):
    """The names of the constraints that are about room, and of those that read resources."""

    about_room: frozenset[str]
    by_resources: frozenset[str]

    @classmethod
    def of(cls, constraints: Iterable[Constraint]) -> Kinds:
        """Those among these constraints."""
        constraints = list(constraints)
        of_hosts = [item for item in constraints if isinstance(item, HostConstraint)]
        return cls(
            frozenset(item.name for item in constraints if getattr(item, 'is_about_room', False)),
            frozenset(item.name for item in of_hosts if _is_by_resources(item)),
        )


def make_row(verdicts: Mapping[str, Verdict], kinds: Kinds) -> Row:
    """What follows from all that is said about a host."""
    room: int | None = None
    free: int | None = None
    roomless: list[str] = []
    is_known, is_at_most, is_about_room, by = True, False, True, None
    for name, verdict in verdicts.items():
        if not verdict.is_known:
            is_known = False
        if verdict.outcome is Outcome.REJECT:
            by = by or name
            is_about_room = is_about_room and name in kinds.about_room
            continue
        is_at_most = is_at_most or verdict.is_at_most
        each = verdict.room
        if each is not None:
            room = each if room is None or each < room else room
            if name in kinds.by_resources:
                free = each if free is None or each < free else free
        elif verdict.outcome is Outcome.PASS and name in kinds.by_resources:
            roomless.append(name)
    is_eligible = (is_known or None) if is_about_room else False
    if by is not None:
        return Row(verdicts, 0, True, False, by, is_eligible)
    is_certain, is_at_most = is_known and room is not None, is_at_most or bool(roomless)
    told = tuple(roomless)
    return Row(verdicts, room, is_certain, is_at_most, None, is_eligible, free or 0, told)
