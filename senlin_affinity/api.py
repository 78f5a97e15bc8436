"""The public library: ask whether servers fit a cloud, or a file of one, and why not.

Example::

    question = api.Question(count=3, flavor='m1.small', server_group='web')
    decision = api.run(question, connection)
    print(decision.line())      # fits: 3 of 3 placed

    view = api.fetch(connection, question)      # or api.load('cloud.json'), without requests
    decision = api.answer(question, view)

Question, CloudView and Decision are plain values and can be pickled. One view serves every question
about the same server group, project and image; its allocation candidates are those of the question
that it was fetched for.

Raises: InvalidSpec for an invalid question or file, and for names that the cloud does not have;
CloudError for a cloud that does not answer; PluginError for a constraint that does not load;
OSError for a file that cannot be written. ``CloudView.unavailable`` has the parts that the user may
not read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from senlin_affinity.cloud.clients import of as clients_of
from senlin_affinity.conf.installed import load_constraints
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.request import Request
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.planner import planner
from senlin_affinity.planner.decision import Decision
from senlin_affinity.preflight.cloud_view import CloudView
from senlin_affinity.preflight.headline import hosts_to_read
from senlin_affinity.preflight.question import FetchScope, Question, resolve_question, scope_of
from senlin_affinity.scenario.scenario import Scenario

__all__ = (
    'CloudView',
    'Decision',
    'FetchScope',
    'Question',
    'answer',
    'clients_of',
    'fetch',
    'load',
    'run',
    'save',
)


def fetch(
    connection: Any, question: Question | None = None, timeout: float | None = None
) -> CloudView:
    """Fetch what a question needs through an ``openstack.connection.Connection``.

    :param question: None fetches all server groups, which serves any question, but neither an
        image nor allocation candidates.
    :param timeout: read timeout in seconds; None: the connection's ``api_timeout``, else 60.
    """
    # Imported here: openstacksdk takes a second to load.
    from senlin_affinity.cloud import whole_cloud

    if question is not None:
        question = _read(question, load_constraints())
    needed = FetchScope() if question is None else scope_of(question)
    return whole_cloud.fetch(clients_of(connection), needed, timeout)


def with_leftovers(
    connection: Any,
    request: Request,
    view: CloudView,
    decision: Decision,
    timeout: float | None = None,
) -> CloudView:
    """Fetch what else than servers uses the hosts that decide, at most ten; for the commands.

    :param decision: the decision about the view, with or without remedies.
    """
    names = hosts_to_read(decision, view.snapshot.hosts or ())
    if not names:
        return view
    # Imported here: openstacksdk takes a second to load.
    from senlin_affinity.cloud import leftovers

    asked = demand_of(request)
    classes = () if asked is None else asked.amounts.keys()
    clients = clients_of(connection)
    snapshot = leftovers.with_leftovers(clients, view.snapshot, names, classes, timeout)
    return replace(view, snapshot=snapshot)


def load(path: str | os.PathLike[str], largest: int | None = None) -> CloudView:
    """Load a view from a file of ``senlin-affinity snapshot save``.

    :param largest: the maximum size in MiB; None: 256.
    """
    from senlin_affinity.cloud import input_file, snapshot_file

    try:
        return CloudView(snapshot_file.load(path, largest or input_file.LARGEST))
    except InvalidSpec as error:
        if isinstance(error.__cause__, OSError):  # it names the file already
            raise
        raise InvalidSpec(str(error), os.fspath(path)) from error


def save(view: CloudView, path: str | os.PathLike[str]) -> None:
    """Save the snapshot of a view in a file, without the reasons in ``unavailable``."""
    from senlin_affinity.cloud import snapshot_file

    snapshot_file.save(view.snapshot, path)


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
    view: CloudView,
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
    return planner.plan(request, Scenario.of(cloud), chosen, remedies=remedies)


def _read(question: Question, constraints: Sequence[Constraint]) -> Question:
    """Return the question with its options parsed; raise InvalidSpec for an invalid option."""
    if not question.options:
        return question
    # Imported here: without options, oslo.config is not needed.
    from senlin_affinity.conf import opts

    return replace(question, options=opts.read(question.options, constraints))
