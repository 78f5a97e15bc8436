"""Reconcile the groups of Nova with the clusters of Senlin, and find violated policies.

The name of a group tells to which cluster it belongs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from senlin_affinity.groups.attachment import GROUP_NAME_PREFIX, cluster_of
from senlin_affinity.groups.detachment import verify_deleted
from senlin_affinity.groups.steps import DeleteGroup, SearchGroups, Step
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.server_group import places as places
from senlin_affinity.policy.senlin_data import Binding

#: Who created a group (:func:`statuses`).
BY_POLICY, PERHAPS_BY_POLICY, BY_OTHERS = 'policy', 'perhaps a policy', '-'
#: Replaces the name of a cluster of another project.
FOREIGN = 'of another project'


@dataclass(frozen=True)
class BindingRecord:
    """A binding, with its cluster and its policy."""

    cluster: str
    cluster_name: str
    policy: str
    policy_name: str
    policy_type: str
    is_enabled: bool
    binding: Binding


@dataclass(frozen=True)
class GroupReferences:
    """The users of server groups that Senlin shows, of one project or of all.

    ``clusters`` maps ids to names, or to ``FOREIGN`` for another project than the reader's.
    ``kept`` maps clusters to the groups that they keep. By name or id: ``hints`` are the groups
    that profiles name, ``named`` those of policies, and ``attaching`` those of policies that are
    being attached.
    """

    clusters: Mapping[str, str] = field(hash=False)
    bound: tuple[BindingRecord, ...] = ()
    kept: Mapping[str, str] = field(default_factory=dict, hash=False)
    hints: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    attaching: frozenset[str] = frozenset()

    def users_of(self, group_id: str) -> list[str]:
        """Return the sorted names of the clusters that use or keep a group; [] if none does."""
        bound = [each for each in self.bound if each.binding.servergroup_id == group_id]
        keepers = (self.clusters[key] for key, group in self.kept.items() if group == group_id)
        return sorted({*(each.cluster_name for each in bound), *keepers})

    def owners_of(self, group_id: str) -> list[str]:
        """Return the sorted ids of the clusters that own or keep a group, normally at most one."""
        bound = [each for each in self.bound if each.binding.servergroup_id == group_id]
        owners = {each.cluster for each in bound if not each.binding.is_inherited}
        return sorted(owners | {key for key, group in self.kept.items() if group == group_id})


@dataclass(frozen=True)
class GroupStatus:
    """A group, who created it, and the names of the clusters that use or keep it."""

    group: ServerGroup
    made_by: str
    users: tuple[str, ...]
    is_orphan: bool


def statuses(
    groups: Sequence[ServerGroup], uses: GroupReferences, prefix: str = GROUP_NAME_PREFIX
) -> Iterator[GroupStatus]:
    """Yield the status of each group.

    A group is unused if it has no members and no users, and if no profile names it. ``made_by`` is
    ``BY_POLICY`` for a group that a cluster owns or keeps, or that bears a cluster's own name, and
    ``PERHAPS_BY_POLICY`` for another unused one that a policy names; else ``BY_OTHERS``. An orphan
    is an unused group named after a cluster that does not exist, unless an attach may use it.
    """
    for group in groups:
        users, words = tuple(uses.users_of(group.id)), {group.id, group.name}
        is_used = bool(group.members or users or words & uses.hints)
        cluster = cluster_of(group.name, prefix)
        made_by = BY_OTHERS
        if cluster is not None or uses.owners_of(group.id):
            made_by = BY_POLICY
        elif not is_used and words & uses.named:
            made_by = PERHAPS_BY_POLICY
        is_gone = cluster is not None and cluster not in uses.clusters
        is_orphan = is_gone and not is_used and not words & uses.attaching
        yield GroupStatus(group, made_by, users, is_orphan)


@dataclass(frozen=True)
class ReadUses:
    """Read a :class:`GroupReferences`, of all projects if possible."""


@dataclass(frozen=True)
class HasCluster:
    """Read by its id whether a cluster exists."""

    cluster: str


@dataclass(frozen=True)
class DeleteOrphan:
    """Delete a group that was an orphan in an earlier list, if it still is."""

    group_id: str
    prefix: str = GROUP_NAME_PREFIX

    def step(self) -> Step[ServerGroup | None]:
        """Return the deleted group; None, without a deletion, if it is no longer an orphan."""
        group = yield from self.still_orphan()
        cluster = cluster_of(group.name, self.prefix) if group is not None else None
        if cluster is None or (yield HasCluster(cluster)):
            return None
        yield DeleteGroup(self.group_id)
        yield from verify_deleted(self.group_id)
        return group

    def still_orphan(self) -> Step[ServerGroup | None]:
        """Return the group if it is an orphan, else None.

        Nova is read first: a group that is created and bound meanwhile is then not listed.
        """
        groups = yield SearchGroups()
        uses: GroupReferences = yield ReadUses()
        found = statuses([each for each in groups if each.id == self.group_id], uses, self.prefix)
        return next((each.group for each in found if each.is_orphan), None)


def shared_ownership(
    groups: Iterable[ServerGroup], uses: GroupReferences
) -> Iterator[tuple[str, str]]:
    """Yield the name of each group with several owners, and their names, in the order of their ids.

    Example: ``('web', 'a, b')``.
    """
    for group in groups:
        owners = uses.owners_of(group.id)
        if len(owners) > 1:
            yield group.name, ', '.join(uses.clusters.get(each, FOREIGN) for each in owners)


def conflicting_policies(uses: GroupReferences) -> Iterator[tuple[str, str]]:
    """Yield each cluster with enabled policies for different groups, by name, with the policies.

    Example: ``('web', 'p1 (senlin.policy.affinity-1.0): <group>; p2 (...-1.1): <group>')``
    """
    for cluster, name in sorted(uses.clusters.items(), key=lambda item: (item[1], item[0])):
        here = [each for each in uses.bound if each.cluster == cluster and each.is_enabled]
        if len({each.binding.servergroup_id for each in here}) > 1:
            words = (
                f'{each.policy_name} ({each.policy_type}): {each.binding.servergroup_id}'
                for each in sorted(here, key=lambda each: each.policy_type)
            )
            yield name, '; '.join(words)
