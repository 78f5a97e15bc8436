"""What a sandbox cloud is made of: hosts, aggregates, flavors and Nova's settings, as plain values.

Shapes::

    Blueprint(hosts=(HostSpec('cmp-1', availability_zone='az1'),), flavors=(FlavorSpec('m1.tiny'),))
    Plan.read(directory) == plan

Units: memory and ram in MB, disk in GB; a quota of -1 is "no limit".
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from senlin_affinity.core import objects
from senlin_affinity.sandbox.identities import Endpoints

#: Nova's own default list, and the optional filters that the rules of this project know.
DEFAULT_FILTERS = (
    *objects.DEFAULT_FILTERS,
    'AggregateInstanceExtraSpecsFilter',
    'SameHostFilter',
    'DifferentHostFilter',
)

#: The limits of nova.conf's [quota] that a cloud may set. The sandbox has none by default.
DEFAULT_QUOTAS: Mapping[str, int] = dict.fromkeys(
    ('instances', 'cores', 'ram', 'server_groups', 'server_group_members'), -1
)

#: The one image there is, "cirros".
IMAGE_ID = '7c5a6d0e-5a2b-4f43-8a53-9d1f6f4c2e11'

#: The zone of a host that is in no aggregate with a zone.
DEFAULT_ZONE = 'nova'


@dataclass(frozen=True)
class HostSpec:
    """One compute service with one fake hypervisor.

    ``hypervisor_hostname`` None means the name of the host. A zone other than ``nova`` becomes an
    aggregate of that name. ``inventory`` (resource class -> fields, as Placement has them) goes
    over what the hypervisor reports; a class with a total of 0 is left out.
    """

    name: str
    vcpus: int = 64
    memory_mb: int = 131072
    disk_gb: int = 2000
    hypervisor_hostname: str | None = None
    hypervisor_type: str = 'QEMU'
    availability_zone: str | None = None
    disabled: bool = False
    inventory: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class AggregateSpec:
    """One host aggregate; its zone is None for an aggregate that is no zone."""

    name: str
    hosts: tuple[str, ...] = ()
    availability_zone: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class FlavorSpec:
    """One public flavor; ``id`` None lets Nova choose a UUID."""

    name: str
    vcpus: int = 1
    ram: int = 64
    disk: int = 1
    id: str | None = None
    extra_specs: Mapping[str, str] = field(default_factory=dict)


DEFAULT_FLAVORS = (FlavorSpec('m1.tiny'),)


@dataclass(frozen=True)
class Blueprint:
    """Everything that the children need to know about the cloud they make.

    ``filters`` are the scheduler's enabled ones, ``available_filters`` classes that are not Nova's
    own; ``api_filters`` are added to the paste pipeline of Nova's API, as ``use`` takes them.
    ``nova_options`` and ``senlin_options`` are ``section -> option -> value``, written at the end
    of the configuration file. A server that asks for no zone goes into the default zone, anywhere
    with None. A maximum microversion makes a service look older; None is its own.
    """

    hosts: tuple[HostSpec, ...]
    aggregates: tuple[AggregateSpec, ...] = ()
    flavors: tuple[FlavorSpec, ...] = DEFAULT_FLAVORS
    quotas: Mapping[str, int] = field(default_factory=dict)
    filters: Sequence[str] = DEFAULT_FILTERS
    available_filters: Sequence[str] = ()
    api_filters: Sequence[str] = ()
    nova_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    senlin_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    default_availability_zone: str | None = None
    compute_max_version: str | None = None
    placement_max_version: str | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Blueprint:
        """Read what was ``dataclasses.asdict(blueprint)`` and has been JSON since."""
        values: dict[str, Any] = {
            key: tuple(item) if isinstance(item, list) else item for key, item in data.items()
        }
        values['hosts'] = tuple(HostSpec(**host) for host in data['hosts'])
        values['flavors'] = tuple(FlavorSpec(**flavor) for flavor in data['flavors'])
        values['aggregates'] = tuple(
            AggregateSpec(**{**item, 'hosts': tuple(item['hosts'])}) for item in data['aggregates']
        )
        return cls(**values)

    def all_aggregates(self) -> tuple[AggregateSpec, ...]:
        """Give the aggregates that were asked for, and those that the hosts' zones need.

        A host's zone becomes an aggregate named like the zone, unless one of the aggregates that
        were asked for already has this zone: then the host joins that one.
        """
        merged = {item.name: item for item in self.aggregates}
        by_zone = {item.availability_zone: item.name for item in self.aggregates}
        for host in self.hosts:
            zone = host.availability_zone
            if zone is None or zone == DEFAULT_ZONE:
                continue
            name = by_zone.setdefault(zone, zone)
            known = merged.get(name, AggregateSpec(name, availability_zone=zone))
            hosts = known.hosts if host.name in known.hosts else (*known.hosts, host.name)
            merged[name] = dataclasses.replace(known, hosts=hosts, availability_zone=zone)
        return tuple(merged.values())


@dataclass(frozen=True)
class Plan:
    """What the children are told, in ``plan.json``; passwords are made from the ``secret``."""

    directory: Path
    endpoints: Endpoints
    secret: str
    cache: Path
    blueprint: Blueprint

    def write(self) -> None:
        """Write the plan into the work directory, which only this user may look into."""
        text = json.dumps(dataclasses.asdict(self), default=str)
        (self.directory / 'plan.json').write_text(text, encoding='utf-8')

    @classmethod
    def read(cls, directory: Path) -> Plan:
        """Read the plan of a work directory."""
        data = json.loads((directory / 'plan.json').read_text(encoding='utf-8'))
        blueprint = Blueprint.from_dict(data['blueprint'])
        endpoints = Endpoints(**data['endpoints'])
        return cls(directory, endpoints, data['secret'], Path(data['cache']), blueprint)
