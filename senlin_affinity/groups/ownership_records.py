"""Read and write notes about server groups in the ``data`` of a policy in Senlin.

They record groups that no binding refers to. They outlive the cluster, unlike the data of a
cluster.

Example: by the cluster's id, ``creating`` has the name of a group that Nova is about to create,
``made`` and ``kept`` have ids of groups that a policy of this project created::

    {'senlin_affinity': {'<cluster id>': {'creating': ['web'], 'made': ['<group id>']}}}

Raises: nothing. Data of another form contain no notes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

KEY = 'senlin_affinity'
#: The kinds of notes: a name; an id; the id of a group that waits for the cluster's next policy.
CREATING, MADE, KEPT = 'creating', 'made', 'kept'
_KINDS = (CREATING, MADE, KEPT)


@dataclass(frozen=True)
class Note:
    """A record that the policy of a cluster created a group.

    ``group`` is its id, or its name (``CREATING``). ``cluster`` may no longer exist.
    """

    cluster: str
    kind: str
    group: str

    @property
    def names_it_well(self) -> bool:
        """Return whether the note holds an id, or a name that contains the cluster's id."""
        return self.kind != CREATING or self.cluster in self.group


def read(data: object) -> tuple[Note, ...]:
    """Return the notes in the data of a policy."""
    clusters = data.get(KEY) if isinstance(data, Mapping) else None
    found = []
    for cluster, kinds in clusters.items() if isinstance(clusters, Mapping) else ():
        for kind in _KINDS if isinstance(kinds, Mapping) else ():
            groups = kinds.get(kind)
            for group in groups if isinstance(groups, list | tuple) else ():
                if isinstance(group, str) and group:
                    found.append(Note(cluster, kind, group))
    return tuple(found)


def write(data: object, notes: Iterable[Note]) -> dict[str, Any]:
    """Return the data of a policy with these notes instead of its former ones."""
    clusters: dict[str, dict[str, list[str]]] = {}
    for note in dict.fromkeys(notes):
        clusters.setdefault(note.cluster, {}).setdefault(note.kind, []).append(note.group)
    rest = data.items() if isinstance(data, Mapping) else ()
    kept = {key: value for key, value in rest if key != KEY}
    return {**kept, KEY: clusters} if clusters else kept
