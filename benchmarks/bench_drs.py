"""Find the DRS host among 10,000 hypervisors, and compare with two simpler ways.

The compared ways are all pages as raw JSON, and all pages as objects of openstacksdk. One local
server answers all of them in one run, so that the ratios do not depend on the machine's load.

Run: make bench. Prints the CPU time, the requests and the bytes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from openstack.connection import Connection

from benchmarks.goals import Goal, report
from senlin_affinity.cloud import clients
from senlin_affinity.cloud.connection import ports
from tests.functional.http_cloud import HttpCloud
from tests.support.fake_nova import FakeHost, FakeNova

HYPERVISORS = 10_000


def two_requests(connection: Connection) -> str:
    (host,) = ports(clients.of(connection)).inventory.hosts_named_like('drs')
    return host.host


def all_pages_raw(connection: Connection) -> str:
    url, found = '/os-hypervisors/detail', []
    while url:
        body = connection.compute.get(url, microversion='2.53').json()
        found += [
            item['service']['host']
            for item in body['hypervisors']
            if 'drs' in item['service']['host']
        ]
        links = [link['href'] for link in body.get('hypervisors_links', [])]
        url = links[0] if links else None
    return found[0]


def all_pages_as_objects(connection: Connection) -> str:
    hypervisors = connection.compute.hypervisors(details=True)
    return next(
        item.service_details['host']
        for item in hypervisors
        if 'drs' in item.service_details['host']
    )


def measure(cloud: HttpCloud, find: Callable[[Connection], str]) -> tuple[float, int, int]:
    """Return CPU seconds (including the server's), requests and bytes."""
    connection = cloud.connection()
    connection.compute.get('/limits')  # token and discovery
    cloud.nova.asked.clear()
    cloud.bytes_sent = 0
    start = time.process_time()
    assert find(connection) == 'vsphere-drs-1'
    return time.process_time() - start, len(cloud.nova.asked), cloud.bytes_sent


def main() -> int:
    hosts = [FakeHost(f'cmp-{number}') for number in range(HYPERVISORS - 1)]
    hosts.append(FakeHost('vsphere-drs-1', 'domain-c7.b52f9a5e'))
    print(f'the DRS host is the last of {HYPERVISORS:,} hypervisors')
    with HttpCloud(FakeNova(hosts=tuple(hosts))) as cloud:
        cloud.nova.url = f'{cloud.url}/compute/v2.1'
        results = {
            find.__name__: measure(cloud, find)
            for find in (two_requests, all_pages_raw, all_pages_as_objects)
        }
    for name, (seconds, requests, size) in results.items():
        print(f'{name:22} {seconds * 1000:8.1f} ms  {requests:3} requests  {size / 1000:10,.0f} kB')
    ours, raw = (results[name] for name in ('two_requests', 'all_pages_raw'))
    return report(
        [
            Goal(f'find the DRS host among {HYPERVISORS:,}: requests', ours[1], 2),
            Goal(f'find the DRS host among {HYPERVISORS:,}: kB', ours[2] / 1000, 2_000),
            Goal(
                f'find the DRS host among {HYPERVISORS:,}: times faster than raw pages',
                raw[0] / ours[0],
                10,
                is_least=True,
            ),
        ]
    )


if __name__ == '__main__':
    sys.exit(main())
