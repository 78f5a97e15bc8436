"""Read and write ownership records in the ``data`` of a policy in Senlin.

An ownership record names a server group that a policy created, or was about to create, and that no
binding refers to. Unlike the data of a cluster, the records outlive the cluster.

Example: for each cluster id, ``creating`` has names of groups that Nova is about to create, and
``made`` and ``kept`` have ids of groups that a policy of this project created::

    {'senlin_affinity': {'<cluster id>': {'creating': ['web'], 'made': ['<group id>']}}}

Raises: nothing. Data of another form contain no records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

KEY = 'senlin_affinity'
#: The kinds of records: a name; an id; the id of a group that is kept for the next policy.
CREATING, MADE, KEPT = 'creating', 'made', 'kept'
_KINDS = (CREATING, MADE, KEPT)


@dataclass(frozen=True)
class Record:
    """An ownership record: the policy of a cluster created a group.

    ``group`` is its id, or its name (``CREATING``). ``cluster`` may no longer exist.
    """

    cluster: str
    kind: str
    group: str

    @property
    def is_unambiguous(self) -> bool:
        """Return whether the record has an id, or a name that contains the cluster's id."""
        return self.kind != CREATING or self.cluster in self.group


def read(data: object) -> tuple[Record, ...]:
    """Return the ownership records in the data of a policy."""
    clusters = data.get(KEY) if isinstance(data, Mapping) else None
    found = []
    for cluster, kinds in clusters.items() if isinstance(clusters, Mapping) else ():
        for kind in _KINDS if isinstance(kinds, Mapping) else ():
            groups = kinds.get(kind)
            for group in groups if isinstance(groups, list | tuple) else ():
                if isinstance(group, str) and group:
                    found.append(Record(cluster, kind, group))
    return tuple(found)


def write(data: object, records: Iterable[Record]) -> dict[str, Any]:
    """Return the data of a policy with these ownership records instead of its former ones."""
    clusters: dict[str, dict[str, list[str]]] = {}
    for record in dict.fromkeys(records):
        clusters.setdefault(record.cluster, {}).setdefault(record.kind, []).append(record.group)
    rest = data.items() if isinstance(data, Mapping) else ()
    kept = {key: value for key, value in rest if key != KEY}
    return {**kept, KEY: clusters} if clusters else kept
