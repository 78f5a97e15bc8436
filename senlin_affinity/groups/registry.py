"""Find the users and the creator of each server group in bindings and ownership records.

The engine builds a :class:`GroupRegistry` from its database, a command from Senlin's API. The
registry itself performs no I/O.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from senlin_affinity.groups import ownership_records
from senlin_affinity.groups.ownership_records import CREATING, KEPT, Record
from senlin_affinity.policy.binding import Binding

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
class GroupRegistry:
    """The bindings and the ownership records (``records``) of one project, or of all.

    ``clusters`` maps the ids of all clusters to their names, or to ``FOREIGN`` for a cluster of
    another project than the reader's. ``records`` are by the id of their policy; ``kept`` are those
    in the data of clusters. ``is_attaching`` returns whether a policy is being attached to a
    cluster.
    """

    clusters: Mapping[str, str]
    bound: tuple[BindingRecord, ...]
    records: Mapping[str, tuple[Record, ...]]
    kept: tuple[Record, ...] = ()
    is_attaching: Callable[[str], bool] = field(default=lambda _cluster: False, compare=False)

    def all_records(self) -> Iterator[Record]:
        """Yield the ownership records of all policies and clusters."""
        yield from itertools.chain(self.kept, *self.records.values())

    def is_policy_made(self, group_id: str) -> bool:
        """Return whether a binding or an ownership record shows that a policy created the group."""
        return self.has_binding(group_id) or any(
            record.group == group_id and record.kind != CREATING for record in self.all_records()
        )

    def has_binding(self, group_id: str, but: tuple[str, str] | None = None) -> bool:
        """Return whether a binding records that a policy created the group.

        :param but: a cluster and a policy whose binding is ignored.
        """
        return any(
            each.binding.servergroup_id == group_id
            and each.binding.is_ours
            and (each.cluster, each.policy) != but
            for each in self.bound
        )

    def users_of(self, group_id: str, cluster: str = '', policy: str = '') -> list[str]:
        """Return the names of the clusters that use a group.

        The binding of the given cluster and policy, and the ownership records of that cluster, are
        ignored. A cluster that is being attached to the group uses it already; a kept group belongs
        to its cluster.
        """
        found = {
            each.cluster_name
            for each in self.bound
            if each.binding.servergroup_id == group_id
            and (each.cluster, each.policy) != (cluster, policy)
        }
        for record in self.all_records():
            is_of_other = record.cluster in self.clusters and record.cluster != cluster
            if (is_of_other and record.group == group_id) and (
                record.kind == KEPT or self.is_attaching(record.cluster)
            ):
                found.add(self.clusters[record.cluster])
        return sorted(found)

    def intents(self, cluster: str) -> set[str]:
        """Return the names of groups that attaches of the cluster were about to create."""
        here = (cluster, CREATING)
        return {each.group for each in self.all_records() if (each.cluster, each.kind) == here}

    def policies_intending(self, name: str) -> set[str]:
        """Return the policies with an interrupted attach that was about to create this name."""
        return {
            policy
            for policy, records in self.records.items()
            for each in records
            if (each.kind, each.group) == (CREATING, name) and not self.is_attaching(each.cluster)
        }


def kept_records(cluster: str, data: object) -> Iterator[Record]:
    """Yield an ownership record for the kept group in the data of a cluster, if there is one."""
    if group := kept_group_id(data):
        yield Record(cluster, KEPT, group)


def kept_group_id(data: object) -> str | None:
    """Return the id of the kept group in the data of a cluster; None if there is none."""
    record: Any = data.get(ownership_records.KEY) if isinstance(data, Mapping) else None
    group = record.get(KEPT) if isinstance(record, Mapping) else None
    return group if isinstance(group, str) else None
