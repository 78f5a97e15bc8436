"""Create a server group exactly once, whatever happens on the way.

Data flow: a name of which no group exists comes in; the quota is read, the group is created, and
the groups are listed again: when somebody else creates a group of that name at once (attaches of
ours wait for each other), the later is given up for the first. The group to use goes out, and
whether it is ours to delete later.

Nothing is leaked: when it can not be known whether Nova created the group (a timeout, a reset, a
5xx), the groups are listed, and one that is there now is adopted. Whoever creates has noted the
name before; the id is noted as soon as it is known.

Errors: QuotaExceeded before anything is created, CloudError, PolicyMismatch.
"""

from __future__ import annotations

from collections.abc import Callable

from senlin_affinity.core import quotas
from senlin_affinity.core.errors import CloudError, GroupMayExist, PolicyMismatch, QuotaExceeded
from senlin_affinity.core.ports import Inventory, ServerGroups
from senlin_affinity.core.reasons import sentence
from senlin_affinity.core.server_group import ServerGroup
from senlin_affinity.core.verdict import Outcome
from senlin_affinity.policy.matching import mismatch, saying
from senlin_affinity.policy.properties import Properties

FAILED = 'Failed in creating servergroup.'


def create(
    name: str,
    properties: Properties,
    groups: ServerGroups,
    inventory: Inventory,
    claim: Callable[[str], None],
) -> tuple[ServerGroup, bool]:
    """Create the group; False beside it when it turned out to be somebody else's.

    The caller has seen that no group of this name exists. ``claim`` notes the id of ours.
    """
    with saying(FAILED):
        known = inventory.quotas()
        for room in (quotas.room_for_group(known), quotas.room_for_members(known, name, (), 1)):
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
            found, is_ours = _find_created(name, properties, groups, error)
            if is_ours:
                claim(found.id)
            return found, is_ours
        claim(group.id)
        if name != properties.server_group_name:
            return group, True  # a name of the cluster's own: nobody else writes it
        return _settle(group, properties, groups)


def _find_created(
    name: str, properties: Properties, groups: ServerGroups, error: CloudError
) -> tuple[ServerGroup, bool]:
    """Nova may have created the group though its answer was lost: look, and adopt it.

    Of several with a name of the user's, it can not be known which one is ours: the first is used,
    and left alone later.
    """
    try:
        found = groups.named(name)
    except CloudError as again:
        raise GroupMayExist(
            f"{error}; whether server group '{name}' was created is not known ({again}): "
            'the next attach takes it up if it was',
            error.status,
        ) from error
    for group in found:
        if not group.members and mismatch(group, properties, is_ours=True) is None:
            return group, len(found) == 1 or name != properties.server_group_name
    # A request that timed out here goes on in Nova.
    raise GroupMayExist(
        f"{error}; if server group '{name}' is created all the same, the next attach takes it up",
        error.status,
    ) from error


def _settle(
    group: ServerGroup, properties: Properties, groups: ServerGroups
) -> tuple[ServerGroup, bool]:
    """If another attach created a group of this name at the same moment, the first one stays."""
    try:
        first = (*groups.named(group.name), group)[0]
    except CloudError:
        first = group
    if first.id == group.id:
        return group, True
    try:
        groups.delete(group.id)
    except CloudError:
        try:
            if groups.get(group.id) is not None:
                return group, True
        except CloudError:
            return group, True
    why_not = mismatch(first, properties)
    if why_not is not None:
        raise PolicyMismatch(f'{why_not} It was created at the same moment.')
    return first, False
