"""Draw the graph of the page "How much room is left?": ``make pictures``.

A sandbox fills with servers of m1.large, the exporter counts what still fits, and a real Prometheus
stores the numbers. Chromium takes the picture of the graph in the web page of Prometheus.

Needs: apt install prometheus chromium libjs-bootstrap4 libjs-eonasdan-bootstrap-datetimepicker
libjs-jquery-hotkeys libjs-moment-timezone libjs-mustache libjs-popper.js libjs-rickshaw.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
import urllib.parse
from pathlib import Path
from typing import Any

from senlin_affinity.sandbox.cloud import SandboxCloud
from tests.functional.test_exporter import exporter
from tests.functional.test_prometheus import capacity, prometheus
from tests.support.waiting import until

PICTURE = Path(__file__).parents[2] / 'doc/source/pictures/capacity.png'
HOSTS: dict[str, Any] = {
    f'cmp-{number}': {'availability_zone': zone, 'memory_mb': 65536}
    for number, zone in ((1, 'az1'), (2, 'az2'), (3, 'az2'))
}
FLAVORS = {'m1.large': {'vcpus': 4, 'ram': 8192}, 'm1.xlarge': {'vcpus': 8, 'ram': 16384}}
QUOTAS = {'instances': 100, 'cores': 1000, 'ram': 10_000_000}
QUERY = 'sum by (flavor, zone) (senlin_affinity_capacity_servers)'
SERVERS = 16
SECONDS = 60


def main() -> None:
    """Fill a cloud for a minute, and write the picture."""
    with (
        SandboxCloud(HOSTS, flavors=FLAVORS, quotas=QUOTAS) as cloud,
        tempfile.TemporaryDirectory() as folder,
    ):
        path = Path(folder) / 'clouds.yaml'
        path.write_text(cloud.clouds_yaml(), encoding='utf-8')
        environment = {'OS_CLIENT_CONFIG_FILE': str(path), 'NO_PROXY': '127.0.0.1'}
        options = ('--cloud', 'sandbox', '--interval', '0.5')
        with (
            exporter(environment, *options, timeout='30') as (metrics, _process),
            prometheus(Path(folder), metrics.split('/')[2]) as (ask, url),
        ):
            until(lambda: capacity(ask) == 24, 60, 'Prometheus has the capacity')
            _fill(cloud)
            until(lambda: capacity(ask) == 24 - SERVERS, 60, 'Prometheus has the last capacity')
            _take_picture(url, folder)


def _fill(cloud: SandboxCloud) -> None:
    """Create a server every few seconds."""
    compute = cloud.connection().compute
    ids = {flavor.name: flavor.id for flavor in compute.flavors()}
    for number in range(SERVERS):
        time.sleep(SECONDS / SERVERS)
        compute.create_server(
            name=f'large-{number}',
            flavor_id=ids['m1.large'],
            image_id=cloud.image_id,
            networks='none',
        )


def _take_picture(url: str, folder: str) -> None:
    """Open the graph of the last 90 seconds in Chromium, and write its picture."""
    query = {'g0.expr': QUERY, 'g0.tab': '0', 'g0.stacked': '0', 'g0.range_input': '90s'}
    command = [
        'chromium', '--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars',
        '--no-proxy-server', '--virtual-time-budget=20000', '--window-size=1000,900',
        f'--user-data-dir={folder}/browser', f'--screenshot={PICTURE}',
        f'{url}/graph?{urllib.parse.urlencode(query)}',
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=120)


if __name__ == '__main__':
    main()
