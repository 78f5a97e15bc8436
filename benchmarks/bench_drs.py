"""Finding the DRS host among 10,000 hypervisors, against the ways that suggest themselves.

One local server answers all of them in one run, so the ratios are comparable though the machine is
noisy: the two requests of this project; all pages as raw JSON; all pages as openstacksdk's objects.

Run: make bench. Prints the minimum of the rounds, the requests, the bytes, and the ratio to ours.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

from openstack.connection import Connection

from senlin_affinity.cloud import eyes
from senlin_affinity.cloud.connection import ports
from tests.functional.http_cloud import HttpCloud
from tests.support.fake_nova import FakeHost, FakeNova

HYPERVISORS = 10_000
ROUNDS = 3


def two_requests(connection: Connection) -> str:
    (host,) = ports(eyes.of(connection)).inventory.hosts_named_like('drs')
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


def measure(cloud: HttpCloud, find: Callable[[Connection], str]) -> tuple[float, int, int, float]:
    """Seconds (the least of the rounds), requests, bytes, peak MiB of Python's own memory."""
    connection = cloud.connection()
    find(connection)  # token and discovery
    cloud.nova.asked.clear()
    cloud.bytes_sent = 0
    assert find(connection) == 'vsphere-drs-1'
    requests, size = len(cloud.nova.asked), cloud.bytes_sent
    tracemalloc.start()
    find(connection)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        find(connection)
        seconds.append(time.perf_counter() - start)
    return min(seconds), requests, size, peak


def main() -> None:
    hosts = [FakeHost(f'cmp-{number}') for number in range(HYPERVISORS - 1)]
    hosts.append(FakeHost('vsphere-drs-1', 'domain-c7.b52f9a5e'))
    print(f'the DRS host is the last of {HYPERVISORS:,} hypervisors')
    with HttpCloud(FakeNova(hosts=tuple(hosts))) as cloud:
        cloud.nova.url = f'{cloud.url}/compute/v2.1'
        results = {
            find.__name__: measure(cloud, find)
            for find in (two_requests, all_pages_raw, all_pages_as_objects)
        }
    ours = results['two_requests'][0]
    for name, (seconds, requests, size, peak) in results.items():
        print(
            f'{name:22} {seconds / ours:6.2f} x  {seconds * 1000:8.1f} ms  '
            f'{requests:3} requests  {size / 1000:10,.0f} kB  peak {peak:6.1f} MiB'
        )


if __name__ == '__main__':
    main()
