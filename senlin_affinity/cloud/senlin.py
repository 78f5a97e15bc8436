"""What Senlin's API shows of clusters, policies, bindings and nodes, for who looks from outside.

Requests: one a page of clusters, policies, nodes and profiles, one for each cluster that has a
policy, one for the attaches that are under way, and the clusters once more where one is gone.

Source: Senlin's API reference, version 1. The lists show the ``data`` of clusters, policies, nodes
and bindings. ``global_project`` is for administrators, who get all projects without it as well.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from senlin_affinity.cloud.answers import list_of, reading
from senlin_affinity.cloud.rest import OwnersRest
from senlin_affinity.core.errors import BindingError, CloudError, InvalidSpec
from senlin_affinity.policy import binding, ledger, notes, profile, properties
from senlin_affinity.policy.ledger import Bound, Ledger
from senlin_affinity.policy.properties import TYPE, Properties

PAGE = 1000
_ATTACH = 'CLUSTER_ATTACH_POLICY'
#: The states of an action that is not over: it waits, runs, or will run again.
_GOES_ON = (
    'INIT', 'READY', 'RUNNING', 'SUSPENDED', 'WAITING', 'WAITING_LIFECYCLE_COMPLETION',
)  # fmt: skip


@dataclass(frozen=True)
class Node:
    """A node that has a server; ``cluster`` is '' for one that is in none."""

    id: str
    name: str
    cluster: str
    server: str


@dataclass(frozen=True)
class Seen:
    """What the API shows. ``hints`` are the groups that profiles name, by name or id.

    ``specs`` are those of the policies with notes, by their ids, as far as they can be read.
    """

    ledger: Ledger
    nodes: tuple[Node, ...]
    hints: frozenset[str]
    specs: Mapping[str, Properties]


def see(senlin: OwnersRest, project: str | None) -> Seen:
    """Look at one project, or as an administrator at all of them (None)."""
    clusters = list(_all(senlin, 'clusters', project))
    policies = {each['id']: each for each in _all(senlin, 'policies', project)}
    with reading('list the policies of Senlin'):
        kinds = {key: str(each['type']) for key, each in policies.items()}
        ours = {key for key, kind in kinds.items() if kind.rpartition('-')[0] == TYPE}
        noted = {key: notes.read(policies[key].get('data')) for key in ours}
    specs = dict(_specs({key: policies[key] for key in ours if noted[key]}))
    # Before the bindings: an attach that ends in between has stored its own.
    attaching = _attaching(senlin) if any(noted.values()) else frozenset()
    bound: list[Bound] = []
    kept: list[notes.Note] = []
    with reading('list the clusters of Senlin'):
        names = {each['id']: str(each['name']) for each in clusters}
        for each in clusters:
            kept.extend(ledger.kept(each['id'], each.get('data')))
            if ours and each.get('policies', True):  # ids of bindings
                bound.extend(_bindings(senlin, each['id'], names[each['id']], project))
    found = Ledger(names, tuple(bound), noted, tuple(kept), attaching.__contains__)
    nodes = tuple(_nodes(senlin, project))
    return Seen(found, nodes, frozenset(_hints(senlin, project)), specs)


def _specs(policies: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Properties]]:
    for key, each in policies.items():
        with contextlib.suppress(InvalidSpec):
            yield key, properties.load(each.get('spec', {}))


def _bindings(senlin: OwnersRest, cluster: str, name: str, project: str | None) -> Iterator[Bound]:
    what = f'list the policies of cluster {name}'
    try:
        body = senlin.get(f'/clusters/{cluster}/policies', what)
    except CloudError as error:
        # A proxy says 404, too: only the list tells that the cluster was deleted meanwhile.
        if error.status != 404 or cluster in _ids(senlin, project):
            raise
        return
    with reading(what):
        for each in list_of(body, 'cluster_policies', what):
            with contextlib.suppress(BindingError):  # it holds no group
                if (held := binding.read(each['data'])) is not None:
                    policy = (each['policy_id'], each['policy_name'], each['policy_type'])
                    yield Bound(cluster, name, *policy, bool(each['enabled']), held)


def _ids(senlin: OwnersRest, project: str | None) -> set[str]:
    with reading('list the clusters of Senlin'):
        return {str(each['id']) for each in _all(senlin, 'clusters', project)}


def _attaching(senlin: OwnersRest) -> frozenset[str]:
    """The clusters to which a policy is being attached, or is about to be."""
    found = _all(senlin, 'actions', None, action=_ATTACH, status=_GOES_ON)
    with reading('list the actions of Senlin'):
        return frozenset(str(each['target']) for each in found)


def _nodes(senlin: OwnersRest, project: str | None) -> Iterator[Node]:
    with reading('list the nodes of Senlin'):
        for each in _all(senlin, 'nodes', project):
            if each['physical_id']:
                ids = (each['id'], str(each['name']), each['cluster_id'] or '')
                yield Node(*ids, each['physical_id'])


def _hints(senlin: OwnersRest, project: str | None) -> Iterator[str]:
    for each in _all(senlin, 'profiles', project):
        with contextlib.suppress(InvalidSpec), reading('list the profiles of Senlin'):
            if hint := profile.group_hint(each['spec']):
                yield hint


def _all(
    senlin: OwnersRest, key: str, project: str | None, **query: str | Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Everything of a project under ``key``. No answer says whether there is more.

    An administrator gets those of all projects, asked for or not; actions are not sorted out.
    """
    if project is None and not query:
        query = {'global_project': 'True'}
    what = f'list the {key} of Senlin'
    marker: dict[str, str] = {}
    while True:
        params: dict[str, str | int | Sequence[str]] = {'limit': PAGE, **query, **marker}
        page = list_of(senlin.get(f'/{key}', what, params=params), key, what)
        yield from (each for each in page if project in (None, each.get('project')))
        if len(page) < PAGE:
            return
        with reading(what):
            marker = {'marker': str(page[-1]['id'])}
