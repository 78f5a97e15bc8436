"""Validate, attach and detach a policy: find or create a server group, and delete or keep it.

Input are the properties and a :class:`ClusterInfo`. All reads through the ports precede the single
write. The output of an attach is a :class:`Binding`.

An attach first checks the extra specs of the profile's flavor. It then uses the first of these
groups:

1. the group that an earlier detach kept (``ownership``); 2. the group in the profile's scheduler
hints, which must exist: the policy inherits it; 3. the group that the spec names: the policy
inherits it, or creates it if it does not exist; 4. a group with the cluster's own name, which the
next attach finds even if this one crashes.

A name that is a UUID is always an id. The policy owns a group with a user-chosen name only if Nova
answered the request that created it.

Units: requests. An attach needs 1 by id, 1 per page by name, 1 more for a group that another policy
created; 3 to create a group with the cluster's own name (list, quota, create), 4 with a given name
(list again); 1 for a kept group; 1 or 2 more for the flavor, and 1 for a spec that chooses hosts. A
detach needs 2, or none if the group stays.

Raises: PolicyMismatch, QuotaExceeded, InvalidSpec, InvalidExtraSpec, CloudError; each says what was
tried.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass

from senlin_affinity.groups import creation
from senlin_affinity.groups.ownership import ClusterInfo, drop_orphans, kept_group
from senlin_affinity.model.errors import AffinityError, GroupMayExist, InvalidSpec
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.model.ports import Candidates, Inventory, ServerGroups
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.spread import ZONE
from senlin_affinity.nova.aggregate_names import resolve
from senlin_affinity.policy import flavor
from senlin_affinity.policy.binding import Binding
from senlin_affinity.policy.group_lookup import find, mismatch, saying
from senlin_affinity.policy.properties import Properties

GROUP_NAME_PREFIX = 'senlin-affinity-'
#: How a cluster got its group; the policy owns a group that it does not inherit.
CREATED, ADOPTED, INHERITS = 'created', 'takes up again', 'inherits'
IN_DOUBT = (
    'it was created by another user or by an attach whose outcome is unknown, so it is inherited '
    'and stays when the policy is detached'
)


@dataclass(frozen=True)
class Attached:
    """The outcome of an attach: the binding to store, and facts for the log and the owner.

    ``flavor_problems`` describes problems of the flavor. ``missing`` is the id of a kept group that
    no longer exists. ``is_in_doubt``: an attach may have created the inherited group, but its
    outcome is unknown.
    """

    binding: Binding
    group: ServerGroup
    how: str
    flavor_problems: str = ''
    missing: str | None = None
    is_in_doubt: bool = False

    def line(self) -> str:
        """Return one line for the log."""
        rules = ', '.join(f'{key}={value}' for key, value in sorted(self.group.rules.items()))
        kind = f'{self.group.policy} {rules}'.strip()
        message = f'{self.how} server group {self.group.name} ({self.group.id}; {kind})'
        return '; '.join(filter(None, (message, IN_DOUBT * self.is_in_doubt, self.flavor_problems)))

    def report(self) -> str:
        """Return a warning for the owner if the group's origin is in doubt; '' otherwise."""
        message = f'server group {self.group.name} ({self.group.id}): {IN_DOUBT}'
        return message * self.is_in_doubt


@dataclass(frozen=True)
class Detached:
    """The outcome of a detach: a line for the log, and the id of a deleted or a left group."""

    message: str
    deleted: str | None = None
    released: str | None = None


def validate(properties: Properties, inventory: Inventory) -> None:
    """Raise InvalidSpec if the spec's zone does not exist; any user may check this."""
    zone = properties.availability_zone
    if zone is not None and zone not in inventory.availability_zones():
        raise InvalidSpec(
            f"The specified availability_zone '{zone}' could not be found.",
            'properties.availability_zone',
        )


def check_choice(properties: Properties, inventory: Inventory) -> None:
    """Raise InvalidSpec if the spec chooses hosts and Nova does not let the owner choose them.

    1 request, or none for a spec that chooses no hosts.
    """
    is_choosing = properties.pins_hosts or properties.is_drs_enabled
    if is_choosing and not inventory.lets_choose_hosts():
        reasons = [f'a spread by {item.by}' for item in properties.spread if item.by != ZONE]
        reasons = ['member_of', *reasons] if properties.member_of else reasons
        reasons = ['enable_drs_extension', *reasons] if properties.is_drs_enabled else reasons
        raise InvalidSpec(
            f'{" and ".join(reasons) or "pin_hosts"} needs the host of every node to be chosen, '
            'which Nova does not let the owner of the cluster do (its rule '
            'os_compute_api:servers:create:forced_host)',
            'properties',
        )


def member_of(properties: Properties, inventory: Inventory, candidates: Candidates) -> MemberOf:
    """Return the spec's ``member_of`` with UUIDs for names: 1 request, 0 without ``member_of``.

    Raise InvalidSpec for an unknown or ambiguous name, and if Placement is too old. Raise
    CloudError also if the user may not list aggregates.
    """
    if not properties.member_of:
        return MemberOf()
    path = 'properties.member_of'
    found = resolve(properties.member_of, inventory.aggregates(), path)
    candidates.check_version(found, path)
    return found


def attach(
    properties: Properties,
    cluster: ClusterInfo,
    groups: ServerGroups,
    inventory: Inventory,
    *,
    prefix: str = GROUP_NAME_PREFIX,
) -> Attached:
    """Check the flavor of the cluster, then find its server group or create it."""
    flavor_problems = flavor.check(properties, cluster.flavor, inventory)
    kept, missing = kept_group(cluster, properties, groups)
    if kept is not None:
        attached = _attached(kept, properties, ADOPTED)
    else:
        with cluster.name_lock(properties.server_group_name):
            attached = _attach(properties, cluster, groups, inventory, f'{prefix}{cluster.id}')
    return dataclasses.replace(attached, flavor_problems=flavor_problems, missing=missing)


def _attach(
    properties: Properties, cluster: ClusterInfo, groups: ServerGroups, cloud: Inventory, own: str
) -> Attached:
    choose = functools.partial(drop_orphans, cluster=cluster, groups=groups)
    search = functools.partial(find, properties, cluster.group_hint, groups, choose)
    found = search()
    if found is not None and cluster.is_policy_made(found.id):
        found = _claimed(found, cluster, groups) or search()
    if found is not None:
        return _found(found, properties, cluster)
    if properties.server_group_name:
        return _created(properties.server_group_name, properties, cluster, groups, cloud)
    with saying(f"Failed in retrieving servergroup '{own}'."):
        existing = groups.named(own)
    for group in existing:
        is_ours = own in cluster.intents or cluster.is_policy_made(group.id)
        if mismatch(group, properties, is_ours=True) is None:
            return _attached(group, properties, ADOPTED if is_ours else INHERITS)
        with cluster.lock_group(group.id):
            if is_ours and cluster.may_own(group):  # created for an earlier spec
                with saying(f"Failed in deleting servergroup '{own}'."):
                    groups.delete(group.id)
    return _created(own, properties, cluster, groups, cloud)


def _claimed(group: ServerGroup, cluster: ClusterInfo, groups: ServerGroups) -> ServerGroup | None:
    """Record that the cluster uses the group, so that no other policy deletes it.

    Return None if another policy has just deleted it.
    """
    cluster.claim(group.id)
    with cluster.lock_group(group.id), saying(f"Failed in retrieving servergroup '{group.name}'."):
        return groups.get(group.id)


def _found(group: ServerGroup, properties: Properties, cluster: ClusterInfo) -> Attached:
    """Take the group over if a policy created it and nobody else uses it, else inherit it."""
    is_made = cluster.is_policy_made(group.id)
    is_in_doubt = group.name in cluster.intents and not is_made
    if is_made and cluster.group_hint:  # it stays after a detach, even if a policy created it
        is_made = False
    elif is_made and cluster.may_own(group):
        return _attached(group, properties, ADOPTED)
    return _attached(group, properties, INHERITS, is_policy_made=is_made, is_in_doubt=is_in_doubt)


def detach(
    binding: Binding | None,
    cluster: ClusterInfo,
    groups: Callable[[], ServerGroups],
    is_kept: Callable[[], bool] = lambda: False,
    keep: Callable[[str], None] = lambda _group_id: None,
) -> Detached:
    """Delete the group if a policy created it and nobody else uses it, or keep it.

    :param groups: opens the connection; called only for a group that may have to be deleted.
    :param is_kept: whether a group that a policy created stays for the next policy of the cluster;
        ``keep`` then records its id.
    """
    if binding is None:
        return Detached('no server group is bound: nothing to delete')
    group_id = binding.servergroup_id
    is_ours = binding.is_ours or (not cluster.group_hint and cluster.is_policy_made(group_id))
    if not is_ours:
        return Detached(f'server group {group_id} was inherited: it stays', released=group_id)
    if is_kept():
        keep(group_id)
        message = f'server group {group_id} is kept for the next policy of the cluster'
        return Detached(message, released=group_id)
    with cluster.lock_group(group_id):
        others = sorted(cluster.other_clusters(group_id))
        if others:
            cluster.release(group_id)
            message = f'server group {group_id} stays: cluster {", ".join(others)} uses it'
            return Detached(message, released=group_id)
        return _deleted(group_id, cluster, groups)


def _deleted(group_id: str, cluster: ClusterInfo, groups: Callable[[], ServerGroups]) -> Detached:
    with saying('Failed in deleting servergroup.'):
        existing = groups()
        group = existing.get(group_id)
    if group is None:
        return Detached(f'server group {group_id} is gone already', group_id)
    foreign = cluster.foreign_members(group)
    if foreign:
        cluster.release(group_id)
        return Detached(
            f'server group {group.name} ({group_id}) stays: '
            f'server {", ".join(foreign)} of others is a member',
            released=group_id,
        )
    with saying('Failed in deleting servergroup.'):
        is_deleted = existing.delete(group_id)
    done = 'deleted' if is_deleted else 'is gone already'
    return Detached(f'server group {group.name} ({group_id}) {done}', group_id)


def _created(
    name: str,
    properties: Properties,
    cluster: ClusterInfo,
    groups: ServerGroups,
    inventory: Inventory,
) -> Attached:
    cluster.record_intent(name)
    try:
        made = creation.create(name, properties, groups, inventory, cluster.claim)
    except GroupMayExist:
        raise
    except AffinityError:
        cluster.record_intent(None)
        raise
    if made.is_ours:
        return _attached(made.group, properties, CREATED)
    return _attached(
        made.group,
        properties,
        INHERITS,
        is_policy_made=cluster.is_policy_made(made.group.id),
        is_in_doubt=made.is_in_doubt,
    )


def _attached(
    group: ServerGroup,
    properties: Properties,
    how: str,
    *,
    is_policy_made: bool = False,
    is_in_doubt: bool = False,
) -> Attached:
    rules, version = dict(group.rules), properties.version
    binding = Binding(group.id, how == INHERITS, version, group.policy, rules, is_policy_made)
    return Attached(binding, group, how, is_in_doubt=is_in_doubt)
