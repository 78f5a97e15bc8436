"""Say for each host and rack of 1,800 hosts with 48,000 servers whether it can be lost.

Servers have 40 flavors, from 1 VCPU and 2 GB to 64 VCPU and 256 GB, and 300 projects. A third are
pinned to their zone, a sixth are in 2,000 anti-affinity groups, and 0.2 % in affinity groups.
Memory is used to 60 % (``roomy``) or 85 % (``full``) on average; it is what runs out. Each round
loads the snapshot again, which is not counted. The figures are CPU seconds on one core.

Run: make bench. The exit status is 1 if a goal is missed without a reason.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.bench_planner import spent
from benchmarks.goals import Goal, report
from senlin_affinity import api
from senlin_affinity.cloud import snapshot_file
from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.server import Server
from senlin_affinity.model.server_group import AFFINITY, ANTI_AFFINITY, Member, ServerGroup

HOSTS, SERVERS, RACKS, PROJECTS = 1_800, 48_000, 60, 300
ZONES = ('az-1', 'az-2', 'az-3')
GROUPS, AFFINE = 2_000, 50
SECONDS = 10
ROUNDS = 2
#: The share of the memory that is used, on average.
USAGES = {'roomy': 0.6, 'full': 0.85}
#: What is asked of each cloud.
DOMAINS = {'roomy': ('host', 'rack'), 'full': ('host',)}
#: The reason for a missed goal; the goal is that of losing each host.
BY_RACK = 'each of 60 losses has 800 servers, of which most are placed one by one'
SIZES = (1, 2, 2, 4, 4, 4, 8, 8, 16, 64)


def cloud(usage: float) -> Cloud:
    """Return hosts that are used to this share on average, with their servers."""
    dice = random.Random(HOSTS)
    flavors = [
        Flavor(f'f{at}', f'flavor-{at}', size, 1_024 * size * (1 + at // len(SIZES)), 10 + at)
        for at, size in enumerate(SIZES * 4)
    ]
    weights = [1 / each.vcpus for each in flavors]
    servers: dict[str, list[Server]] = {f'cmp-{at}': [] for at in range(HOSTS)}
    members: dict[str, list[Member]] = {}
    for number in range(SERVERS):
        at = dice.randrange(HOSTS)
        name, zone = f'cmp-{at}', ZONES[at % len(ZONES)]
        (flavor,) = dice.choices(flavors, weights)
        group = None
        if dice.random() < 1 / 6:
            group = f'g{dice.randrange(GROUPS)}'
        elif dice.random() < 0.002:
            group = f'a{dice.randrange(AFFINE)}'
        own = members.setdefault(group or '', [])
        places = {each.host for each in own}
        if group is not None and (places - {name} if group[0] == 'a' else name in places):
            group = None
        server = Server(
            f'{number:08x}-1da2-4437-a48a-000000000000',
            f'server-{number}',
            dice.choice(('ACTIVE', 'ACTIVE', 'ACTIVE', 'SHUTOFF')),
            host=name,
            hypervisor_hostname=name,
            project_id=f'project-{dice.randrange(PROJECTS)}',
            user_id=f'user-{dice.randrange(PROJECTS)}',
            flavor=flavor,
            availability_zone=zone,
            pinned_zone=zone if dice.random() < 1 / 3 else None,
            server_group=group,
            image_properties={'os_distro': 'debian'} if number % 2 else {},
        )
        servers[name].append(server)
        if group is not None:
            own.append(Member(server.id, name))
    memory = sum(each.flavor.ram for own in servers.values() for each in own if each.flavor)
    size = int(memory / HOSTS / usage)
    zones = {
        zone: Aggregate(f'7bbcc3c4-1da2-4437-a48a-{at:012x}', zone, zone)
        for at, zone in enumerate(ZONES)
    }
    racks = [
        Aggregate(f'8bbcc3c4-1da2-4437-a48a-{at:012x}', f'rack-{at}', metadata={'rack': f'r{at}'})
        for at in range(RACKS)
    ]

    def host(at: int) -> Host:
        own = [each.flavor for each in servers[f'cmp-{at}'] if each.flavor is not None]
        used = {
            'VCPU': sum(each.vcpus for each in own),
            'MEMORY_MB': sum(each.ram for each in own),
            'DISK_GB': sum(each.disk for each in own),
        }
        total = {'VCPU': 1_024, 'MEMORY_MB': max(size, used['MEMORY_MB']), 'DISK_GB': 8_000}
        zone = ZONES[at % len(ZONES)]
        return Host(
            f'cmp-{at}',
            f'cmp-{at}',
            'QEMU',
            zone,
            aggregates=frozenset((zones[zone].uuid, racks[at % RACKS].uuid)),
            resources={name: Resource(total[name], used[name]) for name in total},
            servers=len(own),
        )

    groups = (
        ServerGroup(name, name, AFFINITY if name[0] == 'a' else ANTI_AFFINITY, {}, (*own,))
        for name, own in members.items()
        if name
    )
    return Cloud(
        hosts=tuple(host(at) for at in range(HOSTS)),
        aggregates=(*zones.values(), *racks),
        flavors=(*flavors,),
        server_groups=(*groups,),
        soft_deleted=(),
        servers_by_host={name: (*own,) for name, own in servers.items()},
    )


def goals() -> Iterator[Goal]:
    for kind, usage in USAGES.items():
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, 'cloud.json')
            snapshot_file.save(cloud(usage), path)
            for by in DOMAINS[kind]:
                taken = []
                for _ in range(ROUNDS):
                    view = api.load(path)
                    taken.append(spent(partial(api.resilience, view, by)))
                    del view
                name = f'{HOSTS:,} hosts, {SERVERS:,} servers, {kind}: resilience by {by} (s)'
                yield Goal(name, min(taken), SECONDS, BY_RACK if by == 'rack' else None)


def main() -> int:
    print(f'{HOSTS:,} hosts, {SERVERS:,} servers; CPU seconds')
    return report(goals())


if __name__ == '__main__':
    sys.exit(main())
