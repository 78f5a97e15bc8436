"""The base class of all constraints: what they declare, and what they check.

A constraint is evaluated once for each class of hosts with equal values of the fields that it
``reads``::

    class Licence(Constraint):
        name, order, reads = 'licence', 500, ('traits',)
        summary, needs = 'Hosts have the licence of the flavor.', ('hosts',)
        reasons = {
            'licence.none': Reason('the flavor requires no licence'),
            'licence.present': Reason('has the licence'),
            'licence.missing': Reason('lacks the licence {licence}', detail='licence'),
        }

        def prepare(self, request, cloud):
            wanted = request.extra_specs.get('licence')
            return Verdict.skipped('licence.none') if wanted is None else f'CUSTOM_{wanted}'

        def check(self, asked, host, cloud):
            if asked in host.traits:
                return Verdict.passed('licence.present')
            return Verdict.rejected('licence.missing', licence=asked)

A constraint raises nothing. It returns ``Verdict.unknown`` if the snapshot lacks a needed part. An
exception becomes a ConstraintError that names the constraint, and the host or domain::

    constraint rack_limit: check failed on host cmp-1: KeyError: 'rack'
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import ConstraintError, in_words
from senlin_affinity.model.host import Host
from senlin_affinity.model.option import Option
from senlin_affinity.model.proposal import Change, Data, Evaluated
from senlin_affinity.model.request import Request
from senlin_affinity.model.verdict import Assumption, Caveat, Reason, Verdict
from senlin_affinity.scenario.column import Column, distinct
from senlin_affinity.scenario.columns import Classes
from senlin_affinity.scenario.scenario import FREE, SERVERS, Scenario

#: The name of a scheduler filter, or an option that is off by default.
Switch = str | Option
#: The fields that tell hosts apart which are otherwise alike.
OF_EACH_HOST = frozenset({'host', 'hypervisor_hostname', FREE, SERVERS})


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
    * ``reasons``: a :class:`~senlin_affinity.model.verdict.Reason` for each code of its verdicts.

    It may declare:

    * ``filters``: Nova's scheduler filters that enforce it; any one suffices. Empty: it always
      applies.
    * ``options``: what an operator can set; ``request.option`` returns the values.
    * ``reads``: the fields of a host that ``check`` reads; it gets no other field. ``free`` is a
      mapping of the free amounts by resource class (None: unknown), ``servers`` the number of
      servers; both count the servers that were placed.
    * ``is_capacity_rule``: a host that it rejects is only full, and stays eligible for a spread.
    * ``is_unresolvable``: freeing or starting a host does not change its rejections. An attach
      evaluates it to check whether the cluster can reach its ``max_size``.
    * ``couples_domains``: the number of servers that a domain takes depends on other domains.
    * ``reads_flavor``: the fields of the flavor on which its answers may depend, also by way of
      Placement's answers; None: any. Requests for flavors with equal values share its answers.
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
    reads: ClassVar[tuple[str, ...]] = ()
    is_capacity_rule: bool = False
    is_unresolvable: bool = False
    couples_domains: bool = True
    reads_flavor: ClassVar[tuple[str, ...] | None] = None
    is_waivable: bool = False
    enforced_by_placement: bool = False

    def prepare(self, request: Request, cloud: Cloud) -> Any:
        """Return what the request asks of hosts, for ``check``; or a Verdict about every host.

        The verdicts are kept for later requests that ask the same: if it is hashable, if the
        instance has no attributes, and if ``reads`` tells not each host apart.
        """
        return None

    def check(self, asked: Any, host: Any, cloud: Cloud) -> Verdict:
        """Return whether servers may run on the hosts that equal this one, and how many.

        :param asked: the result of ``prepare``.
        :param host: has the fields in ``reads``.
        :param cloud: its hosts, quotas and zones must not be read here.
        """
        raise NotImplementedError

    def column(self, request: Request, scenario: Scenario) -> Column:
        """Return the verdicts about all hosts. Override this to compute them at once."""
        with attributing(self, 'prepare'):
            asked = self.prepare(request, scenario.cloud)
            if isinstance(asked, Verdict):
                verdict = check_verdict(self, asked)
                return Column.of_all(verdict, len(scenario.hosts))
        # Instances with attributes of their own may change.
        is_kept = not _has_state(self) and OF_EACH_HOST.isdisjoint(self.reads)
        if not (is_kept and _is_hashable(asked)):
            return self._by_class(asked, scenario, {})
        columns, key = scenario.columns, (self.name, type(self), asked)
        known = columns.verdicts_by_class(key)
        fields = self.reads if columns.is_alike else None
        return columns.known(key, lambda: self._by_class(asked, scenario, known), fields)

    def _by_class(self, asked: Any, scenario: Scenario, known: dict[Any, Verdict]) -> Column:
        """Return the verdicts about all hosts, with one ``check`` for each class.

        :param known: verdicts by the values of a class, to which new ones are added.
        """
        classes = scenario.classes(self.reads)
        as_host = _view(self.reads)._make
        of_classes: list[Verdict] = []
        for number, value in enumerate(classes.values):
            kept = number if FREE in self.reads else value
            if kept not in known:
                where = partial(_where, scenario, classes, number)
                known[kept] = self._checked(asked, as_host(value), scenario.cloud, where)
            of_classes.append(known[kept])
        found, numbers = distinct(of_classes)
        of_host = np.array(numbers, np.int64)[classes.of_host]
        return Column.of(found, of_host, is_counted=FREE in self.reads)

    def _checked(self, asked: Any, host: Any, cloud: Cloud, where: Callable[[], str]) -> Verdict:
        """Return the verdict of ``check``; raise ConstraintError if it fails or is invalid."""
        try:
            return check_verdict(self, self.check(asked, host, cloud))
        except Exception as error:
            if isinstance(error, AttributeError) and error.obj is host:
                error = AttributeError(f'{error.name!r} is not in reads')
            raise attributed(self, 'check', error, where()) from error

    def check_host(self, request: Request, cloud: Cloud, host: Host) -> Verdict:
        """Return the verdict about one host."""
        return self.column(request, Scenario.of_hosts(cloud, [host])).verdict(0)

    def has_domains(self, request: Request, scenario: Scenario) -> bool:
        """Return False if the constraint limits no set of hosts for this request."""
        return True

    def domains(self, request: Request, scenario: Scenario, host: Host) -> Collection[Domain]:
        """Return the domains of the host; none if the constraint does not limit it.

        A host has one domain per criterion, unless the sets of that criterion overlap.
        """
        raise NotImplementedError

    def check_domains(
        self, request: Request, scenario: Scenario, rooms: Mapping[Domain, int | None]
    ) -> Mapping[Domain, Verdict]:
        """Return how many more servers each of these domains takes.

        :param rooms: the number of servers that the hosts of each domain take according to the
            other constraints (None: unknown). It holds every domain of one criterion that has a
            host that other constraints accept, or reject only because it is full.
        """
        raise NotImplementedError

    def check_request(self, request: Request, cloud: Cloud) -> Verdict:
        """Return whether the request can be met, and by how many servers."""
        raise NotImplementedError

    def assumptions(self, request: Request, cloud: Cloud) -> Iterable[Assumption | Switch]:
        """Return the assumptions about unspecified inputs that the number depends on.

        * An ``Assumption`` about an input that could change the number.
        * The name of a scheduler filter, or an ``Option`` of nova.conf that is off by default, if
          the flavor, the image or the aggregates would use it. If it is unspecified, the lower
          bound is the capacity with it enabled.
        """
        return ()

    def caveats(self, request: Request, cloud: Cloud) -> Iterable[str | Caveat]:
        """Return why Nova may place fewer servers than the constraints allow.

        The capacity is then an upper bound. A text counts as something that nothing models.
        """
        return ()

    def without(self, request: Request) -> Data:
        """Return the change that drops it (:mod:`~senlin_affinity.engine.changes`)."""
        return {'given_up': [self.name]}

    def proposals(
        self, request: Request, scenario: Scenario, evaluation: Evaluated
    ) -> Iterable[Change]:
        """Return other changes that could satisfy it, in the order in which the planner tries them.

        See :mod:`~senlin_affinity.model.proposal`.
        """
        return ()


def reasons_of(constraints: Iterable[Constraint]) -> Mapping[str, Reason]:
    """Return the reasons of the constraints by their codes."""
    return {code: reason for each in constraints for code, reason in each.reasons.items()}


def _where(scenario: Scenario, classes: Classes, number: int) -> str:
    """Return "host cmp-1" for the first host of a class; '' if all its hosts were changed."""
    members = np.flatnonzero(classes.of_host == number)
    return f'host {scenario.hosts[members[0]].host}' if len(members) else ''


def _has_state(constraint: Constraint) -> bool:
    """Check whether an instance may differ from another one of its class."""
    return bool(vars(constraint)) or any(
        '__slots__' in vars(each) for each in type(constraint).__mro__
    )


def _is_hashable(asked: Any) -> bool:
    try:
        hash(asked)
    except TypeError:
        return False
    return True


@cache
def _view(fields: tuple[str, ...]) -> Any:
    """Return the class of hosts with these fields only."""
    return namedtuple('Host', fields)


def overrides(constraint: Constraint, method: str) -> bool:
    """Check whether the class of the constraint overrides a method."""
    return getattr(type(constraint), method) is not getattr(Constraint, method)


def is_of_hosts(constraint: Constraint) -> bool:
    """Check whether the constraint checks hosts."""
    return overrides(constraint, 'check') or overrides(constraint, 'column')


def is_of_domains(constraint: Constraint) -> bool:
    """Check whether the constraint checks sets of hosts."""
    return overrides(constraint, 'check_domains')


def is_of_requests(constraint: Constraint) -> bool:
    """Check whether the constraint checks the request as a whole."""
    return overrides(constraint, 'check_request')


def counts_resources(constraint: Constraint) -> bool:
    """Check whether the constraint reads the free resources of hosts."""
    return FREE in constraint.reads and is_of_hosts(constraint)


@contextmanager
def attributing(constraint: Constraint, method: str, where: str = '') -> Iterator[None]:
    """Convert an exception of the block into a ConstraintError; a ConstraintError stays.

    :param where: such as "host cmp-1", or ''.
    """
    try:
        yield
    except ConstraintError:
        raise
    except Exception as error:
        raise attributed(constraint, method, error, where) from error


def attributed(
    constraint: Constraint, method: str, error: Exception, where: str
) -> ConstraintError:
    """Return the error that names the constraint, the method and the place."""
    return ConstraintError(constraint.name, method, in_words(error), where)


def check_verdict(constraint: Constraint, verdict: object) -> Verdict:
    """Return the verdict.

    Raise ValueError for another type, for a room that is not None or 0 or more, and for a code
    without a reason, or without a fact of its sentence.
    """
    if not isinstance(verdict, Verdict):
        raise ValueError(f'the answer must be a Verdict, not {verdict!r}')
    room = verdict.room
    if room is not None and (not isinstance(room, int) or room < 0):
        raise ValueError(f'room must be None or an integer of 0 or more, not {room!r}')
    reason = constraint.reasons.get(verdict.code)
    if reason is None:
        raise ValueError(f'code {verdict.code} is not in reasons')
    if not verdict.facts.keys() >= reason.facts:
        missing = ', '.join(sorted(reason.facts.difference(verdict.facts)))
        raise ValueError(f'verdict {verdict.code} lacks the fact {missing} of its sentence')
    return verdict
