"""Simulate Senlin's API for the commands about groups, from the database of this process.

The commands run in this process, too (``tests.support.command``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from oslo_serialization import jsonutils
from senlin import objects

from tests.recordings.exchanges import Reply
from tests.reliability.operations import Stage
from tests.support import command

_LISTS: Mapping[str, Callable[..., Any]] = {
    'clusters': objects.Cluster.get_all,
    'policies': objects.Policy.get_all,
    'nodes': objects.Node.get_all,
    'profiles': objects.Profile.get_all,
    'actions': objects.Action.get_all,
}


def answering(stage: Stage) -> Callable[[str, Mapping[str, list[str]]], Reply]:
    """Return a function that answers a request for a path."""
    context = stage.desk.context

    def answer(path: str, query: Mapping[str, list[str]]) -> Reply:
        parts = path.strip('/').split('/')[1:]  # without v1
        if not parts:
            link = {'rel': 'self', 'href': f'{stage.cloud.url}/clustering/v1'}
            version = {'id': '1.0', 'status': 'CURRENT', 'links': [link]}
            return Reply(200, {'version': version})
        if parts[2:] == ['policies']:
            rows = objects.ClusterPolicy.get_all(context, parts[1])
            return _listed('cluster_policies', rows)
        if parts[1:]:
            row = objects.Cluster.get(context, parts[1])
            missing = {'error': {'code': 404, 'message': 'not found'}}
            return Reply(404, missing) if row is None else Reply(200, {'cluster': {'id': row.id}})
        filters = {key: query[key] for key in ('action', 'status') if key in query}
        rows = _LISTS[parts[0]](context, **({'filters': filters} if filters else {}))
        return _listed(parts[0], rows)

    return answer


def _listed(key: str, rows: Any) -> Reply:
    return Reply(200, {key: jsonutils.to_primitive([row.to_dict() for row in rows])})


COMMAND = ('group', 'delete', '--orphans')


def orphans(stage: Stage) -> list[str]:
    """Delete the orphans with the operator's command; return its errors."""
    stage.cloud.clustering = answering(stage)
    done = command.run(*COMMAND, '--yes', **stage.cloud.environment)
    return [] if done.returncode == 0 else [done.stderr or done.stdout]
