"""Check in a test that a constraint of another package keeps the rules that the planner relies on.

Example::

    question = api.Question(5, 'm1.tiny', server_group='web', options={'most_per_rack': 2})
    testing.check(RackLimit(), question, api.load('racks.json'))

Raises: AssertionError with the first mistake in one line; InvalidSpec for a question that does not
suit the view.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace

from msgspec import structs

from senlin_affinity import engine
from senlin_affinity.conf import opts
from senlin_affinity.conf.constraint_plugins import check_declarations
from senlin_affinity.constraints.base import Constraint, Request, Verdict
from senlin_affinity.constraints.resources import ResourcesConstraint
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import PluginError
from senlin_affinity.model.verdict import sentence
from senlin_affinity.preflight.question import Question, resolve_question
from senlin_affinity.scenario.constraint import overrides
from senlin_affinity.scenario.scenario import Scenario

_READS_MORE = (
    'check must read nothing but the result of prepare, the fields of the host, and the cloud '
    'without its hosts, zones and quotas'
)


def check(constraint: Constraint, question: Question, view: Cloud) -> None:
    """Raise AssertionError if the constraint breaks a rule for this question.

    * Its declarations are valid; ``needs`` are parts of a snapshot, and ``reads`` fields of a host.
    * ``check`` reads no other field of a host, no hosts, zones and quotas of the cloud, and nothing
      that ``prepare`` stored in the constraint.
    * Each code that occurs is declared, and its sentence can be rendered. Only codes that reject
      have advice, and all of them.
    * Its proposals can be applied to a request for one more server than fits, and their
      descriptions contain ``{number}`` or ``{hosts}``.
    """
    unused = copy(constraint)
    try:
        check_declarations(constraint, f'constraint {type(constraint).__name__}')
        options = opts.read(question.options, [constraint])
        request, cloud = resolve_question(replace(question, options=options), view)
        for verdict in _verdicts(constraint, request, cloud):
            _check_words(constraint, verdict)
        if overrides(constraint, 'check') and not overrides(constraint, 'column'):
            _check_inputs(constraint, unused, request, cloud)
    except PluginError as error:
        raise AssertionError(str(error)) from error


def _verdicts(constraint: Constraint, request: Request, cloud: Cloud) -> Iterator[Verdict]:
    """Yield its verdicts in the decision, and in that for one more server than fits."""
    is_alone = isinstance(constraint, ResourcesConstraint)
    constraints = [constraint] if is_alone else [constraint, ResourcesConstraint()]
    scenario = Scenario.of(cloud)
    decisions = [engine.plan(request, scenario, constraints)]
    if decisions[0].capacity is not None:
        request = replace(request, count=decisions[0].capacity + 1)
        decisions.append(engine.plan(request, scenario, constraints))
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


def _check_inputs(
    constraint: Constraint, unused: Constraint, request: Request, cloud: Cloud
) -> None:
    """Check that ``check`` reads nothing but its arguments, and no hosts and quotas of the cloud.

    :param unused: a copy whose ``prepare`` was never called.
    """
    hosts = cloud.hosts or ()
    other = structs.replace(cloud, hosts=(), quotas={})
    asked = constraint.prepare(request, cloud)
    unused.prepare = lambda request, cloud: asked  # type: ignore[method-assign]
    column = constraint.column(request, Scenario.of_hosts(cloud, hosts))
    try:
        alone = unused.column(request, Scenario.of_hosts(other, hosts))
    except PluginError as error:
        raise AssertionError(f'{_READS_MORE}; otherwise: {error}') from error
    for index, host in enumerate(hosts):
        if column.verdict(index) != alone.verdict(index):
            raise AssertionError(f'{_READS_MORE}: the verdict about host {host.host} differs')
