"""The public library: ask whether servers fit a cloud, or a file of one, and why not.

Example::

    question = api.Question(count=3, flavor='m1.small', server_group='web')
    decision = api.run(question, connection)
    print(decision.line())      # fits: 3 of 3 placed

    view = api.fetch(connection, question)      # or api.load('cloud.json'), without requests
    decision = api.answer(question, view)

    found = api.capacity(api.fetch(connection), flavors=['m1.*'], by='zone')
    for each in found.flavors:      # the scarcest first
        print(each.flavor.name, each.bounds.expected, each.runs_out_first)

    plan = api.plan_workload([question, another], view)
    plan.fits       # do the servers of all questions fit together?

    plan = api.drain(['cmp-7'], view)       # a view with the servers of the host
    print(plan.line())          # 31 of 33 servers move in 5 waves; 2 are stuck

    found = api.resilience(view, 'rack')    # a view with the servers of all hosts
    for each in found.losses:
        print(each.name, each.verdict, each.left)

Question, Cloud, Decision, Capacity, WorkloadPlan, DrainPlan and Resilience are plain values and
can be pickled. One view serves every question about the same server group, project and image; its
allocation candidates are those of the question that it was fetched for.

Raises: InvalidSpec for an invalid question or file, and for names that the cloud does not have;
CloudError for a cloud that does not answer; PluginError for a constraint that does not load;
OSError for a file that cannot be written. ``Cloud.unavailable`` has the parts that the user may
not read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from msgspec import structs

from senlin_affinity import engine
from senlin_affinity.answers.headline import hosts_to_read, scarce_hosts
from senlin_affinity.cloud.clients import of as clients_of
from senlin_affinity.conf.constraint_plugins import load_constraints
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.engine import drain as drains
from senlin_affinity.engine import drain_batches as batches
from senlin_affinity.engine import flavor_capacity
from senlin_affinity.engine import resilience as losses
from senlin_affinity.engine.decision import Decision
from senlin_affinity.engine.drain import DrainPlan
from senlin_affinity.engine.drain_batches import RollingPlan
from senlin_affinity.engine.flavor_capacity import Capacity
from senlin_affinity.engine.resilience_report import Resilience
from senlin_affinity.engine.workload import WorkloadPlan, plan_requests
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.request import Settings
from senlin_affinity.model.suggestion import meant
from senlin_affinity.preflight.question import Question, resolve_question
from senlin_affinity.preflight.workload import Workload, resolve_workload
from senlin_affinity.scenario.scenario import Scenario

_EVERY_HOST = ['*']
__all__ = (
    'Capacity',
    'Cloud',
    'Decision',
    'DrainPlan',
    'Question',
    'Resilience',
    'RollingPlan',
    'Workload',
    'WorkloadPlan',
    'answer',
    'capacity',
    'clients_of',
    'drain',
    'drain_in_batches',
    'fetch',
    'load',
    'plan_workload',
    'resilience',
    'run',
    'save',
)


def fetch(
    connection: Any,
    question: Question | Workload | None = None,
    timeout: float | None = None,
    *,
    flavors: Iterable[str] | None = None,
    servers_on: Iterable[str] | None = None,
) -> Cloud:
    """Fetch what a question needs through an ``openstack.connection.Connection``.

    :param question: or a list of questions; None fetches all server groups, which serves any
        question, but neither an image nor allocation candidates.
    :param timeout: read timeout in seconds; None: the connection's ``api_timeout``, else 60.
    :param flavors: ids, names or globs of the flavors for :func:`capacity` (``['*']``: all), whose
        allocation candidates are fetched if they use nested or sharing providers. The question
        then names no flavor.
    :param servers_on: names of service hosts or hypervisors whose servers are fetched, with what
        their moves depend on under the settings of the question (``['*']``: the servers of all
        hosts, for a file). Only administrators may list them.
    """
    # Imported here: openstacksdk takes a second to load.
    from senlin_affinity.cloud import drained, whole_cloud

    clients = clients_of(connection, timeout)
    if isinstance(question, Workload):
        listed = _read_all(question, load_constraints())
        return whole_cloud.fetch_for_list(clients, listed.questions)
    asked = None if question is None else _read(question, load_constraints())
    if servers_on is not None:
        cloud, names = whole_cloud.fetch(clients), [*servers_on]
        if names == _EVERY_HOST:
            return drained.with_every_server(clients, cloud)
        return drained.with_servers_on(clients, cloud, names, (asked or Question(0)).settings)
    if flavors is not None:
        return whole_cloud.fetch_for_flavors(clients, tuple(flavors), asked)
    return whole_cloud.fetch(clients, asked)


def with_leftovers(connection: Any, view: Cloud, decision: Decision) -> Cloud:
    """Fetch what uses the hosts that decide, at most ten; for the commands.

    That is what else than servers uses them and, if only a few hosts of the cloud are suitable,
    their servers, of which another host may take one.

    :param decision: the decision about the view, with or without remedies.
    """
    names = hosts_to_read(decision, view.hosts or ())
    if not names:
        return view
    # Imported here: openstacksdk takes a second to load.
    from senlin_affinity.cloud import drained, host_use

    clients = clients_of(connection).remembering()
    view = host_use.with_use(clients, view, names)
    return drained.with_servers(clients, view, scarce_hosts(decision))


def load(path: str | os.PathLike[str], largest: int | None = None) -> Cloud:
    """Load a view from a file of ``senlin-affinity snapshot save``.

    :param largest: the maximum size in MiB; None: 256.
    """
    from senlin_affinity.cloud import input_file, snapshot_file

    try:
        return snapshot_file.load(path, largest or input_file.LARGEST)
    except InvalidSpec as error:
        if isinstance(error.__cause__, OSError):  # it names the file already
            raise
        raise InvalidSpec(str(error), os.fspath(path)) from error


def save(view: Cloud, path: str | os.PathLike[str]) -> None:
    """Save a view in a file, without the fields that describe the fetch (``unavailable``, ...)."""
    from senlin_affinity.cloud import snapshot_file

    snapshot_file.save(view, path)


def run(
    question: Question,
    connection: Any,
    constraints: Sequence[Constraint] | None = None,
    *,
    remedies: bool = True,
    timeout: float | None = None,
) -> Decision:
    """Fetch what the question needs, and answer it; see :func:`fetch` and :func:`answer`."""
    view = fetch(connection, question, timeout)
    return answer(question, view, constraints, remedies=remedies)


def answer(
    question: Question,
    view: Cloud,
    constraints: Sequence[Constraint] | None = None,
    *,
    remedies: bool = True,
) -> Decision:
    """Decide whether the servers fit, where they would go, and if not, why and what would help.

    :param constraints: None: all that are installed.
    :param remedies: whether to search for remedies, most of the cost of a rejection.
    """
    chosen = load_constraints() if constraints is None else constraints
    request, cloud = resolve_question(_read(question, chosen), view)
    return engine.plan(request, Scenario.of(cloud), chosen, remedies=remedies)


def capacity(
    view: Cloud,
    flavors: Iterable[str | Flavor] | None = None,
    by: str | None = None,
    project_id: str | None = None,
    *,
    question: Question | None = None,
    constraints: Sequence[Constraint] | None = None,
) -> Capacity:
    """Count how many more servers of each flavor fit, without regard to quotas.

    :param flavors: ids, names or globs of flavors, and flavors that need not exist; None: all that
        the project may use.
    :param by: what the parts are: ``zone``, ``aggregate``, ``host``, or a metadata key of
        aggregates; None: no parts.
    :param project_id: the project of the servers; None: that of the server group, or the view's.
    :param question: the settings of the cloud, and other conditions, such as a server group or a
        zone. Its count, flavor and project are not used.
    """
    chosen = load_constraints() if constraints is None else constraints
    known = view.flavors
    wanted = None if flavors is None else [*flavors]
    named = [each for each in wanted or () if isinstance(each, str)]
    new = [each for each in wanted or () if isinstance(each, Flavor)]
    if known is None and (named or wanted is None):
        why = view.unavailable.get('flavors', 'the snapshot does not have them')
        raise CloudError(f'the flavors are not known: {why}')
    found = flavor_capacity.select(known or (), named)
    if wanted is None:
        found = flavor_capacity.usable(known or ())
    every = (*found, *new)
    if not every:
        return Capacity((), by, taken_at=view.taken_at)
    if new:
        kept = (each for each in known or () if each.id not in {other.id for other in new})
        view = structs.replace(view, flavors=(*kept, *new))
    asked = _read(question or Question(0), chosen)
    asked = replace(
        asked, count=0, flavor=every[0].id, project_id=project_id, are_quotas_ignored=True
    )
    request, cloud = resolve_question(asked, view)
    return flavor_capacity.capacity(request, Scenario.of(cloud), every, chosen, by)


def plan_workload(
    requests: Workload | Iterable[Question],
    view: Cloud,
    constraints: Sequence[Constraint] | None = None,
    *,
    remedies: bool = True,
) -> WorkloadPlan:
    """Plan several requests of one project together; quotas and new groups count over the list.

    :param requests: a new server group that several of them name is the same object, of
        ``ServerGroup.planned``.
    :param constraints: None: all that are installed.
    :param remedies: whether to search for remedies for the first request that does not fit.
    """
    chosen = load_constraints() if constraints is None else constraints
    workload = _read_all(Workload.of(requests), chosen)
    found, cloud = resolve_workload(workload, view)
    return plan_requests(
        found,
        Scenario.of(cloud),
        chosen,
        new_groups=len(workload.server_groups),
        remedies=remedies,
        not_read=workload.not_read,
        removed=workload.removed,
    )


def _read_all(workload: Workload, constraints: Sequence[Constraint]) -> Workload:
    """Return the workload with the options of each question parsed."""
    questions = tuple(_read(each, constraints) for each in workload.questions)
    return replace(workload, questions=questions)


def drain(
    hosts: Iterable[str],
    view: Cloud,
    *,
    targets: Iterable[str] | None = None,
    question: Question | None = None,
    constraints: Sequence[Constraint] | None = None,
) -> DrainPlan:
    """Plan how all servers of these service hosts move to others, so that the hosts end empty.

    Nothing is carried out. Hosts that are drained together take nothing from each other.

    :param targets: the service hosts that may take servers; None: all others.
    :param question: the settings of the cloud; the rest of it is not used.
    """
    names, scenario, settings, chosen, allowed = _drained(
        hosts, view, targets, question, constraints
    )
    return drains.drain(names, scenario, settings, chosen, targets=allowed)


def drain_in_batches(
    hosts: Iterable[str],
    most: int,
    view: Cloud,
    *,
    targets: Iterable[str] | None = None,
    question: Question | None = None,
    constraints: Sequence[Constraint] | None = None,
) -> RollingPlan:
    """Plan how hosts are emptied in batches of at most so many, for rolling maintenance.

    After its maintenance, a host of a batch takes servers of later ones. The other parameters are
    those of :func:`drain`.
    """
    if most < 1:
        raise InvalidSpec(f'must be at least 1, not {most}', 'most')
    names, scenario, settings, chosen, allowed = _drained(
        hosts, view, targets, question, constraints
    )
    return batches.drain_in_batches(names, most, scenario, settings, chosen, targets=allowed)


def _drained(
    hosts: Iterable[str],
    view: Cloud,
    targets: Iterable[str] | None,
    question: Question | None,
    constraints: Sequence[Constraint] | None,
) -> tuple[list[str], Scenario, Settings, Sequence[Constraint], list[str] | None]:
    """Return the checked arguments of a drain."""
    drained = [*dict.fromkeys(hosts)]
    _check_hosts(view)
    chosen = load_constraints() if constraints is None else constraints
    allowed = None if targets is None else [*targets]
    for path, names in (('hosts', drained), ('targets', allowed or ())):
        for name in names:
            if name not in view.hosts_by_name:
                known = sorted(view.hosts_by_name)
                raise InvalidSpec(f'there is no host {name!r}: {meant(name, known)}', path)
    for name in drained:
        if name not in view.servers_by_host:
            raise CloudError(f'the servers of host {name} were not read')
    settings = _read(question or Question(0), chosen).settings
    return drained, Scenario.of(view), settings, chosen, allowed


def resilience(
    view: Cloud,
    by: str,
    *,
    question: Question | None = None,
    constraints: Sequence[Constraint] | None = None,
) -> Resilience:
    """Say which domains of hosts can be lost with every server evacuated to other hosts.

    :param view: has the servers of all hosts (``fetch(connection, servers_on=['*'])``).
    :param by: ``zone``, ``aggregate``, ``host``, or a metadata key of aggregates.
    :param question: the settings of the cloud; the rest of it is not used.
    """
    _check_hosts(view)
    lacking = [name for name in view.hosts_by_name if name not in view.servers_by_host]
    if lacking:
        raise CloudError(f'the servers of host {lacking[0]} were not read')
    chosen = load_constraints() if constraints is None else constraints
    settings = _read(question or Question(0), chosen).settings
    return losses.resilience(by, Scenario.of(view), settings, chosen)


def _check_hosts(view: Cloud) -> None:
    """Raise CloudError if the hosts are unknown."""
    if view.hosts is None:
        raise CloudError(view.why_no_hosts())


def _read(question: Question, constraints: Sequence[Constraint]) -> Question:
    """Return the question with its options parsed; raise InvalidSpec for an invalid option."""
    if not question.options:
        return question
    # Imported here: without options, oslo.config is not needed.
    from senlin_affinity.conf import opts

    return replace(question, options=opts.read(question.options, constraints))
