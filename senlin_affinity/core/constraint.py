"""What a constraint is: one rule, its reason codes, and the question that it answers.

The planner asks a host-level constraint about every host (hosts with an equal ``shape`` are asked
about once), a domain-level one about the sets of hosts that it names (racks, zones, storage pools),
a request-level one about the request as a whole. A constraint may be of several kinds.

Errors: a constraint never raises. What it needs and the snapshot does not know is
``Verdict.unknown``.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import ClassVar, NamedTuple, Protocol, TypeGuard, runtime_checkable

from senlin_affinity.core.host import Host
from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.reasons import Reason
from senlin_affinity.core.verdict import Verdict


class Constraint(Protocol):
    """What every constraint declares.

    ``order`` is its place in the line of reasons (a host counts under its first REJECT);
    ``needs`` are the parts of the snapshot that it reads; ``filters`` are Nova's scheduler filters
    that enforce it, any one of which is enough (empty: Nova always enforces it). ``is_by_name``
    says that a host's names count, or its number of servers, ``is_by_resources`` that the figures
    of its resources do; where a constraint does not declare it, they are taken to count.
    ``reads(resolved)``, where it is declared, names the fields of a host that count for this
    request beside names and figures (:data:`~senlin_affinity.core.planning.looks.FIELDS`),
    ``named(resolved)`` the service hosts whose names count for a rule by name, which is asked about
    these one by one (None: any may, or the number of servers counts).
    ``shapes(resolved, hosts)``, where it is declared, is the ``shape`` of each of many hosts.
    ``check_hosts(resolved, hosts)``, of a rule by resources, is what ``check_host`` says of each of
    many hosts; equal answers had better be one object. ``asks(resolved)`` is all of the question
    that it looks at: where it is equal for another question, the answers are.
    ``less(resolved, hosts, verdicts, servers)`` says what the verdict of each host becomes with so
    many servers more on it; None: it has to be asked.
    ``is_about_room`` says that a host which it rejects is only full: it is still one of those that
    the servers are spread over.
    ``is_lasting``, where it is declared: what it refuses today is not changed by freeing a host, or
    by starting one. An attach asks these whether the cluster can reach its ``max_size``.
    ``is_joint`` says that what a domain takes depends on the others that the rule is asked about;
    where it is not declared, it is taken to.
    ``may_be_given_up`` says that "without this rule" may be proposed: never for one that protects
    others, and not where it is not declared. ``without(resolved)``, where it is declared, is the
    change that gives it up (:mod:`~senlin_affinity.core.planning.actions`). What else would satisfy
    it is its ``remedies`` (see :class:`~senlin_affinity.core.planning.remedies.Remedying`).
    ``is_in_placement``, where it is declared: a host that Placement has for the very request keeps
    to the rule, as far as a yes needs it (:mod:`senlin_affinity.policy.certificate`).
    ``options`` are what an operator can set (:class:`~senlin_affinity.core.options.Option`);
    ``resolved.option`` has their values.
    ``unmodelled(resolved)``, where it is declared, says in words why Nova may place fewer than the
    rules have room for: each of them makes the capacity "at most".
    ``assumptions(resolved)``, where it is declared, gives an
    :class:`~senlin_affinity.core.assumptions.Assumption` for each thing that the rule reads, that
    nobody told, and that could change the number.
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

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """May servers of the request go to this host, and how many?"""

    def shape(self, resolved: ResolvedRequest, host: Host) -> Hashable:
        """All that ``check_host`` looks at on this host: equal shapes, equal verdicts."""


class Domain(NamedTuple):
    """A set of hosts: those that have one ``name`` by one criterion (``by``: rack, zone, ...)."""

    by: str
    name: str


@runtime_checkable
class DomainConstraint(Constraint, Protocol):
    """A rule about sets of hosts."""

    def domains(self, resolved: ResolvedRequest, host: Host) -> Collection[Domain]:
        """The domains of this rule in which the host lies; none where it does not limit the host.

        One for each criterion, unless the sets of one criterion overlap.
        """

    def check_domains(
        self, resolved: ResolvedRequest, rooms: Mapping[Domain, int | None]
    ) -> Mapping[Domain, Verdict]:
        """How many servers more each of these domains takes.

        :param rooms: every domain of one criterion that has a host on which nothing but room is
            missing, and how many servers its hosts take as far as the other rules go (None: that is
            not known). The verdict of a domain speaks for all of its hosts.
        """


@runtime_checkable
class RequestConstraint(Constraint, Protocol):
    """A rule about the request as a whole."""

    def check_request(self, resolved: ResolvedRequest) -> Verdict:
        """May the request be met at all, and by how many servers?"""


# By its one method: isinstance takes 60 us for a protocol, and every plan asks.


def is_of_hosts(constraint: Constraint) -> TypeGuard[HostConstraint]:
    """Is it one about single hosts?"""
    return hasattr(constraint, 'check_host')


def is_of_domains(constraint: Constraint) -> TypeGuard[DomainConstraint]:
    """Is it one about sets of hosts?"""
    return hasattr(constraint, 'check_domains')


def is_of_requests(constraint: Constraint) -> TypeGuard[RequestConstraint]:
    """Is it one about the request as a whole?"""
    return hasattr(constraint, 'check_request')
