"""What a constraint is: one rule, its reason codes, and the question that it answers.

The way of the data: an installed constraint is found by its entry point in the namespace
``senlin_affinity.constraints`` and made once, without arguments. The planner asks a host-level
constraint about every host (hosts with an equal ``shape`` are asked about once), a request-level
one about the request as a whole. Each answer is a Verdict with one of the declared codes.

Errors: a constraint never raises. What it needs and the snapshot does not know is
``Verdict.unknown``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import ClassVar, Protocol, runtime_checkable

from senlin_affinity.core.objects import Host, Question
from senlin_affinity.core.reasons import Reason
from senlin_affinity.core.verdict import Verdict


class Constraint(Protocol):
    """What every constraint declares.

    ``order`` is its place in the line of reasons (a host counts under its first REJECT);
    ``needs`` are the parts of the snapshot that it reads; ``filters`` are Nova's scheduler filters
    that enforce it, any one of which is enough (empty: Nova always enforces it). ``is_by_name``
    says that a host's names count, ``is_by_resources`` that the figures of its resources do; where
    a constraint does not declare it, they are taken to count.
    """

    name: str
    order: int
    summary: str
    needs: tuple[str, ...]
    filters: tuple[str, ...]
    reasons: ClassVar[Mapping[str, Reason]]


@runtime_checkable
class HostConstraint(Constraint, Protocol):
    """A rule about one host."""

    def check_host(self, question: Question, host: Host) -> Verdict:
        """May servers of the request go to this host, and how many?"""

    def shape(self, question: Question, host: Host) -> Hashable:
        """All that ``check_host`` looks at on this host: equal shapes, equal verdicts."""


@runtime_checkable
class RequestConstraint(Constraint, Protocol):
    """A rule about the request as a whole."""

    def check_request(self, question: Question) -> Verdict:
        """May the request be met at all, and by how many servers?"""
