"""Define the content of a sandbox cloud: hosts, aggregates, flavors and options of its services.

Units: memory and ram are in MB, disk is in GB; a quota of -1 is unlimited.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from senlin_affinity.model import request
from senlin_affinity.sandbox.identities import ADMIN, Endpoints

#: Nova's default filters, and optional ones that constraints model.
DEFAULT_FILTERS = (
    *request.DEFAULT_FILTERS,
    'AggregateInstanceExtraSpecsFilter',
    'SameHostFilter',
    'DifferentHostFilter',
)

#: The limits of nova.conf's [quota] that a cloud may set.
DEFAULT_QUOTAS: Mapping[str, int] = dict.fromkeys(
    ('instances', 'cores', 'ram', 'server_groups', 'server_group_members'), -1
)

#: The operator credentials of the policy.
OPERATOR: Mapping[str, Any] = {'senlin_affinity_cloud': {'auth_section': 'cloud_eyes'}}

#: The image "cirros".
IMAGE_ID = '7c5a6d0e-5a2b-4f43-8a53-9d1f6f4c2e11'
#: The attributes of "cirros". Nova treats any other attribute of an image as a property.
CIRROS: Mapping[str, Any] = {
    'id': IMAGE_ID,
    'name': 'cirros',
    'status': 'active',
    'visibility': 'public',
    'protected': False,
    'os_hidden': False,
    'size': 1,
    'min_disk': 0,
    'min_ram': 0,
    'disk_format': 'raw',
    'container_format': 'bare',
    'owner': ADMIN.project.id,
    **dict.fromkeys(('virtual_size', 'checksum', 'os_hash_algo', 'os_hash_value')),
    'tags': [],
    'created_at': '2020-01-01T00:00:00Z',
    'updated_at': '2020-01-01T00:00:00Z',
    'file': f'/v2/images/{IMAGE_ID}/file',
    'self': f'/v2/images/{IMAGE_ID}',
    'schema': '/v2/schemas/image',
}

DEFAULT_ZONE = 'nova'


@dataclass(frozen=True)
class HostSpec:
    """A compute service with one fake hypervisor.

    ``hypervisor_hostname`` defaults to the name of the host. A zone other than ``nova`` becomes an
    aggregate of that name. ``inventory`` (resource class -> Placement's fields) overrides the
    hypervisor's inventory; a class with a total of 0 is omitted.
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
    """A host aggregate, perhaps with a zone."""

    name: str
    hosts: tuple[str, ...] = ()
    availability_zone: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class FlavorSpec:
    """A public flavor; without an ``id``, Nova chooses one."""

    name: str
    vcpus: int = 1
    ram: int = 64
    disk: int = 1
    id: str | None = None
    extra_specs: Mapping[str, str] = field(default_factory=dict)


DEFAULT_FLAVORS = (FlavorSpec('m1.tiny'),)


@dataclass(frozen=True)
class ImageSpec:
    """A public image; the name ``cirros`` changes the image that every sandbox has."""

    name: str
    min_disk: int = 0
    min_ram: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Blueprint:
    """The content of a sandbox cloud.

    ``filters`` are the scheduler's enabled filters, and ``available_filters`` classes from outside
    Nova. ``api_filters`` are added to the paste pipeline of Nova's API, in the form of paste's
    ``use``. ``nova_options`` and ``senlin_options`` are ``section -> option -> value``, and
    override the sandbox's own. A server that requests no zone goes into the default zone, or into
    any if that is None. A maximum microversion makes a service appear older.
    """

    hosts: tuple[HostSpec, ...]
    aggregates: tuple[AggregateSpec, ...] = ()
    flavors: tuple[FlavorSpec, ...] = DEFAULT_FLAVORS
    images: tuple[ImageSpec, ...] = ()
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
        """Return the blueprint of a ``dataclasses.asdict``, also from JSON."""
        values: dict[str, Any] = {
            key: tuple(item) if isinstance(item, list) else item for key, item in data.items()
        }
        values['hosts'] = tuple(HostSpec(**host) for host in data['hosts'])
        values['flavors'] = tuple(FlavorSpec(**flavor) for flavor in data['flavors'])
        values['images'] = tuple(ImageSpec(**image) for image in data['images'])
        values['aggregates'] = tuple(
            AggregateSpec(**{**item, 'hosts': tuple(item['hosts'])}) for item in data['aggregates']
        )
        return cls(**values)

    def all_aggregates(self) -> tuple[AggregateSpec, ...]:
        """Return the given aggregates, and those that the zones of hosts need.

        A host joins a given aggregate with its zone, or else a new one of that name.
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
class RunPlan:
    """The input of the child processes, in ``plan.json``; passwords derive from the ``secret``."""

    directory: Path
    endpoints: Endpoints
    secret: str
    cache: Path
    blueprint: Blueprint

    def write(self) -> None:
        """Write the plan into the work directory."""
        text = json.dumps(dataclasses.asdict(self), default=str)
        (self.directory / 'plan.json').write_text(text, encoding='utf-8')

    @classmethod
    def read(cls, directory: Path) -> RunPlan:
        """Read the plan of a work directory."""
        data = json.loads((directory / 'plan.json').read_text(encoding='utf-8'))
        blueprint = Blueprint.from_dict(data['blueprint'])
        endpoints = Endpoints(**data['endpoints'])
        return cls(directory, endpoints, data['secret'], Path(data['cache']), blueprint)
