"""Read and delete what release 0.9 noted of server groups in the ``data`` of policies.

Example: for each cluster id, ``creating`` has names of groups that Nova was about to create, and
``made`` and ``kept`` have ids of groups that a policy created::

    {'senlin_affinity': {'<cluster id>': {'creating': ['web'], 'made': ['<group id>']}}}

An id shows that a policy created the group, until a binding owns it. Engines of 0.9 may write at
the same time, so only unchanged rows are written. Remove this module with the upgrade from 0.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oslo_serialization import jsonutils
from senlin.db.sqlalchemy import api as database
from sqlalchemy import Text, column, select, table, update

KEY = 'senlin_affinity'
_POLICIES = table('policy', column('id'), column('data', Text))
_IDS = ('made', 'kept')


def names(data: object, group_id: str) -> bool:
    """Return whether the notes in the data of a policy have the id of a group."""
    return any(group_id in _groups(kinds, _IDS) for kinds in _clusters(data).values())


def delete(group_id: str | None = None, cluster: str | None = None) -> None:
    """Delete the notes of a group, or of a cluster, from all policies."""
    with database.session_for_write() as session:
        has_notes = _POLICIES.c.data.contains(KEY)
        for row in session.execute(select(_POLICIES).where(has_notes)).all():
            data = jsonutils.loads(row.data)
            rest = dict(_without(_clusters(data), group_id, cluster))
            if rest != _clusters(data):
                kept = {key: value for key, value in data.items() if key != KEY}
                text = jsonutils.dumps({**kept, KEY: rest} if rest else kept)
                is_as_read = (_POLICIES.c.id == row.id, _POLICIES.c.data == row.data)
                session.execute(update(_POLICIES).where(*is_as_read).values(data=text))


def _without(clusters: Mapping[str, Any], group_id: str | None, cluster: str | None) -> Any:
    for key, kinds in clusters.items():
        if key != cluster and isinstance(kinds, Mapping):
            left = {kind: [it for it in _groups(kinds, [kind]) if it != group_id] for kind in kinds}
            if any(left.values()):
                yield key, {kind: groups for kind, groups in left.items() if groups}


def _clusters(data: object) -> Mapping[str, Any]:
    found = data.get(KEY) if isinstance(data, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _groups(kinds: object, of: Any) -> list[Any]:
    found = [kinds.get(kind) for kind in of] if isinstance(kinds, Mapping) else []
    return [each for groups in found if isinstance(groups, list) for each in groups]
