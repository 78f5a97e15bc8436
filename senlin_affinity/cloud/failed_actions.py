"""Fetch the last failed action of a Senlin cluster or node, and what became of its servers.

Senlin deletes a server whose creation failed, and Nova shows tenants less of it. So the profile,
the node's placement and the binding of the policy complete the request.

Raises: InvalidSpec for a cluster or node that does not exist, whose name is not unique, or whose
last action did not fail; AffinityError for a failed action that creates no server; CloudError.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from senlin_affinity.cloud import failed_servers, senlin
from senlin_affinity.cloud.clients import Clients
from senlin_affinity.cloud.paging import allowed, check_identity, reading, the_only
from senlin_affinity.cloud.rest import Microversion, OwnerRest
from senlin_affinity.groups.audit import BindingRecord
from senlin_affinity.model.errors import AffinityError, InvalidSpec
from senlin_affinity.policy import profile
from senlin_affinity.policy.group_lookup import is_uuid
from senlin_affinity.policy.properties import TYPE
from senlin_affinity.preflight.failed_server import (
    ActionFailure,
    Cause,
    FailedServer,
    SenlinAction,
    action_cause,
    cause_of,
)
from senlin_affinity.preflight.question import Question

#: From 1.14, actions have a ``cluster_id``.
_VERSION: Microversion = (1, 14)
_CREATING = (
    *('CLUSTER_CREATE', 'CLUSTER_SCALE_OUT', 'CLUSTER_RESIZE', 'CLUSTER_RECOVER'),
    *('NODE_CREATE', 'NODE_RECOVER'),
)
#: Also "Derived Action with Lifecycle Hook".
_DERIVED = 'Derived Action'
_PREFIX = 'Failed in creating server: '
_FAILED = ('FAILED', 'CANCELLED')


def find(
    api: OwnerRest,
    clients: Clients,
    kind: str,
    named: str,
    settings: Question,
) -> tuple[FailedServer, Question]:
    """Fetch what failed, and the question whether the same nodes would fit now.

    That is ``settings`` with the count, profile, group and zone of the failed nodes, and the policy
    if its check rejected them.

    :param kind: 'cluster' or 'node'.
    :param named: its id or name.
    """
    entity = _entity(api, kind, named)
    with reading(f'read the actions of {kind} {named}'):
        return _ActionReader(api, clients, kind, entity).read(settings)


class _ActionReader:
    """The requests for the last action of one cluster or node."""

    def __init__(
        self,
        api: OwnerRest,
        clients: Clients,
        kind: str,
        entity: Mapping[str, Any],
    ) -> None:
        self._api, self._clients = api, clients
        self._kind, self._entity = kind, entity
        self._what = f'{kind} {entity["name"]}'
        self._cluster = str(entity['id'] if kind == 'cluster' else entity['cluster_id'])

    def read(self, settings: Question) -> tuple[FailedServer, Question]:
        """Fetch the action, its failed nodes and their first server, as :func:`find`.

        Without a failed node, the FailedServer has the id '' and a name such as "CLUSTER_RESIZE of
        cluster web (2 nodes)".
        """
        action, failed = self._actions()
        spec = _get(self._api, 'profile', self._entity['profile_id'])['spec']
        reason, at = str(action['status_reason']), f'{str(action["created_at"])[:19]}Z'
        cause, policy = action_cause(str(action['status']), reason), None
        bound = self._bound()
        if cause is Cause.POLICY:
            cause, failed = Cause.SENLIN, []
            if bound is not None and f"policy '{bound.policy_name}'" in reason:
                cause, policy = Cause.POLICY, _get(self._api, 'policy', bound.policy)['spec']
        nodes: dict[str, Mapping[str, Any]] = {}
        if failed and self._kind == 'node':
            nodes = {str(self._entity['id']): self._entity}
        elif failed:
            every = senlin.list_all(self._api, 'nodes', None, cluster_id=self._cluster)
            nodes = {str(each['id']): each for each in every}
        known = [nodes[each['target']] for each in failed if each['target'] in nodes]
        names = tuple(str(each['name']) for each in known if self._kind == 'cluster')
        summary = SenlinAction(str(action['action']), self._what, cause, reason, at, names)
        count = len(known) or _count(action, self._entity)
        words = f' ({count} nodes)' if count > 1 else ''
        base = FailedServer(
            '',
            f'{action["action"]} of {self._what}{words}',
            str(action['status']),
            ActionFailure(cause, reason, at, source='Senlin'),
            project_id=self._entity['project'],
            user_id=self._entity['user'],
            flavor_name=profile.flavor(spec),
            action=summary,
        )
        node = next((each for each in known if each['physical_id']), next(iter(known), None))
        placed = ((node or {}).get('data') or {}).get('placement') or {}
        group = None if bound is None else bound.binding.servergroup_id
        given = replace(
            settings,
            count=count,
            profile=spec,
            policy=policy,
            server_group=placed.get('servergroup', group),
            availability_zone=placed.get('zone'),
        )
        return (base if node is None else self._failed(node, base)), given

    def _actions(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return the last action that failed or creates servers, and its failed parts.

        The last by ``start_time``; null is the latest. The parts are failed actions that create
        nodes, or the action itself if it is one on a node. Raise InvalidSpec without an action, or
        if neither it nor a part failed; AffinityError if it failed, but creates no server.
        """
        key = {'cluster': 'cluster_id', 'node': 'target'}[self._kind]
        query = {key: str(self._entity['id']), 'sort': 'created_at:desc'}
        every = senlin.list_all(self._api, 'actions', None, _VERSION, **query)
        actions = [*itertools.islice(every, senlin.PAGE)]
        is_derived = {each['id'] for each in actions if each['cause'].startswith(_DERIVED)}
        own = [each for each in actions if self._kind == 'node' or each['id'] not in is_derived]
        own.sort(key=lambda each: float(each['start_time'] or math.inf), reverse=True)
        relevant = (each for each in own if each['action'] in _CREATING or _is_failed(each))
        action = next(relevant, own[0] if own else None)
        if action is None:
            raise InvalidSpec(f'Senlin has no action of {self._what}')
        name, status = action['action'], action['status']
        if status in _FAILED and name not in _CREATING:
            why = f'{name} of {self._what} failed: {action["status_reason"]}'
            raise AffinityError(f'{why} (not explained, because this action creates no server)')
        parts = [
            each
            for each in actions
            if each['id'] in is_derived and each['created_at'] >= action['created_at']
        ]
        failed = [each for each in parts if each['action'] in _CREATING and _is_failed(each)]
        failed = failed if name.startswith('CLUSTER') else [action]
        # Senlin may call an action successful although one of its nodes failed.
        if status not in _FAILED and not any(map(_is_failed, failed)):
            how = 'succeeded' if status == 'SUCCEEDED' else f'is {status}'
            raise InvalidSpec(f'the last action of {self._what} ({name}) {how}')
        return action, failed

    def _bound(self) -> BindingRecord | None:
        """Return the cluster's first enabled affinity policy; None without policy or cluster."""
        found = senlin.bindings(self._api, self._cluster, self._what, None) if self._cluster else ()
        ours = (each for each in found if each.policy_type.rpartition('-')[0] == TYPE)
        return next((each for each in ours if each.is_enabled), None)

    def _failed(self, node: Mapping[str, Any], base: FailedServer) -> FailedServer:
        """Return the failed server of a node as Nova shows it, with user and action of ``base``.

        Without a server, or if it ran or Nova lacks it, return ``base`` with the node's name,
        status and message.
        """
        message = str(node['status_reason']).removeprefix(_PREFIX)
        failure = replace(base.failure, cause=cause_of(message), message=message)
        base = replace(base, name=str(node['name']), status=str(node['status']), failure=failure)
        try:
            server = str(node['physical_id'] or '')
            found = failed_servers.find(self._clients, server) if server else base
        except InvalidSpec:  # it ran once, or Nova does not have it any more
            return base
        return replace(
            found,
            name=base.name if found.name == found.id else found.name,
            project_id=base.project_id,
            user_id=base.user_id,
            flavor_name=found.flavor_name or base.flavor_name,
            action=base.action,
            hidden={},
        )


def _entity(api: OwnerRest, kind: str, named: str) -> dict[str, Any]:
    """Fetch the only cluster or node with this id, or else name; raise InvalidSpec otherwise."""
    if is_uuid(named):
        found = allowed(lambda: _get(api, kind, named), (404,))
        if found is not None:
            return found
    return the_only([*senlin.list_all(api, f'{kind}s', None, name=named)], kind, named)


def _get(api: OwnerRest, kind: str, identity: str) -> dict[str, Any]:
    """Fetch a cluster, node, profile or policy by its id; raise CloudError (404) without one."""
    what, plural = f'get {kind} {identity}', {'policy': 'policies'}.get(kind, f'{kind}s')
    body = api.get(f'/{plural}/{quote(identity, safe="")}', what)
    with reading(what):
        found = dict(body[kind])
        check_identity(found['id'], identity, what)
        return found


def _is_failed(action: Mapping[str, Any]) -> bool:
    """Check whether an action is FAILED or CANCELLED, and not a ``..._CHECK``."""
    return action['status'] in _FAILED and not action['action'].endswith('_CHECK')


def _count(action: Mapping[str, Any], entity: Mapping[str, Any]) -> int:
    """Return the number of nodes that an action would have created, at least 1.

    The first that is not 0: ``desired_capacity`` for CLUSTER_CREATE, or else the policies'
    ``data.creation.count``; the change by ``inputs.adjustment_type`` and ``inputs.number``, rounded
    down; ``inputs.count``.
    """
    data, inputs = action['data'] or {}, action['inputs'] or {}
    decided = (data.get('creation') or {}).get('count')
    # A webhook may send a number as text.
    size, number = len(entity.get('nodes') or ()), float(inputs.get('number') or 0)
    by_kind = {
        'EXACT_CAPACITY': number - size,
        'CHANGE_IN_CAPACITY': number,
        'CHANGE_IN_PERCENTAGE': size * number / 100,
    }
    if action['action'] == 'CLUSTER_CREATE':
        decided = entity['desired_capacity']
    kind = str(inputs.get('adjustment_type'))
    return max(1, int(decided or by_kind.get(kind) or inputs.get('count') or 1))
