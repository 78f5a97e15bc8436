"""Read and write the binding of a cluster to its server group, as Senlin stores it.

Example (scenario S1 of "Affinity Policy V1.0", Senlin's manual; ``policy`` and ``rules`` are
written for spec 1.1)::

    {'AffinityPolicy': {'version': '1.1',
                        'data': {'servergroup_id': 'XYZ-ABCD', 'inherited_group': True,
                                 'policy': 'anti-affinity', 'rules': {'max_server_per_host': 3}}}}

Every version can be read, also as a number.

Raises: BindingError for malformed data of this policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from senlin_affinity.model.errors import BindingError
from senlin_affinity.model.snapshot import CloudSnapshot

KEY = 'AffinityPolicy'
#: The keys in the data of a cluster that keeps a group: ``{'senlin_affinity': {'kept': id}}``.
CLUSTER_KEY, KEPT = 'senlin_affinity', 'kept'


@dataclass(frozen=True)
class Binding:
    """The server group of a cluster.

    ``is_inherited`` is False for a group that the policy owns. ``policy`` and ``rules`` are the
    group's; None if not stored, as for a spec 1.0.
    """

    servergroup_id: str
    is_inherited: bool
    version: str = '1.1'
    policy: str | None = None
    rules: Mapping[str, int] | None = field(default=None, hash=False)


def write(binding: Binding) -> dict[str, Any]:
    """Return the data to store; for a spec 1.0, with the manual's keys only."""
    data: dict[str, Any] = {
        'servergroup_id': binding.servergroup_id,
        'inherited_group': binding.is_inherited,
    }
    if binding.version != '1.0':
        data |= {'policy': binding.policy, 'rules': dict(binding.rules or {})}
    return {KEY: {'version': binding.version, 'data': data}}


def read(stored: object) -> Binding | None:
    """Parse the data that Senlin stored; return None if they have nothing of this policy."""
    entry = stored.get(KEY) if isinstance(stored, Mapping) else None
    if entry is None:
        return None
    data = entry.get('data') if isinstance(entry, Mapping) else entry
    if isinstance(entry, Mapping) and not data:
        return None
    if not isinstance(data, Mapping):
        raise BindingError(f'the binding cannot be read: {data!r}')
    group_id = data.get('servergroup_id')
    if not isinstance(group_id, str) or not group_id:
        raise BindingError(f'the binding holds no servergroup_id: {dict(data)!r}')
    policy, rules = data.get('policy'), data.get('rules')
    return Binding(
        group_id,
        data.get('inherited_group') is not False,  # if malformed, never delete the group
        str(entry.get('version', '1.0')),
        policy if isinstance(policy, str) else None,
        rules if isinstance(rules, Mapping) else None,
    )


def kept_group(data: object) -> str | None:
    """Return the id of the kept group in the data of a cluster; None if there is none."""
    record = data.get(CLUSTER_KEY) if isinstance(data, Mapping) else None
    group = record.get(KEPT) if isinstance(record, Mapping) else None
    return group if isinstance(group, str) else None


def remembered(snapshot: CloudSnapshot, binding: Binding | None) -> CloudSnapshot:
    """Return the snapshot with the rules of the bound group, which an old Nova does not show."""
    groups = snapshot.server_groups
    if groups is None or binding is None or not binding.rules:
        return snapshot
    return replace(
        snapshot,
        server_groups=tuple(
            replace(group, rules=binding.rules) if group.id == binding.servergroup_id else group
            for group in groups
        ),
    )
