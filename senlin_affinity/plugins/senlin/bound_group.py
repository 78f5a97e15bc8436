"""Check a bound server group before nodes join it, and report to the owner of the cluster.

Raises: nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from senlin.common import consts
from senlin.common.context import get_admin_context
from senlin.engine import event
from senlin.objects import action as action_object
from senlin.objects import cluster_policy as binding_object
from senlin.objects.notification import ActionPayload

from senlin_affinity.answers.hook import CloudOrError
from senlin_affinity.groups import steps
from senlin_affinity.groups.detachment import CheckBound
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import BindingError
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.terminal_text import escaped
from senlin_affinity.plugins import plain_log
from senlin_affinity.plugins.senlin import engine
from senlin_affinity.plugins.senlin import group_registry as registry
from senlin_affinity.policy import group_lookup, profile
from senlin_affinity.policy.senlin_data import Binding, Refusal

LOG = plain_log.get('senlin_affinity.plugins.senlin_bound')


def refusal(
    policy: Any,
    cluster: str,
    bound: Binding,
    view: CloudOrError,
    entity: Any,
    groups: Callable[[], Any],
) -> Refusal | None:
    """Return why no node can join the bound group; None if no reason is known.

    If the preflight has not found the group, one request for it and, after a 404, one for all.

    :param groups: makes the owner's :class:`~senlin_affinity.model.ports.ServerGroups`.
    """
    group_id = bound.servergroup_id
    why_not = _conflicting_binding(cluster, policy.id, group_id)
    if why_not is not None:
        return Refusal(why_not)
    try:
        if _read_group(view, group_id) is not None:
            return None
        check = CheckBound(group_id).step()
        missing = steps.run(check, lambda effect: steps.ask_nova(effect, groups()))
    except Exception as error:
        line = 'affinity policy %s: it is not known whether server group %s exists: %s'
        why, is_defect = registry.in_words(error), registry.is_defect(error)
        LOG.warning(line, policy.name, group_id, why, exc_info=is_defect)
        return None
    if missing is not None:
        engine.forget_group(entity, group_id)
    return missing


def warn_of_hint(
    log_prefix: str, action: Any, bound: Binding, view: CloudOrError, groups: Callable[[], Any]
) -> None:
    """Warn the operator and the owner if the profile names another group. Never raises.

    The new nodes join the bound group: Senlin's server profile (``do_create``) writes the group of
    a placement over that of the scheduler hints.

    :param log_prefix: the beginning of a log line.
    """
    group_id = bound.servergroup_id
    try:
        hint = profile.group_hint(action.entity.rt['profile'].spec)
        if hint is None or hint == group_id or hint.lower() == group_id:
            return
        if not group_lookup.is_uuid(hint):
            group = _read_group(view, group_id) or groups().get(group_id)
            if group is not None and group.name == hint:
                return
        why = (
            f"the profile's scheduler_hints name server group '{hint}', but the affinity "
            f'policy is bound to server group {group_id}, which the new nodes join: remove the '
            'hint from the profile, or detach the policy and attach it again'
        )
        LOG.warning('%s: %s', log_prefix, why)
        emit_event(action.entity, why, action)
    except Exception as error:
        line = '%s: it is not known whether the profile names a server group other than %s: %s'
        why, is_defect = registry.in_words(error), registry.is_defect(error)
        LOG.warning(line, log_prefix, group_id, why, exc_info=is_defect)


def _conflicting_binding(cluster: str, policy: str, group_id: str) -> str | None:
    """Return why a cluster has two policies with different groups; None if it has not."""
    for other in binding_object.ClusterPolicy.get_all(get_admin_context(), cluster):
        if not other.enabled or other.policy_id == policy:
            continue
        with contextlib.suppress(BindingError):
            held = Binding.read(other.data)
            if held is not None and held.servergroup_id != group_id:
                return (
                    f'the cluster has another affinity policy, {other.policy.name} '
                    f'({other.policy.type}), with another server group, {held.servergroup_id}: '
                    'detach or disable one of the policies'
                )
    return None


def _read_group(view: CloudOrError, group_id: str) -> ServerGroup | None:
    """Return the group if the preflight has read it."""
    known = view.server_groups if isinstance(view, Cloud) else None
    return next((group for group in known or () if group.id == group_id), None)


def report_to_owner(cluster: Any, *sentences: str) -> None:
    """Write sentences for the owner into Senlin's events and the cluster's status, escaped.

    Empty ones are left out.
    """
    if found := [*map(escaped, filter(None, sentences))]:
        cluster.status_reason = '; '.join(found)
    for each in found:
        emit_event(cluster, each)


def emit_event(entity: Any, message: str, action: Any = None) -> None:
    """Write an escaped sentence for the owner into Senlin's events of a cluster or a node.

    Never raises.

    :param action: the engine's action; None for those that hold the lock of the cluster.
    """
    try:
        if event.dispatchers is None:
            return
        for running in [action] if action is not None else _holding(entity.id):
            context = get_admin_context()
            context.user_id, context.project_id = entity.user, entity.project
            facts = {name: getattr(running, name) for name in (*ActionPayload.fields, 'cause')}
            subject = SimpleNamespace(**facts, context=context, entity=entity)
            event.info(subject, consts.PHASE_END, escaped(message))
    except Exception:
        LOG.exception('affinity policy: no event could be written: %s', message)


def _holding(cluster_id: str) -> Iterator[Any]:
    """Yield the actions that hold the lock of a cluster."""
    for holder in registry.lock_holders(cluster_id):
        action = action_object.Action.get(get_admin_context(), holder)
        if action is not None:
            yield action
