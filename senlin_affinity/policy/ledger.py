"""The bindings and the notes of a project: who made which server group, and who uses it.

Data flow: the engine reads them from its database, a command from Senlin's API; both ask the same
questions of a :class:`Ledger`. It asks nobody.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from senlin_affinity.policy import notes
from senlin_affinity.policy.binding import Binding
from senlin_affinity.policy.notes import CREATING, KEPT, Note


@dataclass(frozen=True)
class Bound:
    """A binding, and whose it is."""

    cluster: str
    cluster_name: str
    policy: str
    policy_name: str
    policy_type: str
    is_enabled: bool
    binding: Binding


@dataclass(frozen=True)
class Ledger:
    """The bindings of a project, and what its policies note, by the policy's id.

    ``clusters`` are the names of all clusters of the project, by their ids; ``kept`` are the groups
    that these note themselves. ``is_attaching`` says whether a policy is being attached to the
    cluster with this id.
    """

    clusters: Mapping[str, str]
    bound: tuple[Bound, ...]
    notes: Mapping[str, tuple[Note, ...]]
    kept: tuple[Note, ...] = ()
    is_attaching: Callable[[str], bool] = field(default=lambda _cluster: False, compare=False)

    def all_notes(self) -> Iterator[Note]:
        """The notes of all policies and clusters."""
        yield from itertools.chain(self.kept, *self.notes.values())

    def is_made(self, group_id: str) -> bool:
        """Does a binding or a note say that a policy made the group with this id?"""
        return self.is_bound(group_id) or any(
            note.group == group_id and note.kind != CREATING for note in self.all_notes()
        )

    def is_bound(self, group_id: str, but: tuple[str, str] | None = None) -> bool:
        """Does a binding, but that of this cluster and policy, say that a policy made the group?"""
        return any(
            each.binding.servergroup_id == group_id
            and each.binding.is_ours
            and (each.cluster, each.policy) != but
            for each in self.bound
        )

    def users(self, group_id: str, cluster: str = '', policy: str = '') -> list[str]:
        """The names of the clusters that use a group, besides one with one of its policies.

        A cluster that is being attached to the group uses it already; a kept group is the
        cluster's for which it is kept.
        """
        found = {
            each.cluster_name
            for each in self.bound
            if each.binding.servergroup_id == group_id
            and (each.cluster, each.policy) != (cluster, policy)
        }
        for note in self.all_notes():
            is_of_other = note.cluster in self.clusters and note.cluster != cluster
            if (is_of_other and note.group == group_id) and (
                note.kind == KEPT or self.is_attaching(note.cluster)
            ):
                found.add(self.clusters[note.cluster])
        return sorted(found)

    def pending(self, cluster: str) -> set[str]:
        """The names of groups that Nova was about to be asked for, for a cluster."""
        here = (cluster, CREATING)
        return {note.group for note in self.all_notes() if (note.cluster, note.kind) == here}

    def naming(self, name: str) -> set[str]:
        """The policies that were about to ask Nova for a group of this name, and no longer are."""
        return {
            policy
            for policy, noted in self.notes.items()
            for note in noted
            if (note.kind, note.group) == (CREATING, name) and not self.is_attaching(note.cluster)
        }


def kept(cluster: str, data: object) -> Iterator[Note]:
    """The group that the data of a cluster note as kept."""
    if group := noted(data):
        yield Note(cluster, KEPT, group)


def noted(data: object) -> str | None:
    """The id of the group that a detach kept, as the data of a cluster remember it."""
    note: Any = data.get(notes.KEY) if isinstance(data, Mapping) else None
    group = note.get(KEPT) if isinstance(note, Mapping) else None
    return group if isinstance(group, str) else None
