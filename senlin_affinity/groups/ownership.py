"""Decide who owns a server group: the last cluster deletes it, or the next policy adopts it.

A policy owns a group if a binding or an ownership record shows that a policy created it. A name
alone is never a reason to delete a group.

Example: the metadata of a cluster, ``{'senlin_affinity_on_detach': 'keep'}``. They override
``servergroup.on_detach`` of the spec, because the spec of a policy in use cannot be changed.

Units: requests. None at detach; 1 at attach, and 1 more for an empty group that does not match.

Raises: InvalidSpec for another value of the key; PolicyMismatch for a kept group that has servers
of the cluster and does not match the spec, because a new, empty group would ignore them.

Source: "Affinity Policy V1.0" in Senlin's manual (scenario S2) deletes at detach. Deviation: a
group can be kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from senlin_affinity.model.errors import InvalidSpec, PolicyMismatch
from senlin_affinity.model.ports import ServerGroups
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.policy.group_lookup import is_uuid, mismatch, saying
from senlin_affinity.policy.placement import Refusal
from senlin_affinity.policy.properties import Properties
from senlin_affinity.policy.schema import DELETE, KEEP

#: The key in a cluster's metadata.
KEY = 'senlin_affinity_on_detach'


def is_kept(metadata: Mapping[str, Any], properties: Callable[[], Properties]) -> bool:
    """Check whether a detach keeps the group; the cluster's metadata override the spec."""
    text = metadata.get(KEY)
    if text is None:
        return properties().on_detach == KEEP
    value = text.strip().lower() if isinstance(text, str) else text
    if value not in (DELETE, KEEP):
        raise InvalidSpec(f'must be {DELETE} or {KEEP}, not {text!r}', f'metadata.{KEY}')
    return bool(value == KEEP)


@dataclass(frozen=True)
class ClusterInfo:
    """The facts about a cluster, and functions that read and record which group it uses.

    ``group_hint`` is the scheduler hint of its profile, ``flavor`` the name or id of its profile's
    flavor. ``kept`` is the id of a group that an earlier detach kept. ``own_servers`` are the ids
    of its nodes' servers; ``former_servers`` returns those of nodes that left every cluster and
    were placed into the group.

    ``intents`` are the names of groups that interrupted attaches were about to create, and
    ``record_intent`` records one (None: none). ``claim`` records the id of a group that a policy
    created and that the cluster is about to be bound to. ``release`` records that the cluster no
    longer uses a group, which stays. ``is_policy_made`` returns whether a policy created a group.
    ``other_clusters`` returns the names of other clusters that use it. ``lock_group`` locks a group
    against policies that leave it, ``lock_name`` locks a name against attaches that search for it
    or create it. ``group_hints`` returns the groups in profiles, by id or name.
    """

    id: str
    group_hint: str | None = None
    intents: Collection[str] = ()
    record_intent: Callable[[str | None], None] = lambda _name: None
    other_clusters: Callable[[str], Collection[str]] = lambda _group_id: ()
    flavor: str | None = None
    kept: str | None = None
    own_servers: Collection[str] = ()
    former_servers: Callable[[str], Collection[str]] = lambda _group_id: ()
    is_policy_made: Callable[[str], bool] = lambda _group_id: False
    claim: Callable[[str], None] = lambda _group_id: None
    release: Callable[[str], None] = lambda _group_id: None
    lock_group: Callable[[str], AbstractContextManager[object]] = lambda _group_id: nullcontext()
    lock_name: Callable[[str], AbstractContextManager[object]] = lambda _name: nullcontext()
    group_hints: Callable[[], Collection[str]] = frozenset

    def name_lock(self, name: str | None) -> AbstractContextManager[object]:
        """Return a lock of the name against other attaches.

        It does nothing without a name, for an id, and for a profile with a hint.
        """
        is_open = name and not is_uuid(name) and not self.group_hint
        return self.lock_name(name) if name and is_open else nullcontext()

    def may_own(self, group: ServerGroup) -> bool:
        """Return whether nobody else uses this group: no other server, no other cluster."""
        return not self.foreign_members(group) and not self.other_clusters(group.id)

    def foreign_members(self, group: ServerGroup) -> list[str]:
        """Return the members of a group that are not servers of this cluster, now or formerly."""
        members = {member.server for member in group.members} - set(self.own_servers)
        return sorted(members - set(self.former_servers(group.id))) if members else []

    def is_orphan(self, group: ServerGroup) -> bool:
        """Return whether a policy created the group, and it is now empty and unused."""
        if group.members or not self.is_policy_made(group.id):
            return False
        return not {group.id, group.name} & {*self.group_hints()} and self.may_own(group)


def drop_orphans(
    found: Sequence[ServerGroup], cluster: ClusterInfo, groups: ServerGroups
) -> Sequence[ServerGroup]:
    """Return groups of one name without those that interrupted attaches left, which are deleted.

    The first group stays if no other would be left.
    """
    remaining = list(found)
    for group in reversed(found if len(found) > 1 else ()):
        with cluster.lock_group(group.id):
            if len(remaining) > 1 and cluster.is_orphan(group):
                with saying(f"Failed in deleting servergroup '{group.name}' ({group.id})."):
                    groups.delete(group.id)
                remaining.remove(group)
    return remaining


def missing(group_id: str, groups: Collection[ServerGroup] | None) -> Refusal | None:
    """Return a rejection if Nova does not have the group any more, else None.

    :param groups: the server groups that were read; None if the caller could not read any.
    """
    if groups is None or any(group.id == group_id for group in groups):
        return None
    return Refusal(
        f'server group {group_id}, which the policy is bound to, does not exist any more: '
        'detach the policy and attach it again'
    )


def kept_group(
    cluster: ClusterInfo, properties: Properties, groups: ServerGroups
) -> tuple[ServerGroup | None, str | None]:
    """Return the group that an earlier detach kept, and the id of a kept group that is gone.

    At most one of the two is not None. An empty group that does not match is deleted if nobody else
    uses it.
    """
    group_id = cluster.kept
    if group_id is None:
        return None, None
    with saying(f"Failed in retrieving servergroup '{group_id}'."):
        group = groups.get(group_id)
    if group is None:
        return None, group_id
    why_not = _difference(group, properties, cluster.group_hint)
    if why_not is None:
        return group, None
    members = {member.server for member in group.members}
    with cluster.lock_group(group_id):
        is_shared = not cluster.may_own(group)
        if members & set(cluster.own_servers):
            give_up = f', or give it up with "openstack server group delete {group_id}"'
            raise PolicyMismatch(
                f"{why_not} Servers of the cluster are in '{group.name}' ({group_id}), which was "
                'kept when its policy was detached: attach a policy that matches it'
                f'{"" if is_shared else give_up}'
            )
        if is_shared:
            return None, None
        with saying(f"Failed in deleting servergroup '{group.name}'."):
            groups.delete(group_id)
    return None, group_id


def _difference(group: ServerGroup, properties: Properties, hint: str | None) -> str | None:
    """Return why the group differs from the spec or the profile's hint; None if equal."""
    for name, where in (
        (hint, "the profile's scheduler_hints name"),
        (properties.server_group_name, 'servergroup.name is'),
    ):
        if name and name != group.name and name.lower() != group.id:
            return f"{where} '{name}', which is another server group than '{group.name}'."
    return mismatch(group, properties)
