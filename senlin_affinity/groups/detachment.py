"""Leave a server group: delete it, hand it over, keep it, or let it stay.

The policy deletes a group only if the binding (or the record of a kept group) says that it owns the
group, and if nobody else uses it. If other bindings use it, that of the oldest cluster becomes the
owner (Senlin stores no time for a binding). A group that is used in another way stays.

Raises: CloudError, after which the binding stays and the detach can be repeated; GroupBusy while an
attach may use the group.

Source: "Affinity Policy V1.0" in Senlin's manual (scenario S2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from senlin_affinity.groups.steps import (
    DeleteGroup,
    GetGroup,
    Leave,
    LockGroup,
    ReadBinding,
    ReadKeep,
    ReadUse,
    SearchGroups,
    Step,
    Use,
)
from senlin_affinity.model.errors import CloudError, GroupBusy, InvalidSpec
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.policy.group_lookup import saying
from senlin_affinity.policy.properties import DELETE, KEEP, PolicySpec
from senlin_affinity.policy.senlin_data import Refusal

#: The key in a cluster's metadata.
KEY = 'senlin_affinity_on_detach'


@dataclass(frozen=True)
class Detached:
    """The outcome of a detach, and the id of a group that is gone or that stays (``released``)."""

    message: str
    deleted: str | None = None
    released: str | None = None


@dataclass(frozen=True)
class Detach:
    """Detach a policy from a cluster."""

    def step(self) -> Step[Detached]:
        """Leave the bound group: an inherited or kept one stays; otherwise :func:`leave`."""
        bound = yield ReadBinding()
        if bound is not None:
            yield LockGroup(bound.servergroup_id)
            bound = yield ReadBinding()  # the group may have been handed over meanwhile
        if bound is None:
            return Detached('no server group is bound: nothing to delete')
        group_id = bound.servergroup_id
        if bound.is_inherited:
            yield Leave(group_id)
            return Detached(f'server group {group_id} was inherited: it stays', released=group_id)
        if (yield ReadKeep()):
            yield Leave(group_id, is_kept=True)
            message = f'server group {group_id} is kept for the next policy of the cluster'
            return Detached(message, released=group_id)
        return (yield from _leave_owned(group_id))


@dataclass(frozen=True)
class Undo:
    """Give up a group that an attach has just created, because the attach failed afterwards."""

    group_id: str

    def step(self) -> Step[Detached]:
        """Delete the group, unless others use it by now."""
        yield LockGroup(self.group_id)
        return (yield from _leave_owned(self.group_id))


@dataclass(frozen=True)
class CheckBound:
    """Check that a bound group exists before nodes join it."""

    group_id: str

    def step(self) -> Step[Refusal | None]:
        """Return a rejection if Nova does not have the group any more; None if it has."""
        if (yield from fetch(self.group_id)) is not None:
            return None
        return Refusal(
            f'server group {self.group_id}, which the policy is bound to, no longer exists: '
            'detach the policy and attach it again'
        )


def _leave_owned(group_id: str) -> Step[Detached]:
    """Read the group and its users, and leave the group (:func:`leave`)."""
    group: ServerGroup | None = None
    failure: CloudError | None = None
    try:
        with saying('Failed in deleting servergroup.'):
            group = yield from fetch(group_id)
    except CloudError as error:
        failure = error
    use: Use = yield ReadUse(group_id, None if group is None else group.name)
    if failure is not None and use.heir is None:  # a handover needs no answer of Nova
        raise failure
    return (yield from leave(group_id, group, use))


def leave(group_id: str, group: ServerGroup | None, use: Use) -> Step[Detached]:
    """Delete a group that the cluster owns, and whose lock is held; it stays if others use it.

    If another binding may own it, that becomes the owner. Otherwise, raise GroupBusy while an
    attach may use it. A group that Nova does not have (None) counts as deleted.
    """
    if use.heir is not None:
        yield Leave(group_id, heir=use.heir)
        names = ', '.join(sorted({each.cluster_name for each in use.users}))
        return Detached(f'server group {group_id} stays: cluster {names} uses it', None, group_id)
    if group is None:
        yield Leave(group_id)
        return Detached(f'server group {group_id} no longer exists', group_id)
    if use.attaching:
        names = ', '.join(use.attaching)
        raise GroupBusy(
            f'server group {group_id} cannot be deleted now: a policy that may use it is being '
            f'attached to cluster {names}; try again'
        )
    if why := _why_it_stays(group, use):
        yield Leave(group_id)
        message = f'server group {group.name} ({group_id}) stays: {why}'
        return Detached(message, released=group_id)
    with saying('Failed in deleting servergroup.'):
        yield DeleteGroup(group_id)
        yield from verify_deleted(group_id)
    yield Leave(group_id)
    return Detached(f'server group {group.name} ({group_id}) deleted', group_id)


def verify_deleted(group_id: str) -> Step[None]:
    """Raise CloudError if Nova still has a group whose deletion succeeded."""
    if (yield GetGroup(group_id)) is not None:
        raise CloudError(f'Nova still has server group {group_id} after its deletion')


def _why_it_stays(group: ServerGroup, use: Use) -> str:
    """Return "cluster a, b uses it", or which profiles name it, or which servers are members.

    '' if only the cluster uses it.
    """
    clusters = sorted({*(each.cluster_name for each in use.users), *use.keepers})
    if clusters:
        return f'cluster {", ".join(clusters)} uses it'
    if use.profiles:
        return f'profile {", ".join(use.profiles)} names it'
    others = use.others(group)
    return f'server {", ".join(others)} outside the cluster is a member' if others else ''


def fetch(group_id: str) -> Step[ServerGroup | None]:
    """Return the group; None if Nova does not have it.

    Raise CloudError if only the list of the project has it: a proxy may have answered 404.
    """
    group: ServerGroup | None = yield GetGroup(group_id)
    if group is None and any(each.id == group_id for each in (yield SearchGroups())):
        raise CloudError(f'Nova lists server group {group_id}, but answers 404 for it')
    return group


def is_kept(metadata: Mapping[str, Any], properties: Callable[[], PolicySpec]) -> bool:
    """Check whether a detach keeps the group; the cluster's metadata override the spec.

    ``{'senlin_affinity_on_detach': ' KEEP '}`` is True. Raise InvalidSpec for another value than
    ``keep`` or ``delete``. ``properties`` is only called if the key is missing.
    """
    text = metadata.get(KEY)
    if text is None:
        return properties().on_detach == KEEP
    value = text.strip().lower() if isinstance(text, str) else text
    if value not in (DELETE, KEEP):
        raise InvalidSpec(f'must be {DELETE} or {KEEP}, not {text!r}', f'metadata.{KEY}')
    return bool(value == KEEP)
