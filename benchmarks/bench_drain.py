"""Plan the drain of a host with 40 servers, in a cloud of 10,000 hosts and 100,000 servers.

Each round loads the snapshot again, so that nothing is cached, and plans one drain; loading is not
counted. The servers have 40 flavors, half of them a pinned zone, and a third of them one of eight
anti-affinity groups. In further drains, no host has a trait that they require (all are stuck, with
remedies), or only a
small host may take them (some are left, so several orders are tried). The peak
memory is that of a whole process, which also loads the snapshot.

Run: make bench. The exit status is 1 if a goal is missed without a reason.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.bench_planner import HOSTS, make, spent
from benchmarks.goals import Goal, report
from senlin_affinity import api
from senlin_affinity.cloud import snapshot_file
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.server import Server
from senlin_affinity.model.server_group import ANTI_AFFINITY, Member, ServerGroup
from tests.support.values import replace

SERVERS, DRAINED, GROUPS = 100_000, 40, 8
ROUNDS = 5
SECONDS, MEMORY = 1, 1_024
HOST, STUCK = 'cmp-0', 'cmp-1'
TARGETS = ('cmp-2',)


def cloud() -> Cloud:
    """Return the hosts with their servers, of which ``HOST`` and ``STUCK`` have 40 each."""
    dice, found = random.Random(HOSTS), make(HOSTS, is_random=True)
    hosts = [*(found.hosts or ())]
    for number in (0, 1, 2):
        hosts[number] = hosts[number].but(enabled=True, up=True, availability_zone='az-1')
    small = {'VCPU': Resource(64, 0), 'MEMORY_MB': Resource(64_000, 0), 'DISK_GB': Resource(200, 0)}
    hosts[2] = hosts[2].but(resources=small)
    flavors = [
        Flavor(f'f{each}', f'flavor-{each}', 1 + each % 4, 512 * (1 + each % 10), each % 9 + 1)
        for each in range(DRAINED)
    ]
    licensed = [
        replace(each, extra_specs={'trait:CUSTOM_LICENSED': 'required'}) for each in flavors
    ]

    def servers(host: Host, kinds: Sequence[Flavor], number: int) -> tuple[Server, ...]:
        return tuple(
            Server(
                f'{host.host[4:]:0>8}-{each:04}-4437-a48a-000000000000',
                f'server-{each}-of-{host.host}',
                dice.choice(('ACTIVE', 'ACTIVE', 'SHUTOFF')),
                host=host.host,
                hypervisor_hostname=host.hypervisor_hostname,
                project_id=f'project-{each % 50}',
                user_id=f'user-{each % 50}',
                flavor=kinds[each % len(kinds)],
                availability_zone=host.availability_zone,
                pinned_zone=host.availability_zone if each % 2 else None,
                server_group=f'g{each % GROUPS}' if each % 3 == 0 else None,
                image_properties={'hw_disk_bus': 'virtio', 'os_distro': 'debian'},
            )
            for each in range(number)
        )

    each, by_host = SERVERS // HOSTS, dict[str, tuple[Server, ...]]()
    for host in hosts:
        number = DRAINED if host.host in (HOST, STUCK) else each
        by_host[host.host] = servers(host, licensed if host.host == STUCK else flavors, number)
    members: dict[str, list[Member]] = {f'g{number}': [] for number in range(GROUPS)}
    for server in by_host[HOST]:
        if server.server_group is not None:
            members[server.server_group].append(Member(server.id, HOST))
    groups = (
        ServerGroup(name, name, ANTI_AFFINITY, {'max_server_per_host': 8}, (*own,))
        for name, own in members.items()
    )
    return replace(
        found, hosts=tuple(hosts), server_groups=(*groups,), servers_by_host=by_host, quotas=None
    )


def peak(path: Path) -> float:
    """Return the MiB of a process that loads a snapshot and plans a drain."""
    command = [sys.executable, '-m', 'benchmarks.bench_drain', str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def be_a_process(path: str) -> None:
    """Run in the process that ``peak`` measures."""
    api.drain([HOST], api.load(path))
    status = Path('/proc/self/status').read_text(encoding='ascii')
    print(int(status.partition('VmHWM:')[2].split()[0]) / 1024)


def plan(view: Cloud, host: str, targets: Sequence[str] | None, line: str) -> None:
    """Plan a drain, and check its line."""
    found = api.drain([host], view, targets=targets).line()
    assert line in found, found


def goals() -> Iterator[Goal]:
    name = f'{HOSTS:,} hosts, {SERVERS:,} servers: drain a host with {DRAINED} servers'
    drains = {
        name: (HOST, None, '40 of 40 servers move'),
        f'{name}, all stuck': (STUCK, None, '40 are stuck'),
        f'{name} to a small host': (HOST, TARGETS, 'no target was found'),
    }
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, 'cloud.json')
        snapshot_file.save(cloud(), path)
        for title, drain in drains.items():
            taken = []
            for _ in range(ROUNDS):
                view = api.load(path)
                taken.append(spent(partial(plan, view, *drain)))
                del view
            yield Goal(f'{title} (s)', min(taken), SECONDS)
        yield Goal(f'{name}: peak (MiB)', peak(path), MEMORY)


def main() -> int:
    if len(sys.argv) == 2:
        be_a_process(sys.argv[1])
        return 0
    print(f'{HOSTS:,} hosts, {SERVERS:,} servers; CPU seconds')
    return report(goals())


if __name__ == '__main__':
    sys.exit(main())
