"""Fetch clusters, policies, bindings, nodes and engines from Senlin's API, outside of its engine.

Each engine writes its release and a hash of its options into the ``data`` of policies
(``plugins.senlin.log``), which also show the actions that it left.

Source: Senlin's API reference. ``global_project`` is for administrators, who get all projects
without it as well; Senlin answers 403 to others.
"""

from __future__ import annotations

import contextlib
import contextvars
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from senlin_affinity.cloud import transport
from senlin_affinity.cloud.paging import allowed, check_identity, check_unique, list_of, reading
from senlin_affinity.cloud.rest import Microversion, OwnerRest
from senlin_affinity.groups.audit import FOREIGN, BindingRecord, GroupReferences
from senlin_affinity.model.errors import BindingError, CloudError, InvalidSpec
from senlin_affinity.policy import profile, properties
from senlin_affinity.policy.group_lookup import is_uuid
from senlin_affinity.policy.properties import TYPE
from senlin_affinity.policy.senlin_data import ENGINE, Binding, kept_group, reports

PAGE = 1000
_ATTACH = 'CLUSTER_ATTACH_POLICY'
UNFINISHED = (
    'INIT', 'READY', 'RUNNING', 'SUSPENDED', 'WAITING', 'WAITING_LIFECYCLE_COMPLETION',
)  # fmt: skip


#: A function that is told how many of how many clusters are read.
Progress = Callable[[int, int], object]


def _silent(_done: int, _all: int) -> None:
    """Report no progress."""


@dataclass(frozen=True)
class Node:
    """A node with a server; ``cluster`` is '' if the node is in no cluster."""

    id: str
    name: str
    cluster: str
    server: str


@dataclass(frozen=True)
class Clustering:
    """The users of groups, and the nodes, as far as Senlin's API shows them.

    ``is_complete``: all clusters that use a group are known.
    """

    uses: GroupReferences
    nodes: tuple[Node, ...] = ()
    is_complete: bool = False


def fetch(
    senlin: OwnerRest,
    project: str | None,
    *,
    with_foreign_users: bool = False,
    progress: Progress = _silent,
) -> Clustering:
    """Fetch the users of groups of one project, or, as an administrator, of all projects (None).

    Senlin needs a request for each cluster with a policy: some are sent at the same time, and the
    deadline of the operation counts from the last answer.

    :param with_foreign_users: also fetch which clusters of other projects use a group, if Senlin
        permits it; their names are ``FOREIGN``.
    :param progress: called with the numbers of the clusters that are read, and of all.
    """
    wide, clusters = project, None
    if with_foreign_users and project is not None:
        clusters = allowed(lambda: [*list_all(senlin, 'clusters', None)])
    if clusters is None:
        clusters = [*list_all(senlin, 'clusters', project)]
    else:
        wide = None
    policies = {each['id']: each for each in list_all(senlin, 'policies', wide)}
    with reading('list the policies of Senlin'):
        ours = [
            key for key, each in policies.items() if str(each['type']).rpartition('-')[0] == TYPE
        ]
    specs = ((key, policies[key].get('spec', {})) for key in ours)
    names = {key: name for key, spec in specs if (name := properties.group_name(spec))}
    # Fetched before the bindings: an attach that ends in between has stored its binding.
    attaching = set()
    if names:
        actions = list_all(senlin, 'actions', None, action=_ATTACH, status=UNFINISHED)
        with reading('list the actions of Senlin'):
            attaching = {str((each.get('inputs') or {}).get('policy_id')) for each in actions}
    with reading('list the clusters of Senlin'):
        shown = {
            each['id']: str(each['name']) if _is_own(each, project) else FOREIGN
            for each in clusters
        }
        kept = {each['id']: group for each in clusters if (group := kept_group(each.get('data')))}
        # "policies" are ids of bindings.
        asked = [each['id'] for each in clusters if ours and each.get('policies', True)]
    bound: dict[str, list[BindingRecord]] = {}

    def read(cluster: str) -> list[BindingRecord]:
        return [*bindings(senlin, cluster, shown[cluster], wide)]

    for cluster, records in mapped(read, asked):
        bound[cluster] = records
        transport.renew()
        progress(len(bound), len(asked))
    uses = GroupReferences(
        shown,
        tuple(each for cluster in asked for each in bound[cluster]),
        kept,
        frozenset(_hints(senlin, project, wide)),
        frozenset(names[key] for key in names if _is_own(policies[key], project)),
        frozenset(names[key] for key in attaching & names.keys()),
    )
    with reading('list the nodes of Senlin'):
        nodes = tuple(
            Node(each['id'], str(each['name']), each['cluster_id'] or '', each['physical_id'])
            for each in list_all(senlin, 'nodes', project)
            if each['physical_id']
        )
    return Clustering(uses, nodes, wide is None)


def has_cluster(senlin: OwnerRest, cluster: str) -> bool:
    """Check whether a cluster exists, by its id: False for a 404."""
    read = partial(senlin.get, f'/clusters/{cluster}', f'get cluster {cluster}')
    return allowed(read, (404,)) is not None


def _is_own(item: Mapping[str, Any], project: str | None) -> bool:
    """Check whether the object is of the project; True for the project None."""
    return project in (None, item.get('project'))


def bindings(
    senlin: OwnerRest, cluster: str, name: str, project: str | None
) -> Iterator[BindingRecord]:
    """Yield the affinity policies of a cluster that hold a group; none if it was deleted.

    :param name: the name of the cluster, for the records.
    :param project: the project in whose list a deleted cluster is missing; None: all.
    """
    what = f'list the policies of cluster {name}'
    try:
        body = senlin.get(f'/clusters/{cluster}/policies', what)
    except CloudError as error:
        if error.status != 404:
            raise
        # A proxy may answer 404, too.
        with reading('list the clusters of Senlin'):
            if cluster in {str(each['id']) for each in list_all(senlin, 'clusters', project)}:
                raise
        return
    with reading(what):
        for each in list_of(body, 'cluster_policies', what):
            check_identity(each['cluster_id'], cluster, what)
            with contextlib.suppress(BindingError):  # it holds no group
                if (held := Binding.read(each['data'])) is not None:
                    policy = (each['policy_id'], each['policy_name'], each['policy_type'])
                    yield BindingRecord(cluster, name, *policy, bool(each['enabled']), held)


def _hints(senlin: OwnerRest, project: str | None, wide: str | None) -> Iterator[str]:
    """Yield the group in each profile's scheduler hints; of other projects' profiles, ids only.

    Groups may repeat; malformed hints are left out.

    :param wide: the project whose profiles are fetched; None: all.
    """
    for each in list_all(senlin, 'profiles', wide):
        with contextlib.suppress(InvalidSpec), reading('list the profiles of Senlin'):
            hint = profile.group_hint(each['spec']) or ''
            if hint and (_is_own(each, project) or is_uuid(hint)):
                yield hint


def list_all(
    senlin: OwnerRest,
    key: str,
    project: str | None,
    microversion: Microversion | None = None,
    **query: str | Sequence[str],
) -> Iterator[dict[str, Any]]:
    """Yield the objects under ``key`` of a project, or of all (None), page by page.

    :param query: None requests ``global_project`` only without a query.
    """
    if project is None and not query:
        query = {'global_project': 'True'}
    what = f'list the {key} of Senlin'
    marker: dict[str, str] = {}
    known: set[str] = set()
    while True:
        params: dict[str, str | int | Sequence[str]] = {'limit': PAGE, **query, **marker}
        page = list_of(senlin.get(f'/{key}', what, microversion, params=params), key, what)
        check_unique(page, 'id', what, known)
        transport.renew()
        yield from (each for each in page if _is_own(each, project))
        if len(page) < PAGE:
            return
        with reading(what):
            marker = {'marker': str(page[-1]['id'])}


T = TypeVar('T')
R = TypeVar('R')
#: The number of requests at the same time; Senlin's API has a few workers.
THREADS = 8


def mapped(
    call: Callable[[T], R], items: Sequence[T], threads: int = THREADS
) -> Iterator[tuple[T, R]]:
    """Yield each item with the result of its call, in the order in which the calls return.

    Raise the first exception of a call; no further call begins after it.
    """
    waiting = deque(items)
    done: queue.SimpleQueue[tuple[T, futures.Future[R]]] = queue.SimpleQueue()

    def work(context: contextvars.Context) -> None:
        while True:
            try:
                item = waiting.popleft()
            except IndexError:
                return
            future: futures.Future[R] = futures.Future()
            try:
                future.set_result(context.run(call, item))
            except BaseException as error:  # noqa: BLE001 - the caller raises it again
                waiting.clear()
                future.set_exception(error)
            done.put((item, future))

    for _ in range(min(threads, len(items))):
        context = contextvars.copy_context()
        threading.Thread(target=work, args=(context,), name='senlin-affinity', daemon=True).start()
    try:
        for _ in items:
            item, future = done.get()
            yield item, future.result()
    finally:
        waiting.clear()


_SERVICES = 'list the services of Senlin'
_UP = 'up'
#: Actions show the cluster of their node.
_CLUSTER_IDS = (1, 14)


@dataclass(frozen=True)
class Engine:
    """The engines of one host; ``is_up`` if at least one of them is.

    ``release`` and ``options`` (a hash) are of the latest report of one that is up; None without.
    """

    host: str
    is_up: bool
    release: str | None = None
    options: str | None = None


@dataclass(frozen=True)
class AbandonedAction:
    """An action that may lock a cluster or node (``target``) forever: its engine is not up."""

    id: str
    name: str
    target: str


def engines(senlin: OwnerRest) -> tuple[Engine, ...]:
    """Fetch the engines of each host with their latest report, sorted by host."""
    policies = [*list_all(senlin, 'policies', None)]
    alive: dict[str, set[str]] = {}
    for host, service, is_up in _services(senlin):
        alive.setdefault(host, set()).update([service] if is_up else [])
    latest: dict[str, dict[str, str]] = {}
    for policy in policies:
        for host, entry in reports(policy.get('data')).items():
            if not alive.get(host, set()).isdisjoint(entry.get('services', '').split()):
                latest[host] = max(latest.get(host, {}), entry, key=lambda each: each.get('at', ''))
    return tuple(
        Engine(host, bool(alive[host]), entry.get('release'), entry.get('options'))
        for host in sorted(alive)
        for entry in [latest.get(host, {})]
    )


def abandoned_actions(senlin: OwnerRest) -> Iterator[AbandonedAction]:
    """Yield the unfinished actions, of all projects, whose engine is not up.

    An action without an engine counts if it is INIT, has a ``cluster_id``, and no engine that is up
    has an action of this cluster.
    """
    # Read first: an engine that starts an action in between is up.
    shown, status = senlin.pick(_CLUSTER_IDS), UNFINISHED
    actions = [*list_all(senlin, 'actions', None, shown, global_project='True', status=status)]
    alive = {service for _host, service, is_up in _services(senlin) if is_up}
    with reading('list the actions of Senlin'):
        busy = {str(each['target']) for each in actions if each['owner'] in alive}
        for each in actions:
            is_left = each['status'] == 'INIT' and each.get('cluster_id', '') not in {'', *busy}
            if each['owner'] not in alive if each['owner'] else is_left:
                yield AbandonedAction(str(each['id']), str(each['action']), str(each['target']))


def _services(senlin: OwnerRest) -> list[tuple[str, str, bool]]:
    """Fetch the host and the id of each engine that has both, and whether it is up."""
    body = senlin.get('/services', _SERVICES)
    with reading(_SERVICES):
        listed = list_of(body, 'services', _SERVICES)
        return [
            (str(each['host']), str(each['id']), each['state'] == _UP)
            for each in listed
            if each['binary'] == ENGINE and each['host'] and each['id']
        ]
