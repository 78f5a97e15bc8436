"""A server group that the policy created: deleted at detach, or kept for the cluster's next policy.

Shapes: the metadata of a cluster, ``{'senlin_affinity_on_detach': 'keep'}``. It goes before
``servergroup.on_detach`` of the spec, since the spec of a policy in use cannot be changed.

Requests: none at detach; at attach 1, and 1 more for a group that is empty and does not match.

Errors: InvalidSpec for another value; PolicyMismatch for a kept group that has servers of the
cluster and is not what the spec asks for: a new, empty group knows nothing of them.

Source: document 003, S2, deletes at detach; keeping is this project's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from senlin_affinity.core.errors import InvalidSpec, PolicyMismatch
from senlin_affinity.core.ports import ServerGroups
from senlin_affinity.core.server_group import ServerGroup
from senlin_affinity.policy.matching import mismatch, saying
from senlin_affinity.policy.properties import Properties
from senlin_affinity.policy.schema import DELETE, KEEP

#: The key in a cluster's metadata.
KEY = 'senlin_affinity_on_detach'


def is_kept(metadata: Mapping[str, Any], properties: Callable[[], Properties]) -> bool:
    """Does a group of the policy's own outlive the detach? The metadata go before the spec."""
    said = metadata.get(KEY)
    if said is None:
        return properties().on_detach == KEEP
    value = said.strip().lower() if isinstance(said, str) else said
    if value not in (DELETE, KEEP):
        raise InvalidSpec(f'must be {DELETE} or {KEEP}, not {said!r}', f'metadata.{KEY}')
    return bool(value == KEEP)


@dataclass(frozen=True)
class Cluster:
    """What a policy must know of a cluster.

    ``group_hint`` is its profile's scheduler hint. ``pending`` is the name of a group that an
    earlier attach was about to create when it broke off, and ``note`` remembers one (None: none),
    so that the group is deleted at detach though a later attach finds it there.
    ``other_clusters`` gives the names of other clusters whose bindings hold a group's id.
    ``flavor`` is the name or the id of its profile's flavor. ``kept`` is the id of a group of its
    own that an earlier detach kept; ``own_servers`` are the ids of its nodes' servers.
    """

    id: str
    group_hint: str | None = None
    pending: str | None = None
    note: Callable[[str | None], None] = lambda _name: None
    other_clusters: Callable[[str], Collection[str]] = lambda _group_id: ()
    flavor: str | None = None
    kept: str | None = None
    own_servers: Collection[str] = ()

    def may_own(self, group: ServerGroup) -> bool:
        """Does nobody else use this group: no server, no other cluster?"""
        return not group.members and not self.other_clusters(group.id)


def kept_group(
    cluster: Cluster, properties: Properties, groups: ServerGroups
) -> tuple[ServerGroup | None, str | None]:
    """The group that an earlier detach kept, if the cluster goes on with it; else its id, if it is
    gone: one that does not match is deleted where it is empty and nobody else uses it.
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
    members, own = {member.server for member in group.members}, set(cluster.own_servers)
    is_shared = bool(cluster.other_clusters(group_id)) or not members <= own
    if members & own:
        give_up = f', or give it up with "openstack server group delete {group_id}"'
        raise PolicyMismatch(
            f"{why_not} Servers of the cluster are in '{group.name}' ({group_id}), which was kept "
            'when its policy was detached: attach a policy that matches it'
            f'{"" if is_shared else give_up}'
        )
    if is_shared:
        return None, None
    with saying(f"Failed in deleting servergroup '{group.name}'."):
        groups.delete(group_id)
    return None, group_id


def _difference(group: ServerGroup, properties: Properties, hint: str | None) -> str | None:
    """Why the group is not the one that the spec and the profile's hint ask for."""
    for name, where in (
        (hint, "the profile's scheduler_hints name"),
        (properties.server_group_name, 'servergroup.name is'),
    ):
        if name and name != group.name and name.lower() != group.id:
            return f"{where} '{name}', which is another server group than '{group.name}'."
    return mismatch(group, properties)
