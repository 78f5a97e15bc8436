"""Create a server group exactly once, even if requests fail or another user creates one.

The caller has checked that no group has this name. The quota is read, the group is created, and the
groups are listed again. If another user has created a group with this name first (attaches of this
project wait for each other), the later group is deleted and the first one is used. The result is
the group to use, and whether the policy owns it.

If the outcome of the request is unknown (a timeout, a reset, a 5xx), the groups are listed. A group
with the cluster's own name is adopted. A group with a user-chosen name may be the user's, and is
inherited. The caller has recorded the name before; the id is recorded when Nova answers.

Raises: QuotaExceeded before a group is created, CloudError, PolicyMismatch.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from senlin_affinity.model.errors import CloudError, GroupMayExist, PolicyMismatch, QuotaExceeded
from senlin_affinity.model.ports import Inventory, ServerGroups
from senlin_affinity.model.reason import sentence
from senlin_affinity.model.server_group import NOT_YET, ServerGroup
from senlin_affinity.model.verdict import Outcome
from senlin_affinity.nova import quotas
from senlin_affinity.policy.group_lookup import mismatch, saying
from senlin_affinity.policy.properties import Properties

FAILED = 'Failed in creating servergroup.'


@dataclass(frozen=True)
class Creation:
    """The group to use, and whether the policy owns it.

    ``is_in_doubt``: the policy may have created the group, but the outcome is unknown.
    """

    group: ServerGroup
    is_ours: bool = True
    is_in_doubt: bool = False


def create(
    name: str,
    properties: Properties,
    groups: ServerGroups,
    inventory: Inventory,
    claim: Callable[[str], None],
) -> Creation:
    """Create the group, whose name must be unused; ``claim`` records the id of an owned one."""
    with saying(FAILED):
        known = inventory.quotas()
        new = ServerGroup(NOT_YET, name, properties.policy)
        for room in (quotas.room_for_group(known), quotas.room_for_members(known, new, 1)):
            if room.outcome is Outcome.REJECT:
                raise QuotaExceeded(
                    f"{FAILED} Server group '{name}' can not be created: "
                    f'{sentence(room, quotas.REASONS)}; {quotas.REASONS[room.code].advice}'
                )
        try:
            group = groups.create(name, properties.policy, properties.rules or {})
        except CloudError as error:
            if not error.is_uncertain:
                raise
            found = _find_created(name, properties, groups, error)
            if found.is_ours:
                claim(found.group.id)
            return found
        with ExitStack() as undo:  # else nothing refers to the group
            undo.callback(groups.delete, group.id)
            claim(group.id)
            undo.pop_all()
        if name != properties.server_group_name:
            return Creation(group)  # only this cluster uses its own name
        return _settle(group, properties, groups)


def _find_created(
    name: str, properties: Properties, groups: ServerGroups, error: CloudError
) -> Creation:
    """Return the group that Nova may have created although its response was lost."""
    is_ours = name != properties.server_group_name
    does = 'takes it up' if is_ours else 'inherits it'
    try:
        found = groups.named(name)
    except CloudError as again:
        raise GroupMayExist(
            f"{error}; whether server group '{name}' was created is not known ({again}): "
            f'the next attach {does} if it was',
            error.status,
        ) from error
    for group in found:
        if not group.members and mismatch(group, properties, is_ours=True) is None:
            return Creation(group, is_ours, is_in_doubt=not is_ours)
    # Nova may still process a request that timed out.
    raise GroupMayExist(
        f"{error}; if server group '{name}' is created all the same, the next attach {does}",
        error.status,
    ) from error


def _settle(group: ServerGroup, properties: Properties, groups: ServerGroups) -> Creation:
    """Keep the first group if another attach created one with this name at the same time."""
    try:
        first = (*groups.named(group.name), group)[0]
    except CloudError:
        first = group
    if first.id == group.id:
        return Creation(group)
    try:
        groups.delete(group.id)
    except CloudError:
        try:
            if groups.get(group.id) is not None:
                return Creation(group)
        except CloudError:
            return Creation(group)
    why_not = mismatch(first, properties)
    if why_not is not None:
        raise PolicyMismatch(f'{why_not} It was created at the same moment.')
    return Creation(first, is_ours=False)
