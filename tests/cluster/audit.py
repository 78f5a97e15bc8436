"""Count what must not exist in the tables of Nova and Senlin, without the package's code.

Each count is a list of the rows, which a failed test shows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

#: Groups that a test created as a user, and has not deleted.
foreign: set[str] = set()
_GROUPS = """
SELECT g.uuid, p.policy, COALESCE(p.rules, '{}'), i.host, COUNT(*)
FROM nova_api.instance_groups g
JOIN nova_api.instance_group_policy p ON p.group_id = g.id
JOIN nova_api.instance_group_member m ON m.group_id = g.id
JOIN nova_cell1.instances i ON i.uuid = m.instance_uuid
WHERE i.deleted = 0 AND i.launched_at IS NOT NULL AND i.host IS NOT NULL
GROUP BY g.uuid, i.host
"""
_BOUND = "JSON_VALUE(b.data, '$.AffinityPolicy.data.servergroup_id')"
#: Launched servers of nodes whose cluster is bound to a group of which they are not members.
_OUTSIDE = f"""
SELECT n.name, i.uuid, {_BOUND}
FROM senlin.cluster_policy b
JOIN senlin.node n ON n.cluster_id = b.cluster_id
JOIN nova_cell1.instances i ON i.uuid = n.physical_id
WHERE i.deleted = 0 AND i.launched_at IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM nova_api.instance_groups g
  JOIN nova_api.instance_group_member m ON m.group_id = g.id
  WHERE g.uuid = {_BOUND} AND m.instance_uuid = i.uuid)
"""
#: Groups that are named after a cluster, and to which nothing is bound.
_LEAKED = f"""
SELECT g.uuid, g.name FROM nova_api.instance_groups g
WHERE g.name LIKE 'senlin-affinity-%' AND g.uuid NOT IN (
  SELECT {_BOUND} FROM senlin.cluster_policy b WHERE {_BOUND} IS NOT NULL)
"""
#: Bindings to a group that no longer exists.
_GONE = f"""
SELECT b.cluster_id, {_BOUND} FROM senlin.cluster_policy b
WHERE {_BOUND} IS NOT NULL AND {_BOUND} NOT IN (SELECT uuid FROM nova_api.instance_groups)
"""
#: The policy locks a group by a row with the id of the group, or of its name.
_LOCKS = 'SELECT cluster_id FROM cluster_lock WHERE cluster_id NOT IN (SELECT id FROM cluster)'
#: Actions that Senlin has not finished; their clusters and nodes remain locked.
UNFINISHED = """
SELECT id, action, status, target FROM action
WHERE status NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED') ORDER BY created_at
"""
#: The same, without actions that wait for their preparation, after which they are READY.
STARTED = UNFINISHED.replace("'CANCELLED'", "'CANCELLED', 'INIT'")
#: Servers whose deletion Nova lost, after all actions have finished.
DELETING = "SELECT uuid FROM nova_cell1.instances WHERE deleted = 0 AND task_state = 'deleting'"


def counts(stack: Any) -> dict[str, list[Any]]:
    """Return what was found of each kind."""
    there = {uuid for (uuid,) in stack.sql('SELECT uuid FROM nova_api.instance_groups')}
    return {
        'violated groups': [*_violated(stack)],
        'servers outside their group': stack.sql(_OUTSIDE),
        'leaked groups': stack.sql(_LEAKED),
        'foreign deletions': [*sorted(foreign - there), *stack.sql(_GONE)],
        'own locks': stack.sql(_LOCKS),
    }


def _violated(stack: Any) -> Iterator[tuple[str, ...]]:
    hosts: dict[str, list[str]] = {}
    for group, policy, rules, host, count in stack.sql(_GROUPS):
        limit = int(json.loads(rules).get('max_server_per_host', 1))
        hosts.setdefault(group, []).append(host)
        if policy == 'anti-affinity' and int(count) > limit:
            yield group, policy, f'{count} on {host}'
        if policy == 'affinity' and len(hosts[group]) > 1:
            yield group, policy, *hosts[group]
