"""What a policy remembers of server groups that no binding holds, in its own ``data`` in Senlin.

They outlive the cluster, as the notes in a cluster's own data do not.

Shapes: by the cluster's id, ``creating`` with the name of a group that Nova is about to be asked
for, ``made`` and ``kept`` with ids of groups that a policy of this project made::

    {'senlin_affinity': {'<cluster id>': {'creating': ['web'], 'made': ['<group id>']}}}

Errors: none. What is not of this shape is not a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

KEY = 'senlin_affinity'
#: The kinds of notes: a name, an id, and the id of one that waits for the cluster's next policy.
CREATING, MADE, KEPT = 'creating', 'made', 'kept'
_KINDS = (CREATING, MADE, KEPT)


@dataclass(frozen=True)
class Note:
    """That the policy of a cluster made a group; ``group`` is its id, or its name (``CREATING``).

    ``cluster`` may be gone by now.
    """

    cluster: str
    kind: str
    group: str

    @property
    def names_it_well(self) -> bool:
        """Can nothing else be meant: an id, or a name that has the cluster's id in it?"""
        return self.kind != CREATING or self.cluster in self.group


def read(data: object) -> tuple[Note, ...]:
    """The notes in the data of a policy."""
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
    """The data of a policy with these notes in place of those that it had."""
    clusters: dict[str, dict[str, list[str]]] = {}
    for note in dict.fromkeys(notes):
        clusters.setdefault(note.cluster, {}).setdefault(note.kind, []).append(note.group)
    rest = data.items() if isinstance(data, Mapping) else ()
    kept = {key: value for key, value in rest if key != KEY}
    return {**kept, KEY: clusters} if clusters else kept
