"""What is remembered of a cluster and its policy, in the form that Senlin stores.

Shapes (document 003, S1; ``policy`` and ``rules`` are written for spec 1.1)::

    {'AffinityPolicy': {'version': '1.1',
                        'data': {'servergroup_id': 'XYZ-ABCD', 'inherited_group': True,
                                 'policy': 'anti-affinity', 'rules': {'max_server_per_host': 3}}}}

A spec 1.1 adds ``made_by_policy: True`` to an inherited group that another binding's policy made.

Any version is read: the document's number 1.0, Senlin's own '1.0', '1.1', and newer ones.

Errors: BindingError where data of this policy are there and can not be read. Data of another kind,
and none at all, are None: there is nothing of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from senlin_affinity.core.errors import BindingError

KEY = 'AffinityPolicy'


@dataclass(frozen=True)
class Binding:
    """The server group of a cluster.

    ``is_inherited`` is False for a group that the policy created. ``is_made`` says that another
    policy of the project created it. ``policy`` and ``rules`` are the group's own, None where an
    older form does not tell.
    """

    servergroup_id: str
    is_inherited: bool
    version: str = '1.1'
    policy: str | None = None
    rules: Mapping[str, int] | None = field(default=None, hash=False)
    is_made: bool = False

    @property
    def is_ours(self) -> bool:
        """Does it say that a policy made the group, which the last one out then deletes?"""
        return self.is_made or not self.is_inherited


def write(binding: Binding) -> dict[str, Any]:
    """The data to store; for a spec 1.0 just the document's, since Senlin's own policy reads it."""
    data: dict[str, Any] = {
        'servergroup_id': binding.servergroup_id,
        'inherited_group': binding.is_inherited,
    }
    if binding.version != '1.0':
        data |= {'policy': binding.policy, 'rules': dict(binding.rules or {})}
        if binding.is_made:
            data['made_by_policy'] = True
    return {KEY: {'version': binding.version, 'data': data}}


def read(stored: object) -> Binding | None:
    """The binding in what Senlin stored; None where nothing of this policy is in it."""
    entry = stored.get(KEY) if isinstance(stored, Mapping) else None
    if entry is None:
        return None
    data = entry.get('data') if isinstance(entry, Mapping) else entry
    if isinstance(entry, Mapping) and not data:
        return None
    if not isinstance(data, Mapping):
        raise BindingError(f'the binding can not be read: {data!r}')
    group_id = data.get('servergroup_id')
    if not isinstance(group_id, str) or not group_id:
        raise BindingError(f'the binding holds no servergroup_id: {dict(data)!r}')
    policy, rules = data.get('policy'), data.get('rules')
    return Binding(
        group_id,
        data.get('inherited_group') is not False,  # whatever else it says: never delete in doubt
        str(entry.get('version', '1.0')),
        policy if isinstance(policy, str) else None,
        rules if isinstance(rules, Mapping) else None,
        data.get('made_by_policy') is True,
    )
