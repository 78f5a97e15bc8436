"""Convert the capacity of a cloud to metrics, and metrics to Prometheus' text format.

Example::

    families = of_capacity(found, cloud='prod') + of_snapshot(snapshot, 'prod')
    text(families)
    # HELP senlin_affinity_capacity_servers Servers of the flavor that fit in the zone.
    # TYPE senlin_affinity_capacity_servers gauge
    senlin_affinity_capacity_servers{cloud="prod",flavor="m1.large",zone="az-1"} 12

Units: numbers of servers, hosts and groups; amounts as in Placement; seconds since 1970. A number
that is not known has no sample. The zone of hosts whose zone is not known, and of pools that
several zones share, is ''. So is the cloud if it has no name; Prometheus then omits the label.

Source: Prometheus' text format 0.0.4, without timestamps.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from senlin_affinity.engine.flavor_capacity import Capacity, FlavorCapacity
from senlin_affinity.engine.parts import HOST
from senlin_affinity.engine.resilience_report import OUTCOMES, Resilience
from senlin_affinity.groups.audit import places
from senlin_affinity.model.bounds import Bounds
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import AffinityError
from senlin_affinity.model.host import Host

_PREFIX = 'senlin_affinity_'
#: The states of hosts.
_UP, _DOWN, _DISABLED = 'up', 'down', 'disabled'
_ESCAPES = str.maketrans({'\\': '\\\\', '"': '\\"', '\n': '\\n'})


@dataclass
class Family:
    """The samples of one metric: the values by the values of the labels."""

    name: str
    documentation: str
    labels: tuple[str, ...]
    samples: dict[tuple[str, ...], float] = field(default_factory=dict)
    kind: str = 'gauge'

    def add(self, value: float | None, *labels: str) -> None:
        """Add a sample, unless its value is not known."""
        if value is not None:
            self.samples[labels] = value


def _family(name: str, documentation: str, *labels: str, kind: str = 'gauge') -> Family:
    return Family(f'{_PREFIX}{name}', documentation, ('cloud', *labels), kind=kind)


def of_capacity(found: Capacity, cloud: str = '') -> list[Family]:
    """Return the metrics of the flavors, and of the amounts by resource class and zone.

    A flavor that Nova rejects has a capacity of 0 in each zone. With the capacity by host, there is
    another family with the label ``host``.
    """
    zone = ('flavor', 'zone')
    servers = _family('capacity_servers', 'Servers of the flavor that fit in the zone.', *zone)
    certain = _family(
        'capacity_certain_servers', 'Servers of the flavor that certainly fit in the zone.', *zone
    )
    hosts = _family('capacity_hosts', 'Hosts in the zone that take a server of the flavor.', *zone)
    spare = _family(
        'spare_servers',
        'Servers of the flavor that fit in the zone after the loss of its largest host.',
        *zone,
    )
    largest = _family(
        'largest_host_servers',
        'Servers of the flavor that the largest usable host of the zone holds if it is empty.',
        *zone,
    )
    first = _family(
        'runs_out_first', 'What limits the number of servers on most hosts.', 'flavor', 'limit'
    )
    rejected = _family(
        'flavor_rejected', 'Nova rejects every request for the flavor.', 'flavor', 'code'
    )
    at_most = _family('capacity_at_most', 'Fewer servers may fit, and why.', 'flavor', 'code')
    zones = sorted({part.name for each in found.flavors for part in each.zones})
    for each in found.flavors:
        name = each.flavor.name
        for part in each.zones:
            servers.add(_known(part.bounds), cloud, name, part.name)
            certain.add(part.bounds.lower, cloud, name, part.name)
            hosts.add(part.hosts, cloud, name, part.name)
            spare.add(_known(part.spare), cloud, name, part.name)
            largest.add(part.largest_host, cloud, name, part.name)
        if each.rejection is not None:
            rejected.add(1, cloud, name, each.rejection.code)
            for of_zone in zones:
                for family in (servers, certain, hosts):
                    family.add(0, cloud, name, of_zone)
        if each.runs_out_first is not None:
            first.add(1, cloud, name, each.runs_out_first)
        for caveat in each.caveats:
            at_most.add(1, cloud, name, caveat.code)
    families = [servers, certain, hosts, spare, largest, first, rejected, at_most]
    if found.by == HOST:
        families.append(_of_hosts(found.flavors, cloud))
    return [*families, *_of_amounts(found, cloud), _taken_at(found.taken_at, cloud)]


def _known(bounds: Bounds) -> int | None:
    """Return the expected number; None if there may be any number above it."""
    return None if bounds.upper is None else bounds.expected


def _of_hosts(flavors: Iterable[FlavorCapacity], cloud: str) -> Family:
    words = 'Servers of the flavor that fit on the host.'
    family = _family('host_capacity_servers', words, 'flavor', 'host')
    for each in flavors:
        for part in each.parts:
            family.add(_known(part.bounds), cloud, each.flavor.name, part.name)
    return family


def _of_amounts(found: Capacity, cloud: str) -> Iterator[Family]:
    what = {
        'capacity': 'Amount after ratio and reserve, on hosts in service.',
        'free': 'Free amount, on hosts in service.',
        'stranded': 'Part of the free amount that no flavor can use.',
    }
    for attribute, words in what.items():
        family = _family(f'resource_{attribute}', words, 'resource_class', 'zone')
        for each in found.amounts:
            family.add(getattr(each, attribute), cloud, each.resource_class, each.zone)
        yield family


def _taken_at(text: str | None, cloud: str) -> Family:
    family = _family('snapshot_timestamp_seconds', 'Time at which the snapshot was taken.')
    if text is not None:
        family.add(datetime.fromisoformat(text.replace('Z', '+00:00')).timestamp(), cloud)
    return family


def of_resilience(
    found: Iterable[Resilience], snapshot: Cloud, by: str, cloud: str = ''
) -> list[Family]:
    """Return which domains of ``by`` can be lost, and the number of hosts by zone and verdict.

    A domain has no sample if that is not certain. The hosts come from the losses by host.
    """
    domains = _family(
        'resilience', 'Whether every server of the domain fits elsewhere.', 'by', 'domain'
    )
    hosts = _family(
        'resilience_hosts', 'Hosts by the verdict about the loss of the host.', 'zone', 'verdict'
    )
    for each in found:
        if each.by == HOST:
            zones = {
                name: host.availability_zone or '' for name, host in snapshot.hosts_by_name.items()
            }
            counts = Counter((zones[loss.name], loss.verdict) for loss in each.losses)
            for zone in sorted({*zones.values()}):
                for verdict in OUTCOMES:
                    hosts.add(counts[zone, verdict], cloud, zone, verdict)
        for loss in each.losses if each.by == by else ():
            domains.add(None if loss.fits is None else int(loss.fits), cloud, each.by, loss.name)
    return [domains, hosts]


def of_snapshot(snapshot: Cloud, cloud: str = '') -> list[Family]:
    """Return the number of hosts by zone and state, and of groups, as far as they are known."""
    hosts = _family('hosts', 'Hosts by the state of their compute service.', 'zone', 'state')
    counts = Counter((host.availability_zone or '', _state(host)) for host in snapshot.hosts or ())
    for zone in {zone for zone, _state_of_host in counts}:
        for state in (_UP, _DOWN, _DISABLED):
            hosts.add(counts[zone, state], cloud, zone, state)
    groups = _family('server_groups', 'Server groups.')
    violated = _family('server_groups_violated', 'Server groups whose members violate the policy.')
    if snapshot.server_groups is not None:
        found = snapshot.server_groups
        groups.add(len(found), cloud)
        are_violated = (any(place.is_violated for place in places(each)) for each in found)
        violated.add(sum(are_violated), cloud)
    return [hosts, groups, violated]


def _state(host: Host) -> str:
    return _DISABLED if not host.enabled else _UP if host.up else _DOWN


def of_orphans(number: int, cloud: str = '') -> Family:
    """Return the number of server groups that a deleted cluster has left behind."""
    family = _family('server_groups_orphaned', 'Server groups of clusters that do not exist.')
    family.add(number, cloud)
    return family


def of_findings(counts: Mapping[str, float], cloud: str | None = None) -> Family:
    """Return the number of findings of each check of ``status``; NaN for one that failed.

    :param cloud: None leaves out the label, as ``status -f prometheus`` does.
    """
    family = _family('findings', 'Number of findings of each check.', 'check')
    if cloud is None:
        family.labels = family.labels[1:]
    for check, number in counts.items():
        family.add(number, *(() if cloud is None else (cloud,)), check)
    return family


def of_refreshes(
    cloud: str,
    *,
    up: Mapping[str, bool],
    requests: Mapping[tuple[str, str], int],
    refreshes: Mapping[str, int],
    seconds: float | None,
) -> list[Family]:
    """Return what the exporter knows of its own work for a cloud.

    :param up: by service, whether it answered the last request.
    :param requests: the number of requests by service and status.
    :param refreshes: the number of refreshes by result.
    :param seconds: the duration of the last refresh.
    """
    services = _family('up', 'Whether the service answers.', 'service')
    for service, is_up in up.items():
        services.add(int(is_up), cloud, service)
    sent = _family('requests', 'Requests to the cloud.', 'service', 'status', kind='counter')
    for (service, status), number in requests.items():
        sent.add(number, cloud, service, status)
    done = _family('refreshes', 'Refreshes of the snapshot.', 'result', kind='counter')
    for result, number in refreshes.items():
        done.add(number, cloud, result)
    duration = _family('refresh_duration_seconds', 'Duration of the last refresh.')
    duration.add(seconds, cloud)
    return [services, sent, done, duration]


def of_judgements(
    cloud: str, failures: Mapping[str, int], judged: Mapping[tuple[str, str], int]
) -> list[Family]:
    """Return what has failed in Nova, and how the engine judges this and placed servers.

    :param failures: the number of failures by cause.
    :param judged: the number of judgements by the engine's answer and by what Nova did.
    """
    words = 'Failed servers and failed actions on servers.'
    failed = _family('failures', words, 'cause', kind='counter')
    for cause, number in failures.items():
        failed.add(number, cloud, cause)
    words = "The engine's answers about requests that Nova has placed or rejected."
    cells = _family('judgements', words, 'engine', 'nova', kind='counter')
    for (engine, nova), number in judged.items():
        cells.add(number, cloud, engine, nova)
    return [failed, cells]


def merged(clouds: Iterable[Sequence[Family]]) -> list[Family]:
    """Return the families of several clouds, each name once."""
    found: dict[str, Family] = {}
    for each in (family for families in clouds for family in families):
        if each.name not in found:
            found[each.name] = Family(each.name, each.documentation, each.labels, {}, each.kind)
        found[each.name].samples.update(each.samples)
    return [*found.values()]


def text(families: Iterable[Family]) -> str:
    """Return the families with samples in Prometheus' text format."""
    return ''.join(line for each in families if each.samples for line in _lines(each))


def _lines(family: Family) -> Iterator[str]:
    name = f'{family.name}_total' if family.kind == 'counter' else family.name
    yield f'# HELP {name} {family.documentation}\n# TYPE {name} {family.kind}\n'
    for values, number in family.samples.items():
        pairs = zip(family.labels, values, strict=True)
        labels = ','.join(f'{label}="{value.translate(_ESCAPES)}"' for label, value in pairs)
        yield f'{name}{{{labels}}} {"NaN" if math.isnan(number) else repr(number)}\n'


def replace_file(path: str, content: str) -> None:
    """Write a file under a temporary name, and rename it, so that nobody reads a part of it.

    Raise AffinityError if it cannot be written.
    """
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(
            'w', dir=os.path.dirname(path) or '.', prefix='.', delete=False, encoding='utf-8'
        ) as file:
            temporary = file.name
            file.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
        raise AffinityError(f'{path} cannot be written: {error.strerror}') from error
