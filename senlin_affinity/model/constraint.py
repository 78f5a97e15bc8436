"""The base class of all constraints: what they declare, and what they check.

A constraint raises nothing. It returns ``Verdict.unknown`` if the snapshot lacks a needed part.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from senlin_affinity.model.assumption import Assumption
from senlin_affinity.model.host import Host
from senlin_affinity.model.host_classes import CLASS_FIELDS
from senlin_affinity.model.option import Option
from senlin_affinity.model.proposal import Change, Data, Evaluated
from senlin_affinity.model.reason import Reason
from senlin_affinity.model.request import ResolvedRequest
from senlin_affinity.model.verdict import Verdict

#: The name of a scheduler filter, or an option that is off by default.
Switch = str | Option


class Domain(NamedTuple):
    """A set of hosts that share one ``name`` by one criterion (``by``: rack, zone, ...)."""

    by: str
    name: str


class Constraint:
    """A condition on hosts, on sets of hosts, or on the request as a whole.

    A constraint must declare:

    * ``name``: the prefix of its codes, and the name of its entry point.
    * ``order``: its position among the constraints. A host counts under its first REJECT.
    * ``summary``: the condition in one line.
    * ``needs``: the parts of the snapshot that it reads, as names of fields.

    It may declare:

    * ``filters``: Nova's scheduler filters that enforce it; any one suffices. Empty: it always
      applies.
    * ``reasons``: a :class:`~senlin_affinity.model.reason.Reason` for each code of its verdicts.
    * ``options``: what an operator can set; ``resolved.option`` returns the values.
    * ``is_host_specific``: whether ``check_host`` reads the names of a host, or its number of
      servers. A wrong False gives a wrong number.
    * ``uses_resources``: whether ``check_host`` reads the resources of a host. A wrong False gives
      a wrong number.
    * ``is_capacity_rule``: a host that it rejects is only full, and stays eligible for a spread.
    * ``is_unresolvable``: freeing or starting a host does not change its rejections. An attach
      evaluates it to check whether the cluster can reach its ``max_size``.
    * ``couples_domains``: the number of servers that a domain takes depends on other domains.
    * ``is_waivable``: a remedy may propose to drop it; never if it protects others.
    * ``enforced_by_placement``: a host that Placement returns for this request satisfies it, as far
      as a lower bound requires.
    """

    name: str
    order: int
    summary: str
    needs: tuple[str, ...]
    filters: tuple[str, ...] = ()
    reasons: ClassVar[Mapping[str, Reason]] = {}
    options: tuple[Option, ...] = ()
    is_host_specific: bool = True
    uses_resources: bool = True
    is_capacity_rule: bool = False
    is_unresolvable: bool = False
    couples_domains: bool = True
    is_waivable: bool = False
    enforced_by_placement: bool = False

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """Return whether servers of the request may run on this host, and how many."""
        raise NotImplementedError

    def host_fields(self, resolved: ResolvedRequest) -> Collection[str]:
        """Return the fields of a host, other than names and figures, that ``check_host`` reads."""
        return CLASS_FIELDS

    def has_domains(self, resolved: ResolvedRequest) -> bool:
        """Return False if the constraint limits no set of hosts for this request."""
        return True

    def domains(self, resolved: ResolvedRequest, host: Host) -> Collection[Domain]:
        """Return the domains of the host; none if the constraint does not limit it.

        A host has one domain per criterion, unless the sets of that criterion overlap.
        """
        raise NotImplementedError

    def check_domains(
        self, resolved: ResolvedRequest, rooms: Mapping[Domain, int | None]
    ) -> Mapping[Domain, Verdict]:
        """Return how many more servers each of these domains takes.

        :param rooms: the number of servers that the hosts of each domain take according to the
            other constraints (None: unknown). It holds every domain of one criterion that has a
            host that other constraints accept, or reject only because it is full.
        """
        raise NotImplementedError

    def check_request(self, resolved: ResolvedRequest) -> Verdict:
        """Return whether the request can be met, and by how many servers."""
        raise NotImplementedError

    def assumptions(self, resolved: ResolvedRequest) -> Iterable[Assumption | Switch]:
        """Return the assumptions about unspecified inputs that the number depends on.

        * An ``Assumption`` about an input that could change the number.
        * The name of a scheduler filter, or an ``Option`` of nova.conf that is off by default, if
          the flavor, the image or the aggregates would use it. If it is unspecified, the lower
          bound is the capacity with it enabled.
        """
        return ()

    def caveats(self, resolved: ResolvedRequest) -> Iterable[str]:
        """Return why Nova may place fewer servers than the constraints allow.

        The capacity is then an upper bound.
        """
        return ()

    def without(self, resolved: ResolvedRequest) -> Data:
        """Return the change that drops it (:mod:`~senlin_affinity.planner.changes`)."""
        return {'given_up': [self.name]}

    def proposals(self, resolved: ResolvedRequest, evaluation: Evaluated) -> Iterable[Change]:
        """Return other changes that could satisfy it, in the order in which the planner tries them.

        See :mod:`~senlin_affinity.model.proposal`.
        """
        return ()

    def specific_hosts(self, resolved: ResolvedRequest) -> Collection[str] | None:
        """Return the service hosts that a host-specific constraint tells apart.

        None: any host, or ``check_host`` reads the number of servers.
        """
        return None

    def check_hosts(self, resolved: ResolvedRequest, hosts: Sequence[Host]) -> Sequence[Verdict]:
        """Return the verdict of each host. Override this to check many hosts in less time."""
        return [self.check_host(resolved, host) for host in hosts]


def overrides(constraint: Constraint, method: str) -> bool:
    """Check whether the class of the constraint overrides a method."""
    return getattr(type(constraint), method) is not getattr(Constraint, method)


def is_of_hosts(constraint: Constraint) -> bool:
    """Check whether the constraint checks hosts."""
    return overrides(constraint, 'check_host')


def is_of_domains(constraint: Constraint) -> bool:
    """Check whether the constraint checks sets of hosts."""
    return overrides(constraint, 'check_domains')


def is_of_requests(constraint: Constraint) -> bool:
    """Check whether the constraint checks the request as a whole."""
    return overrides(constraint, 'check_request')
