"""Check in a test that a constraint of another package keeps the rules that the planner relies on.

Example::

    question = api.Question(5, 'm1.tiny', server_group='web', options={'most_per_rack': 2})
    testing.check(RackLimit(), question, api.load('racks.json'))

Raises: AssertionError with the first mistake in one line; InvalidSpec for a question that does not
suit the view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from msgspec import structs

from senlin_affinity.conf import opts
from senlin_affinity.conf.installed import check_declarations
from senlin_affinity.constraints.base import Constraint, Host, ResolvedRequest, Verdict
from senlin_affinity.constraints.resources import ResourcesConstraint
from senlin_affinity.model.constraint import is_of_hosts
from senlin_affinity.model.errors import PluginError
from senlin_affinity.model.reason import sentence
from senlin_affinity.planner import planner, plugin_errors
from senlin_affinity.planner.matrix import evaluate_hosts
from senlin_affinity.preflight.cloud_view import CloudView
from senlin_affinity.preflight.question import Question, ask

#: More servers than any host holds.
_MANY = 10**6


def check(constraint: Constraint, question: Question, view: CloudView) -> None:
    """Raise AssertionError if the constraint breaks a rule for this question.

    * Its declarations are valid; ``needs`` are parts of a snapshot.
    * Each code that occurs is declared, and its sentence can be rendered. Only codes that reject
      have advice, and all of them.
    * ``check_hosts`` returns what ``check_host`` returns.
    * ``is_host_specific``, ``uses_resources``, ``host_fields`` and ``specific_hosts`` change no
      verdict. The hosts are also checked with other names, numbers of servers and resources, and
      after servers were placed.
    * Its proposals can be applied to a request for one more server than fits, and their
      descriptions contain ``{number}`` or ``{hosts}``.
    """
    try:
        check_declarations(constraint, f'constraint {type(constraint).__name__}')
        options = opts.read(question.options, [constraint])
        resolved = ask(replace(question, options=options), view)
        for verdict in _verdicts(constraint, resolved):
            _check_words(constraint, verdict)
        if is_of_hosts(constraint):
            placed = {host.host: 1 for host in resolved.snapshot.hosts or ()}
            _check_hosts(constraint, resolved)
            _check_hosts(constraint, replace(resolved, placed=placed))
    except PluginError as error:
        raise AssertionError(str(error)) from error


def _verdicts(constraint: Constraint, resolved: ResolvedRequest) -> Iterator[Verdict]:
    """Yield its verdicts in the decision, and in that for one more server than fits."""
    is_alone = isinstance(constraint, ResourcesConstraint)
    constraints = [constraint] if is_alone else [constraint, ResourcesConstraint()]
    decisions = [planner.decide(resolved, constraints)]
    if decisions[0].capacity is not None:
        request = replace(resolved.request, count=decisions[0].capacity + 1)
        decisions.append(planner.decide(replace(resolved, request=request), constraints))
    for decision in decisions:
        for found in (decision.request, *(report.verdicts for report in decision.hosts)):
            if constraint.name in found:
                yield found[constraint.name]


def _check_words(constraint: Constraint, verdict: Verdict) -> None:
    code = verdict.code
    try:
        sentence(verdict, constraint.reasons)
    except Exception as error:
        raise AssertionError(f'{code}: its sentence cannot be rendered: {error}') from error
    if bool(verdict) == bool(constraint.reasons[code].advice):
        why = 'does not reject, but has advice' if verdict else 'rejects, but has no advice'
        raise AssertionError(f'{code} {why}')


def _check_hosts(constraint: Constraint, resolved: ResolvedRequest) -> None:
    """Check that hosts may share an evaluation, and that ``check_hosts`` is ``check_host``."""

    def check_host(host: Host) -> Verdict:
        with plugin_errors.attributing(constraint, 'check_host', f'host {host.host}'):
            found = constraint.check_host(resolved, host)
            return plugin_errors.check_verdict(constraint, found)

    hosts = resolved.snapshot.hosts or ()
    by_class = evaluate_hosts(resolved, [constraint], hosts)
    with plugin_errors.attributing(constraint, 'check_hosts'):
        together = constraint.check_hosts(resolved, hosts)
    for index, host in enumerate(hosts):
        alone, shared = check_host(host), by_class.verdicts(index)[constraint.name]
        about = f'the verdict about host {host.host}'
        if together[index] != alone:
            raise AssertionError(f'check_hosts and check_host differ: {about}')
        for flag, vary, what in _FLAGS:
            is_shared = not getattr(constraint, flag)
            if is_shared and any(check_host(other) != alone for other in vary(host)):
                raise AssertionError(f'{flag} must be True: {about} depends on {what}')
        if shared != alone:
            why = f'{about} is {alone.code}, but {shared.code} for all hosts like it'
            raise AssertionError(f'host_fields or specific_hosts is wrong: {why}')


def _renamed(host: Host) -> Iterator[Host]:
    """Yield the host with another name, and with other numbers of servers."""
    for servers in (None, 0, _MANY):
        names = {'host': 'another', 'hypervisor_hostname': 'another'}
        yield host.but(grants=host.grants, servers=servers, **names)


def _loaded(host: Host) -> Iterator[Host]:
    """Yield the host without free resources, and with many."""
    has = host.resources or {}
    full = {name: structs.replace(each, used=each.capacity) for name, each in has.items()}
    free = {name: structs.replace(each, capacity=each.used + _MANY) for name, each in has.items()}
    for resources in (full, free):
        yield host.but(grants=host.grants, resources=host.resources and resources)


#: Each flag, the variations of a host that it is about, and the words for them.
_FLAGS: tuple[tuple[str, Callable[[Host], Iterator[Host]], str], ...] = (
    ('is_host_specific', _renamed, 'its name or its number of servers'),
    ('uses_resources', _loaded, 'its resources'),
)
