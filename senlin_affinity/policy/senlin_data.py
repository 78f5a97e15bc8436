"""The data of the policy in Senlin: bindings of clusters, placements of nodes, reports of engines.

Senlin stores a binding for a cluster and its policy, a placement in ``action.data``, and the
reports (:mod:`senlin_affinity.plugins.senlin.log`) in the ``data`` of a policy. Examples
("Affinity Policy V1.0" in Senlin's manual; ``policy`` and ``rules`` are written for spec 1.1)::

    {'AffinityPolicy': {'version': '1.1',
                        'data': {'servergroup_id': 'XYZ-ABCD', 'inherited_group': True,
                                 'policy': 'anti-affinity', 'rules': {'max_server_per_host': 3}}}}
    {'placement': {'count': 2, 'placements': [
        {'zone': 'nova:vsphere_drs_1', 'servergroup': 'XYZ-ABCD'},
        {'zone': 'nova:vsphere_drs_1', 'servergroup': 'XYZ-ABCD'}]}}
    {'status': 'ERROR', 'status_reason': 'No suitable vSphere host is available.',
     'reason': 'No suitable vSphere host is available. (drs.down on 1: ...)'}

A binding of every version can be read, also one whose version is a number.

Raises: BindingError for a malformed binding; InvalidSpec for a count that is not a whole number, 0
or more (or a string of digits).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from senlin_affinity.constraints.drs import DrsConstraint, check_drs_host
from senlin_affinity.engine.decision import Decision
from senlin_affinity.model.errors import BindingError, InvalidSpec
from senlin_affinity.model.host import Host
from senlin_affinity.model.numbers import whole
from senlin_affinity.model.terminal_text import escaped
from senlin_affinity.model.verdict import sentence
from senlin_affinity.policy.properties import PolicySpec

NO_DRS_HOST = 'No suitable vSphere host is available.'
DEFAULT_DRS_ZONE = 'nova'
_MOST_REMEDIES = 3
KEY = 'AffinityPolicy'
#: The keys in the data of a cluster that keeps a group: ``{'senlin_affinity': {'kept': id}}``.
CLUSTER_KEY, KEPT = 'senlin_affinity', 'kept'
#: The key of the reports in the data of a policy.
REPORTS = 'affinity_engines'
#: The binary of the services of which the reports are.
ENGINE = 'senlin-engine'


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

    def data(self) -> dict[str, Any]:
        """Return the data to store; for a spec 1.0, with the manual's keys only."""
        data: dict[str, Any] = {
            'servergroup_id': self.servergroup_id,
            'inherited_group': self.is_inherited,
        }
        if self.version != '1.0':
            data |= {'policy': self.policy, 'rules': dict(self.rules or {})}
        return {KEY: {'version': self.version, 'data': data}}

    @classmethod
    def read(cls, stored: object) -> Binding | None:
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
        return cls(
            group_id,
            data.get('inherited_group') is not False,  # if malformed, never delete the group
            str(entry.get('version', '1.0')),
            policy if isinstance(policy, str) else None,
            rules if isinstance(rules, Mapping) else None,
        )


@dataclass(frozen=True)
class Placement:
    """The server group of ``count`` nodes and, optionally, their zone or hosts.

    ``hosts`` has a ``zone:host`` or a zone for each node, or None; if empty, ``zone`` is that of
    all nodes.
    """

    count: int
    servergroup: str
    zone: str | None = None
    hosts: tuple[str | None, ...] = ()

    def entries(self) -> list[dict[str, str]]:
        """Return a new dict for each node."""
        group = {'servergroup': self.servergroup}
        zones = self.hosts or (self.zone,) * self.count
        return [dict(group) if zone is None else {'zone': zone, **group} for zone in zones]

    def data(self) -> dict[str, Any]:
        """Return the entries of ``action.data``."""
        return {'placement': {'count': self.count, 'placements': self.entries()}}

    def line(self) -> str:
        """Return one line for the log."""
        if not self.count:
            return 'places no node: the size does not change'
        at_zone = f' in {self.zone}' if self.zone else ''
        hosts = ', '.join(host or 'any' for host in self.hosts)
        where = f' on {hosts}' if hosts else at_zone
        return f'places {self.count} node(s) into server group {self.servergroup}{where}'


@dataclass(frozen=True)
class Refusal:
    """A rejection: ``status_reason`` is the manual's key, ``reason`` the engine's."""

    status_reason: str
    detail: str = ''

    @property
    def reason(self) -> str:
        """Return the status reason and the detail."""
        return f'{self.status_reason} ({self.detail})' if self.detail else self.status_reason

    def data(self) -> dict[str, Any]:
        """Return the entries of ``action.data``; their texts contain no control characters."""
        reasons = {'status_reason': self.status_reason, 'reason': self.reason}
        return {'status': 'ERROR', **{key: escaped(text) for key, text in reasons.items()}}

    def line(self) -> str:
        """Return one line for the log."""
        return f'rejects: {self.reason}'


def decided_count(data: Mapping[str, Any]) -> int | None:
    """Return the number of nodes that another policy decided on, or None."""
    creation = data.get('creation')
    if creation is not None and not isinstance(creation, Mapping):
        raise InvalidSpec(f'must be a mapping with count, not {creation!r}', 'data.creation')
    count = (creation or {}).get('count')
    return None if count is None else whole(count, 'data.creation.count', 0)


def is_planned(properties: PolicySpec) -> bool:
    """Return whether the policy needs a preflight: for the capacity, for hosts or for zones."""
    return properties.preflight != 'off' or properties.pins_hosts or bool(properties.spread)


def zone_of_nodes(
    properties: PolicySpec, drs_hosts: Iterable[Host], pattern: str
) -> str | Refusal | None:
    """Return the zone of nodes without a preflight; with the DRS extension, ``zone:host``.

    :param drs_hosts: the hosts with the pattern in their names.
    """
    zone = properties.availability_zone
    if not properties.is_drs_enabled:
        return zone
    host = _drs_host(drs_hosts, pattern)
    return host if isinstance(host, Refusal) else f'{zone or DEFAULT_DRS_ZONE}:{host}'


def _drs_host(hosts: Iterable[Host], pattern: str) -> str | Refusal:
    """Return the service host of the first DRS host that is enabled and up, or a rejection."""
    rejected: dict[str, list[str]] = {}
    for host in hosts:
        verdict = check_drs_host(host, pattern)
        if verdict:
            return host.host
        rejected.setdefault(verdict.code, []).append(sentence(verdict, DrsConstraint.reasons))
    counts = '; '.join(
        f'{code} on {len(lines)}: {", ".join(lines)}' for code, lines in sorted(rejected.items())
    )
    matched = sum(map(len, rejected.values()))
    why = f'{matched} host(s) match "{pattern}", but none accepts servers: {counts}'
    if not rejected:
        why = f'no hypervisor and no compute service has "{pattern}" in its name'
    return Refusal(NO_DRS_HOST, why)


def pinned(
    decision: Decision, unknown: Mapping[str, str], group_id: str, properties: PolicySpec
) -> Placement | Refusal:
    """Return the chosen host of every node, or the rejection if one has none.

    :param unknown: why parts of the cloud are unknown, as in :func:`words`.
    """
    if len(decision.placements) == decision.wanted:
        zone = properties.availability_zone or DEFAULT_DRS_ZONE
        hosts = tuple(f'{placed.zone or zone}:{placed.host}' for placed in decision.placements)
        return Placement(decision.wanted, group_id, hosts=hosts)
    why = words(decision, unknown)
    is_no_host_left = all(row.code is not None for row, _number in decision.tally)
    if properties.is_drs_enabled and not decision.placements and is_no_host_left:
        return Refusal(NO_DRS_HOST, why)
    return Refusal(why)


def words(decision: Decision, unknown: Mapping[str, str] | None = None) -> str:
    """Return the line of a decision, with why the answer is unknown, or up to three remedies."""
    line = decision.line()
    if decision.fits is None and unknown:
        return f'{line}; {"; ".join(unknown.values())}'
    if decision.remedies:
        helps = ', '.join(map(str, decision.remedies[:_MOST_REMEDIES]))
        return f'{line}; would help: {helps}'
    return line


def kept_group(data: object) -> str | None:
    """Return the id of the kept group in the data of a cluster; None if there is none."""
    record = data.get(CLUSTER_KEY) if isinstance(data, Mapping) else None
    group = record.get(KEPT) if isinstance(record, Mapping) else None
    return group if isinstance(group, str) else None


def reports(data: object) -> dict[str, dict[str, str]]:
    """Return the reports in the data of a policy, by host; keys and values are strings.

    ``{'affinity_engines': {'a': {'at': 1}}} -> {'a': {'at': '1'}}``. Malformed ones are left out.
    """
    found = data.get(REPORTS) if isinstance(data, Mapping) else None
    entries = found if isinstance(found, Mapping) else {}
    return {
        str(host): {str(key): str(value) for key, value in entry.items()}
        for host, entry in entries.items()
        if isinstance(entry, Mapping)
    }
