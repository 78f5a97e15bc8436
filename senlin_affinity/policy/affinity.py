"""The life of a policy on a cluster: validate, attach, detach. (The hook is in ``hook``.)

Data flow: properties and a :class:`Cluster` come in; the ports are asked (all reads first, one
write last); a :class:`Binding` goes out.

Attach (documents 003, 004): the extra specs of the profile's flavor are judged. Then a group that
an earlier detach kept is taken up (``ownership``); else one that the profile's scheduler hint names
is inherited, and must exist; else one that the spec names is inherited if it exists, and created if
not; else one is created under a name of the cluster's own, by which the next attach finds what a
crashed one left behind. A name that is a UUID is an id, never a name.

Requests: attach by id 1, by name 1 a page, and 1 more for a group that another policy made;
creating a group of its own 3 (list, quota, create), one with a given name 4 (the list again);
taking up a kept group 1; 1 or 2 more for the flavor, and 1 for a spec that chooses hosts. Detach 2,
or none where the group stays.

Errors: PolicyMismatch, QuotaExceeded, InvalidSpec, InvalidExtraSpec, CloudError; each names what
was tried.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass

from senlin_affinity.core.aggregates.names import resolve
from senlin_affinity.core.errors import AffinityError, GroupMayExist, InvalidSpec
from senlin_affinity.core.member_of import MemberOf
from senlin_affinity.core.ports import Candidates, Inventory, ServerGroups
from senlin_affinity.core.server_group import ServerGroup
from senlin_affinity.core.spread import ZONE
from senlin_affinity.policy import creation, flavor
from senlin_affinity.policy.binding import Binding
from senlin_affinity.policy.matching import find, mismatch, saying
from senlin_affinity.policy.ownership import Cluster, kept_group, without_left_behind
from senlin_affinity.policy.properties import Properties

GROUP_NAME_PREFIX = 'senlin-affinity-'
#: How a cluster got its group; one that it does not inherit is its policy's own.
CREATED, AGAIN, INHERITS = 'created', 'takes up again', 'inherits'


@dataclass(frozen=True)
class Attached:
    """The outcome of an attach: what to remember, and what to say (also of the flavor).

    ``gone`` is the id of a kept group that is there no more.
    """

    binding: Binding
    group: ServerGroup
    how: str
    of_flavor: str = ''
    gone: str | None = None

    def line(self) -> str:
        """One line for the log."""
        rules = ', '.join(f'{key}={value}' for key, value in sorted(self.group.rules.items()))
        kind = f'{self.group.policy} {rules}'.strip()
        said = f'{self.how} server group {self.group.name} ({self.group.id}; {kind})'
        return f'{said}; {self.of_flavor}' if self.of_flavor else said


@dataclass(frozen=True)
class Detached:
    """The outcome of a detach: what to say, and the id of a group that is gone, or left, by now."""

    said: str
    gone: str | None = None
    left: str | None = None


def validate(properties: Properties, inventory: Inventory) -> None:
    """What every user's cloud can tell about a spec: does its zone exist?"""
    zone = properties.availability_zone
    if zone is not None and zone not in inventory.availability_zones():
        raise InvalidSpec(
            f"The specified availability_zone '{zone}' could not be found.",
            'properties.availability_zone',
        )


def check_choice(properties: Properties, inventory: Inventory) -> None:
    """InvalidSpec where the policy has to choose hosts, and Nova does not let the owner: 1 request.

    None for a spec that chooses none; and a DRS host is not looked at before there are nodes.
    """
    if properties.pins_hosts and not inventory.lets_choose_hosts():
        asks = [f'a spread by {item.by}' for item in properties.spread if item.by != ZONE]
        asks = ['member_of', *asks] if properties.member_of else asks
        raise InvalidSpec(
            f'{" and ".join(asks) or "pin_hosts"} needs the host of every node to be chosen, which '
            'Nova does not let the owner of the cluster do (its rule '
            'os_compute_api:servers:create:forced_host)',
            'properties',
        )


def member_of(properties: Properties, inventory: Inventory, candidates: Candidates) -> MemberOf:
    """What the spec asks of the hosts' aggregates, with UUIDs for names: 1 request, 0 without.

    InvalidSpec for a name that no aggregate has or that two have, and for a Placement that is too
    old for it; CloudError also where the user may not see aggregates.
    """
    if not properties.member_of:
        return MemberOf()
    path = 'properties.member_of'
    found = resolve(properties.member_of, inventory.aggregates(), path)
    candidates.check_version(found, path)
    return found


def attach(
    properties: Properties,
    cluster: Cluster,
    groups: ServerGroups,
    inventory: Inventory,
    *,
    prefix: str = GROUP_NAME_PREFIX,
) -> Attached:
    """Judge the flavor of the cluster, then find its server group, or create it."""
    of_flavor = flavor.check(properties, cluster.flavor, inventory)
    kept, gone = kept_group(cluster, properties, groups)
    if kept is not None:
        attached = _attached(kept, properties, AGAIN)
    else:
        with cluster.naming(properties.server_group_name):
            attached = _attach(properties, cluster, groups, inventory, f'{prefix}{cluster.id}')
    return dataclasses.replace(attached, of_flavor=of_flavor, gone=gone)


def _attach(
    properties: Properties, cluster: Cluster, groups: ServerGroups, inventory: Inventory, own: str
) -> Attached:
    several = functools.partial(without_left_behind, cluster=cluster, groups=groups)
    search = functools.partial(find, properties, cluster.group_hint, groups, several)
    found = search()
    if found is not None and cluster.is_made(found.id):
        found = _claimed(found, cluster, groups) or search()
    if found is not None:
        return _found(found, properties, cluster)
    if properties.server_group_name:
        return _created(properties.server_group_name, properties, cluster, groups, inventory)
    with saying(f"Failed in retrieving servergroup '{own}'."):
        left_behind = groups.named(own)
    for group in left_behind:
        is_ours = own in cluster.pending or cluster.is_made(group.id)
        if mismatch(group, properties, is_ours=True) is None:
            return _attached(group, properties, AGAIN if is_ours else INHERITS)
        with cluster.alone(group.id):
            if is_ours and cluster.may_own(group):  # of an earlier spec
                with saying(f"Failed in deleting servergroup '{own}'."):
                    groups.delete(group.id)
    return _created(own, properties, cluster, groups, inventory)


def _claimed(group: ServerGroup, cluster: Cluster, groups: ServerGroups) -> ServerGroup | None:
    """The group, which no policy that leaves it deletes from now on; None if one just has."""
    cluster.claim(group.id)
    with cluster.alone(group.id), saying(f"Failed in retrieving servergroup '{group.name}'."):
        return groups.get(group.id)


def _found(group: ServerGroup, properties: Properties, cluster: Cluster) -> Attached:
    """Inherited, or taken up as the policy's own, if a policy made it and nobody else uses it."""
    if cluster.group_hint:  # it stays when the policy goes, whoever made it
        return _attached(group, properties, INHERITS)
    is_made = cluster.is_made(group.id)
    is_ours = is_made or (
        group.name in cluster.pending and mismatch(group, properties, is_ours=True) is None
    )
    if is_ours and cluster.may_own(group):
        return _attached(group, properties, AGAIN)
    return _attached(group, properties, INHERITS, is_made=is_made)


def detach(
    binding: Binding | None,
    cluster: Cluster,
    groups: Callable[[], ServerGroups],
    is_kept: Callable[[], bool] = lambda: False,
    keep: Callable[[str], None] = lambda _group_id: None,
) -> Detached:
    """Delete the group if a policy made it and nobody else uses it any more, or keep it.

    :param groups: makes the connection; called only for a group that may have to be deleted.
    :param is_kept: whether a group that a policy made stays for the next policy of the
        cluster; ``keep`` then notes its id.
    """
    if binding is None:
        return Detached('no server group is bound: nothing to delete')
    group_id = binding.servergroup_id
    is_ours = binding.is_ours or (not cluster.group_hint and cluster.is_made(group_id))
    if not is_ours:
        return Detached(f'server group {group_id} was inherited: it stays', left=group_id)
    if is_kept():
        keep(group_id)
        said = f'server group {group_id} is kept for the next policy of the cluster'
        return Detached(said, left=group_id)
    with cluster.alone(group_id):
        others = sorted(cluster.other_clusters(group_id))
        if others:
            cluster.leave(group_id)
            said = f'server group {group_id} stays: cluster {", ".join(others)} uses it'
            return Detached(said, left=group_id)
        return _deleted(group_id, cluster, groups)


def _deleted(group_id: str, cluster: Cluster, groups: Callable[[], ServerGroups]) -> Detached:
    with saying('Failed in deleting servergroup.'):
        existing = groups()
        group = existing.get(group_id)
    if group is None:
        return Detached(f'server group {group_id} is gone already', group_id)
    strangers = cluster.strangers(group)
    if strangers:
        cluster.leave(group_id)
        return Detached(
            f'server group {group.name} ({group_id}) stays: '
            f'server {", ".join(strangers)} of others is a member',
            left=group_id,
        )
    with saying('Failed in deleting servergroup.'):
        is_deleted = existing.delete(group_id)
    done = 'deleted' if is_deleted else 'is gone already'
    return Detached(f'server group {group.name} ({group_id}) {done}', group_id)


def _created(
    name: str,
    properties: Properties,
    cluster: Cluster,
    groups: ServerGroups,
    inventory: Inventory,
) -> Attached:
    cluster.note(name)
    try:
        group, is_ours = creation.create(name, properties, groups, inventory, cluster.claim)
    except GroupMayExist:
        raise
    except AffinityError:
        cluster.note(None)
        raise
    if is_ours:
        return _attached(group, properties, CREATED)
    return _attached(group, properties, INHERITS, is_made=cluster.is_made(group.id))


def _attached(
    group: ServerGroup, properties: Properties, how: str, *, is_made: bool = False
) -> Attached:
    rules, version = dict(group.rules), properties.version
    binding = Binding(group.id, how == INHERITS, version, group.policy, rules, is_made)
    return Attached(binding, group, how)
