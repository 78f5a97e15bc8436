"""A server group that a policy made: deleted by the last that leaves it, or kept for the next.

*Ours* is a group of which a binding says that a policy made it, or that a note names (``notes``);
a name alone is never a reason to delete a group.

Shapes: the metadata of a cluster, ``{'senlin_affinity_on_detach': 'keep'}``. It goes before
``servergroup.on_detach`` of the spec, since the spec of a policy in use cannot be changed.

Requests: none at detach; at attach 1, and 1 more for a group that is empty and does not match.

Errors: InvalidSpec for another value; PolicyMismatch for a kept group that has servers of the
cluster and is not what the spec asks for: a new, empty group knows nothing of them.

Source: document 003, S2, deletes at detach; keeping is this project's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from senlin_affinity.core.errors import InvalidSpec, PolicyMismatch
from senlin_affinity.core.ports import ServerGroups
from senlin_affinity.core.server_group import ServerGroup
from senlin_affinity.policy.matching import is_uuid, mismatch, saying
from senlin_affinity.policy.placement import Refusal
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
    """What a policy must know of a cluster, and where it writes down what it does.

    ``group_hint`` is its profile's scheduler hint, ``flavor`` the name or the id of its profile's
    flavor. ``kept`` is the id of a group that an earlier detach kept; ``own_servers`` are the ids
    of its nodes' servers, ``former_servers`` those of nodes that are in no cluster any more and
    were placed into the group.

    ``pending`` are the names of groups that an earlier attach was about to create when it broke
    off, and ``note`` remembers one (None: none); ``claim`` remembers the id of one that a policy
    made and the cluster is about to be bound to. ``leave`` remembers one that stays behind, and
    takes the cluster out of its users. ``is_made`` says whether a policy made the group with this
    id. ``other_clusters`` gives the names of others that use it; ``alone`` keeps the policies that
    leave it from doing so at the same time, ``alone_with`` the attaches that look for a group of
    one name, and create it. ``hints`` are the groups that profiles name, by id or name.
    """

    id: str
    group_hint: str | None = None
    pending: Collection[str] = ()
    note: Callable[[str | None], None] = lambda _name: None
    other_clusters: Callable[[str], Collection[str]] = lambda _group_id: ()
    flavor: str | None = None
    kept: str | None = None
    own_servers: Collection[str] = ()
    former_servers: Callable[[str], Collection[str]] = lambda _group_id: ()
    is_made: Callable[[str], bool] = lambda _group_id: False
    claim: Callable[[str], None] = lambda _group_id: None
    leave: Callable[[str], None] = lambda _group_id: None
    alone: Callable[[str], AbstractContextManager[object]] = lambda _group_id: nullcontext()
    alone_with: Callable[[str], AbstractContextManager[object]] = lambda _name: nullcontext()
    hints: Callable[[], Collection[str]] = frozenset

    def naming(self, name: str | None) -> AbstractContextManager[object]:
        """Be the only attach that looks for a group of this name; without one, one of many."""
        is_open = name and not is_uuid(name) and not self.group_hint
        return self.alone_with(name) if name and is_open else nullcontext()

    def may_own(self, group: ServerGroup) -> bool:
        """Does nobody else use this group: no server, no other cluster?"""
        return not self.strangers(group) and not self.other_clusters(group.id)

    def strangers(self, group: ServerGroup) -> list[str]:
        """The members of a group that are servers of nobody's, or of others."""
        members = {member.server for member in group.members} - set(self.own_servers)
        return sorted(members - set(self.former_servers(group.id))) if members else []

    def is_left_behind(self, group: ServerGroup) -> bool:
        """Did a policy make the group, and is it empty and nobody's by now?"""
        if group.members or not self.is_made(group.id) or {group.id, group.name} & {*self.hints()}:
            return False
        return self.may_own(group)


def without_left_behind(
    found: Sequence[ServerGroup], cluster: Cluster, groups: ServerGroups
) -> Sequence[ServerGroup]:
    """Several groups of one name, less those that broken attaches left: these are deleted.

    The first stays where nothing else would.
    """
    left = list(found)
    for group in reversed(found if len(found) > 1 else ()):
        with cluster.alone(group.id):
            if len(left) > 1 and cluster.is_left_behind(group):
                with saying(f"Failed in deleting servergroup '{group.name}' ({group.id})."):
                    groups.delete(group.id)
                left.remove(group)
    return left


def gone(group_id: str, groups: Collection[ServerGroup] | None) -> Refusal | None:
    """Why no node is created in a group that Nova does not have; None where it has it.

    :param groups: those that were looked at; None: nobody could see any.
    """
    if groups is None or any(group.id == group_id for group in groups):
        return None
    return Refusal(
        f'server group {group_id}, which the policy is bound to, does not exist any more: '
        'detach the policy and attach it again'
    )


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
    members = {member.server for member in group.members}
    with cluster.alone(group_id):
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
    """Why the group is not the one that the spec and the profile's hint ask for."""
    for name, where in (
        (hint, "the profile's scheduler_hints name"),
        (properties.server_group_name, 'servergroup.name is'),
    ):
        if name and name != group.name and name.lower() != group.id:
            return f"{where} '{name}', which is another server group than '{group.name}'."
    return mismatch(group, properties)
