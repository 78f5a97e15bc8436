"""A real Prometheus scrapes the exporter, and evaluates the alerts and the dashboard's queries.

Prometheus and promtool are those of Debian 12 (apt install prometheus). Where they are missing, the
tests fail.
"""

import contextlib
import json
import random
import re
import shutil
import socket
import subprocess
import urllib.parse

import pytest
import yaml

from senlin_affinity.sandbox.cloud import SandboxCloud
from tests.functional.http_cloud import HttpCloud
from tests.functional.test_exporter import exporter, named, nova, scrape
from tests.support.waiting import until
from tests.unit.docs.test_dashboard import DASHBOARD, FOLDER, queries, rules

pytestmark = pytest.mark.long
ALERTS = FOLDER / 'prometheus/alerts.yml'
#: The variables of the dashboard, as Grafana replaces them.
VALUES = {'cloud': '.*', 'zone': '.*', 'flavor': '.*', '__rate_interval': '4s'}
#: Queries without a result in a cloud without Senlin, violated groups and orphans.
EMPTY = ('sum(senlin_affinity_server_groups_orphaned{cloud=~".*"})',)


@pytest.fixture(scope='module', autouse=True)
def _programs():
    missing = [name for name in ('prometheus', 'promtool') if shutil.which(name) is None]
    assert missing == [], 'not installed: apt install prometheus'


def promtool(*arguments, text=None):
    return subprocess.run(
        ['promtool', *map(str, arguments)], input=text, capture_output=True, text=True, check=False
    )


@contextlib.contextmanager
def prometheus(folder, target):
    """Run a Prometheus that scrapes a target every second; yield a query function and its URL."""
    config = yaml.safe_load((FOLDER / 'prometheus/scrape.yml').read_text(encoding='utf-8'))
    (job,) = config['scrape_configs']
    assert job['static_configs'] == [{'targets': ['127.0.0.1:9180']}]
    job['static_configs'] = [{'targets': [target]}]
    job['scrape_interval'] = '1s'
    config['global'] = {'evaluation_interval': '1s'}
    shutil.copy(ALERTS, folder)
    path = folder / 'prometheus.yml'
    path.write_text(yaml.safe_dump(config))
    checked = promtool('check', 'config', path)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    with socket.create_server(('127.0.0.1', 0)) as free:
        address = f'127.0.0.1:{free.getsockname()[1]}'
    arguments = [
        'prometheus', f'--config.file={path}', f'--storage.tsdb.path={folder / "data"}',
        f'--web.listen-address={address}',
    ]  # fmt: skip
    log = (folder / 'log').open('w')
    with log, subprocess.Popen(arguments, stdout=log, stderr=log) as process:

        def ask(path, **query):
            words = urllib.parse.urlencode(query)
            return json.loads(scrape(f'http://{address}/api/v1/{path}?{words}'))['data']

        def is_ready():
            assert process.poll() is None, (folder / 'log').read_text()
            with contextlib.suppress(OSError):
                return 'Ready' in scrape(f'http://{address}/-/ready')

        try:
            until(is_ready, 60, 'Prometheus is ready')
            yield ask, f'http://{address}'
        finally:
            process.kill()


def replaced(query):
    """Return a query as Grafana sends it."""
    return re.sub(r'\$(\w+)', lambda found: VALUES[found[1]], query)


def results(ask, query):
    return ask('query', query=query)['result']


def capacity(ask, flavor='m1.large'):
    found = results(ask, f'sum(senlin_affinity_capacity_servers{{flavor="{flavor}"}})')
    return float(found[0]['value'][1]) if found else None


def test_prometheus_stores_evaluates_and_alerts(tmp_path):
    cloud = HttpCloud(nova())
    environment = named(tmp_path, lab=cloud)
    options = '--cloud', 'lab', '--interval', '0.5', '--resilience'
    with cloud, exporter(environment, *options) as (url, _process):
        until(lambda: 'senlin_affinity_capacity_servers' in scrape(url), what='the first refresh')
        checked = promtool('check', 'metrics', text=scrape(url))
        assert (checked.returncode, checked.stdout, checked.stderr) == (0, '', '')
        with prometheus(tmp_path, url.split('/')[2]) as (ask, _url):
            until(lambda: capacity(ask) == 64, what='the first scrape')
            # A third scrape, for rates and forecasts.
            until(lambda: len(
                results(ask, 'senlin_affinity_up{service="compute"}[1m]')[0]['values']) > 4
            )  # fmt: skip
            empty = [query for query in map(replaced, queries()) if not results(ask, query)]
            assert empty == [*EMPTY]
            for variable in DASHBOARD['templating']['list'][1:]:
                assert ask(f'label/{variable["name"]}/values')
            assert firing(ask) == set()
            cloud.nova.hosts = [
                each if each.zone == 'az-1' else type(each)(each.host, zone='az-0', state='down')
                for each in cloud.nova.hosts
            ]
            until(lambda: capacity(ask) == 32, what='the loss of a zone')
            until(lambda: ('FlavorDoesNotFit', 'az-0', 'm1.large') in firing(ask), what='the alert')
            states = {rule['name']: rule['health'] for rule in rules_of(ask)}
            assert states == {rule['alert']: 'ok' for rule in rules()}


HOSTS = {
    'cmp-1': {'availability_zone': 'az-1'},
    'cmp-2': {'availability_zone': 'az-2'},
    'cmp-3': {'availability_zone': 'az-2'},
}
FLAVORS = {'m1.tiny': {'vcpus': 1, 'ram': 512}, 'm1.large': {'vcpus': 4, 'ram': 8192}}
BATCHES, CHANGES = 10, 5


def left(cloud):
    """Return the number of servers of each flavor that fit, from Placement's own usages."""
    connection = cloud.connection()
    services = connection.compute.services(binary='nova-compute')
    usable = {each.host for each in services if each.status == 'enabled'}
    numbers = dict.fromkeys(FLAVORS, 0)
    for provider in connection.placement.resource_providers():
        if provider.name not in usable:
            continue
        path = f'/resource_providers/{provider.id}'
        used = connection.placement.get(f'{path}/usages').json()['usages']
        inventories = connection.placement.get(f'{path}/inventories').json()['inventories']
        free = {
            name: int((has['total'] - has['reserved']) * has['allocation_ratio']) - used[name]
            for name, has in inventories.items()
        }
        for flavor, amounts in FLAVORS.items():
            fits = (free['VCPU'] // amounts['vcpus'], free['MEMORY_MB'] // amounts['ram'])
            numbers[flavor] += max(0, min(fits))
    return numbers


@pytest.mark.nightly
def test_a_real_cloud_is_followed(tmp_path):
    """50 random changes in ten batches; Prometheus stores what Placement has after each one."""
    quotas = {'instances': 500, 'cores': 500, 'ram': 10_000_000}
    rng = random.Random(47)
    with contextlib.ExitStack() as stack:
        cloud = stack.enter_context(SandboxCloud(HOSTS, flavors=FLAVORS, quotas=quotas))
        path = tmp_path / 'clouds.yaml'
        path.write_text(cloud.clouds_yaml())
        environment = {'OS_CLIENT_CONFIG_FILE': str(path), 'NO_PROXY': '127.0.0.1'}
        options = ('--cloud', 'sandbox', '--interval', '0.5')
        url, _process = stack.enter_context(exporter(environment, *options, timeout='30'))
        ask, _url = stack.enter_context(prometheus(tmp_path, url.split('/')[2]))
        compute = cloud.connection().compute
        ids = {each.name: each.id for each in compute.flavors()}
        servers, disabled = [], set()
        for _batch in range(BATCHES):
            for _change in range(CHANGES):
                kind = rng.choice(('boot', 'boot', 'boot', 'delete', 'service'))
                if kind == 'service':
                    host = rng.choice(['cmp-2', 'cmp-3'])
                    (service,) = compute.services(binary='nova-compute', host=host)
                    (compute.enable_service if host in disabled else compute.disable_service)(
                        service, host, 'nova-compute'
                    )
                    disabled ^= {host}
                elif kind == 'delete' and servers:
                    gone = servers.pop(rng.randrange(len(servers)))
                    compute.delete_server(gone)
                    compute.wait_for_delete(gone, wait=120)
                else:
                    flavor = rng.choice([*FLAVORS])
                    made = compute.create_server(
                        name=flavor, flavor_id=ids[flavor], image_id=cloud.image_id, networks='none'
                    )
                    until(
                        lambda made=made: compute.get_server(made.id).status in ('ACTIVE', 'ERROR'),
                        60,
                    )
                    servers.append(made)
            wanted = left(cloud)
            until(
                lambda wanted=wanted: {each: capacity(ask, each) for each in FLAVORS} == wanted,
                120,
                f'Prometheus has {wanted}',
            )


def rules_of(ask):
    return [rule for group in ask('rules')['groups'] for rule in group['rules']]


def firing(ask):
    """Return the alerts that fire or will, each with its zone and flavor."""
    labels = [each['labels'] for each in ask('alerts')['alerts']]
    return {(each['alertname'], each.get('zone'), each.get('flavor')) for each in labels}


def test_the_rules_are_valid():
    checked = promtool('check', 'rules', ALERTS)
    assert (checked.returncode, checked.stderr) == (0, '')
    assert f'SUCCESS: {len(rules())} rules found' in checked.stdout


CAPACITY, SPARE = 'senlin_affinity_capacity_servers', 'senlin_affinity_spare_servers'
LARGEST = 'senlin_affinity_largest_host_servers'
LOSABLE = 'senlin_affinity_resilience_hosts{cloud="c",zone="z",verdict="%s"}'
IN_ZONE = '{cloud="c",flavor="f",zone="z"}'
OTHER = '{cloud="c",flavor="g",zone="z"}'
ZONE, FLAVOR = {'cloud': 'c', 'zone': 'z'}, {'cloud': 'c', 'zone': 'z', 'flavor': 'f'}


@pytest.mark.parametrize(
    ('alert', 'series', 'expected'),
    [
        ('FlavorDoesNotFit', {CAPACITY + IN_ZONE: '5 5 0x60'}, FLAVOR),
        ('FlavorDoesNotFit', {CAPACITY + IN_ZONE: '0x62'}, None),
        ('FlavorDoesNotFit', {CAPACITY + IN_ZONE: '5 5 1x60'}, None),
        ('ZoneCannotLoseAHost', {SPARE + IN_ZONE: '0x62', LARGEST + IN_ZONE: '4x62'}, ZONE),
        ('ZoneCannotLoseAHost', {SPARE + IN_ZONE: '0x62', LARGEST + IN_ZONE: '0x62'}, None),
        (
            'ZoneCannotLoseAHost',
            {
                SPARE + IN_ZONE: '0x62',
                LARGEST + IN_ZONE: '4x62',
                SPARE + OTHER: '2x62',
                LARGEST + OTHER: '4x62',
            },
            None,
        ),
        ('ZoneCannotLoseAHost', {LOSABLE % 'cannot': '1x62'}, ZONE),
        # What the servers need counts, not what the largest host could hold.
        (
            'ZoneCannotLoseAHost',
            {
                SPARE + IN_ZONE: '0x62',
                LARGEST + IN_ZONE: '4x62',
                LOSABLE % 'cannot': '0x62',
                LOSABLE % 'any_host': '3x62',
            },
            None,
        ),
        ('FlavorRunsOut', {CAPACITY + IN_ZONE: '1000-1x120'}, FLAVOR),
        ('FlavorRunsOut', {CAPACITY + IN_ZONE: '1000x120'}, None),
        (
            'ServerGroupViolated',
            {'senlin_affinity_server_groups_violated{cloud="c"}': '2x120'},
            {'cloud': 'c'},
        ),
        (
            'CloudDoesNotAnswer',
            {'senlin_affinity_up{cloud="c",service="compute"}': '1 0x60'},
            {'cloud': 'c', 'service': 'compute'},
        ),
        (
            'CapacityIsOutdated',
            {'senlin_affinity_snapshot_timestamp_seconds{cloud="c"}': '0x120'},
            {'cloud': 'c'},
        ),
    ],
)
def test_an_alert_fires_only_for_its_reason(tmp_path, alert, series, expected):
    """promtool evaluates the rule on samples of one a minute."""
    rule = next(each for each in rules() if each['alert'] == alert)
    at = '119m' if any('x120' in values for values in series.values()) else '40m'
    labels = None if expected is None else {**expected, **rule['labels']}
    wanted = [] if labels is None else [{'exp_labels': labels}]
    (tmp_path / 'rules.yml').write_text(
        yaml.safe_dump({'groups': [{'name': 'one', 'rules': [{**rule, 'annotations': {}}]}]})
    )
    test = {
        'rule_files': ['rules.yml'],
        'evaluation_interval': '1m',
        'tests': [
            {
                'interval': '1m',
                'input_series': [
                    {'series': name, 'values': values} for name, values in series.items()
                ],
                'alert_rule_test': [{'eval_time': at, 'alertname': alert, 'exp_alerts': wanted}],
            }
        ],
    }
    path = tmp_path / 'test.yml'
    path.write_text(yaml.safe_dump(test))
    checked = promtool('test', 'rules', path)
    assert checked.returncode == 0, checked.stdout + checked.stderr
