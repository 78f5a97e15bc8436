"""What goes into ``action.data`` before nodes are created: how many, and the data of each.

Shapes (document 003)::

    {'placement': {'count': 2, 'placements': [
        {'zone': 'nova:vsphere_drs_1', 'servergroup': 'XYZ-ABCD'},
        {'zone': 'nova:vsphere_drs_1', 'servergroup': 'XYZ-ABCD'}]}}
    {'status': 'ERROR', 'status_reason': 'No suitable vSphere host is available.',
     'reason': 'No suitable vSphere host is available. (drs.down on 1: ...)'}

Units: a count is a whole number, 0 or more; a string of digits is one, too (a receiver's).

Errors: InvalidSpec for any other count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from senlin_affinity.constraints.drs import PATTERN, DrsConstraint, check_drs_host
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.host import Host
from senlin_affinity.core.numbers import whole
from senlin_affinity.core.reasons import sentence
from senlin_affinity.policy.binding import Binding
from senlin_affinity.policy.properties import Properties
from senlin_affinity.policy.question import Question

NO_DRS_HOST = 'No suitable vSphere host is available.'
DEFAULT_DRS_ZONE = 'nova'


@dataclass(frozen=True)
class Placement:
    """Where ``count`` nodes go: all into one server group, and perhaps a zone, or a zone's host.

    ``hosts`` are a ``zone:host``, or a zone, for each node, where every node has one of its own;
    None: Nova chooses it.
    """

    count: int
    servergroup: str
    zone: str | None = None
    hosts: tuple[str | None, ...] = ()

    def entries(self) -> list[dict[str, str]]:
        """One fresh dict for each node."""
        group = {'servergroup': self.servergroup}
        zones = self.hosts or (self.zone,) * self.count
        return [dict(group) if zone is None else {'zone': zone, **group} for zone in zones]

    def data(self) -> dict[str, Any]:
        """What goes into ``action.data``."""
        return {'placement': {'count': self.count, 'placements': self.entries()}}

    def line(self) -> str:
        """One line for the log."""
        if not self.count:
            return 'places no node: the size stays'
        at_zone = f' in {self.zone}' if self.zone else ''
        hosts = ', '.join(host or 'any' for host in self.hosts)
        where = f' on {hosts}' if hosts else at_zone
        return f'places {self.count} node(s) into server group {self.servergroup}{where}'


@dataclass(frozen=True)
class Refusal:
    """No placement: ``status_reason`` for the document's readers, ``reason`` for the engine's."""

    status_reason: str
    detail: str = ''

    @property
    def reason(self) -> str:
        """The status reason, and the detail."""
        return f'{self.status_reason} ({self.detail})' if self.detail else self.status_reason

    def data(self) -> dict[str, Any]:
        """What goes into ``action.data``."""
        return {'status': 'ERROR', 'status_reason': self.status_reason, 'reason': self.reason}

    def line(self) -> str:
        """One line for the log."""
        return f'refuses: {self.reason}'


def decided_count(data: Mapping[str, Any]) -> int | None:
    """The number of nodes that another policy decided on; None if none did."""
    creation = data.get('creation')
    if creation is not None and not isinstance(creation, Mapping):
        raise InvalidSpec(f'must be a mapping with count, not {creation!r}', 'data.creation')
    count = (creation or {}).get('count')
    return None if count is None else whole(count, 'data.creation.count', 0)


def is_planned(properties: Properties) -> bool:
    """Is the preflight asked: for whether the nodes fit, for their hosts, or for their zones?"""
    return properties.preflight != 'off' or properties.pins_hosts or bool(properties.spread)


def unplanned(
    asked: Question, properties: Properties, binding: Binding, drs_hosts: Iterable[Host]
) -> Placement | Refusal:
    """Where the nodes go without a preflight: into the zone, with the DRS extension to its host.

    :param drs_hosts: those with the pattern in their names.
    """
    zone = properties.availability_zone
    if properties.is_drs_enabled:
        host = _drs_host(drs_hosts, asked.rules.value(PATTERN))
        if isinstance(host, Refusal):
            return host
        zone = f'{zone or DEFAULT_DRS_ZONE}:{host}'
    return Placement(asked.count, binding.servergroup_id, zone)


def _drs_host(hosts: Iterable[Host], pattern: str) -> str | Refusal:
    """The service host of the first DRS host that runs, or why there is none."""
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
    why = f'{matched} matched "{pattern}", none takes servers: {counts}'
    if not rejected:
        why = f'no hypervisor and no compute service has "{pattern}" in its name'
    return Refusal(NO_DRS_HOST, why)
