"""The exporter serves the last snapshot over HTTP, and nothing that a cloud does ends it."""

import contextlib
import json
import os
import shutil
import socket
import ssl
import subprocess
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.functional.http_cloud import HttpCloud
from tests.support import command
from tests.support.fake_nova import FakeHost, FakeNova
from tests.support.waiting import until
from tests.unit.docs.test_dashboard import FOLDER

LARGE = 'senlin_affinity_capacity_servers{cloud="",flavor="m1.large",zone="az-0"} '
IS_UP = 'senlin_affinity_up{cloud="",service="compute"} '
TAKEN = 'senlin_affinity_snapshot_timestamp_seconds'
SCRAPES = 100


def nova():
    made = FakeNova(hosts=tuple(FakeHost(f'cmp-{n}', zone=f'az-{n % 2}') for n in range(4)))
    made.add_flavor('m1.large', vcpus=4, ram=8192)
    return made


@contextlib.contextmanager
def exporter(environment, *options, listen='127.0.0.1:0', timeout='0.5'):
    """Run an exporter; yield its URL and its process."""
    arguments = ['exporter', '--listen', listen, '--timeout', timeout, *options]
    clean = {key: value for key, value in os.environ.items() if not key.startswith('OS_')}
    with subprocess.Popen(
        [*command.LINE, *arguments],
        env={**clean, **environment},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            line = process.stderr.readline()
            assert line.startswith('serving http'), line
            yield line.split()[-1], process
        finally:
            process.kill()


def scrape(url, context=None):
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    )
    with opener.open(url, timeout=30) as response:
        return response.read().decode()


def value(url, name):
    """Return the number of a sample; None if it has none yet."""
    lines = [line for line in scrape(url).splitlines() if line.startswith(name)]
    return float(lines[0].split()[-1]) if lines else None


def named(folder, **clouds):
    """Write a clouds.yaml with these names; return the environment that uses it."""
    found = {}
    for name, cloud in clouds.items():
        own = cloud.environment
        more = ('OS_REGION_NAME', 'NO_PROXY')
        auth = {key[3:].lower(): text for key, text in own.items() if key not in more}
        found[name] = {'region_name': own['OS_REGION_NAME'], 'auth': auth}
    path = folder / 'clouds.yaml'
    path.write_text(json.dumps({'clouds': found}))
    return {'OS_CLIENT_CONFIG_FILE': str(path), 'NO_PROXY': '127.0.0.1'}


def test_the_last_snapshot_is_served_while_the_cloud_hangs():
    """100 scrapes at once; the process is killed and started again meanwhile."""
    with HttpCloud(nova()) as cloud:
        with exporter(cloud.environment, '--interval', '0.2') as (url, process):
            until(lambda: value(url, LARGE) == 32, what='the first refresh')
            cloud.drip = '.*'
            until(lambda: value(url, IS_UP) == 0, what='the failure')
            taken = value(url, TAKEN)
            with ThreadPoolExecutor(SCRAPES) as pool:
                found = [*pool.map(scrape, [url] * SCRAPES)]
            assert all(LARGE + '32.0' in text for text in found)
            assert value(url, TAKEN) == taken
            process.kill()
            process.wait()
        address = url.split('/')[2]
        with exporter(cloud.environment, '--interval', '0.2', listen=address) as (again, _process):
            assert again == url
            with ThreadPoolExecutor(SCRAPES) as pool:
                found = [*pool.map(scrape, [url] * SCRAPES)]
            assert not any(LARGE in text for text in found)
            cloud.drip = None
            cloud.flow.set()
            until(lambda: value(url, LARGE) == 32, what='the cloud answers again')
            until(lambda: value(url, IS_UP) == 1, what='Nova is up')


def test_several_clouds_have_samples_of_the_same_metrics(tmp_path):
    with HttpCloud(nova()) as one, HttpCloud(nova()) as other:
        environment = named(tmp_path, one=one, two=other)
        options = ('--cloud', 'one', '--cloud', 'two', '--by-host', '--flavor', 'm1.*')
        with exporter(environment, *options) as (url, _process):
            words = (
                'senlin_affinity_host_capacity_servers{{cloud="{}",flavor="m1.large",host="cmp-0"}}'
            )
            for name in ('one', 'two'):
                until(lambda name=name: value(url, words.format(name)) == 16, what=name)
        done = command.run_alone('exporter', '--cloud', 'tow', **environment)
        command.check_refused(done, 'Did you mean two?', 1)


def test_two_exporters_on_one_port():
    with socket.create_server(('127.0.0.1', 0)) as taken:
        address = f'127.0.0.1:{taken.getsockname()[1]}'
        done = command.run_alone('exporter', '--listen', address, **command.NO_CLOUD)
    command.check_refused(done, f'the server cannot use {address}: Address already in use', 1)


def test_prometheus_client_is_an_extra(tmp_path):
    (tmp_path / 'prometheus_client.py').write_text('raise ImportError("not here")\n')
    done = command.run_alone('exporter', **command.NO_CLOUD, PYTHONPATH=str(tmp_path))
    words = 'prometheus_client is not installed: pip install prometheus_client'
    assert (done.returncode, done.stderr) == (1, f'error: {words}\n')


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (('--listen', '9180'), 'must be HOST:PORT, such as 127.0.0.1:9180, not '),
        (('--listen', '::1:9180'), 'must be HOST:PORT, such as 127.0.0.1:9180, not '),
        (('--interval', '0'), 'must be a number above 0, up to 86,400, not '),
        (('--tls-key', 'key.pem'), 'specify both --tls-certificate and --tls-key'),
        (('--tls-certificate', 'c.pem'), 'specify both --tls-certificate and --tls-key'),
        (('--tls-client-ca', 'ca.pem'), '--tls-client-ca needs --tls-certificate and --tls-key'),
    ],
)
def test_options_that_make_no_sense(options, message):
    command.check_refused(command.run('exporter', *options, **command.NO_CLOUD), message)


def test_a_cloud_must_be_named():
    command.check_refused(command.run('exporter'), 'name a cloud: --cloud, --os-cloud, or OS_CLOUD')


def test_a_certificate_that_does_not_exist():
    options = ('--tls-certificate', 'no.pem', '--tls-key', 'no.key', '--listen', '127.0.0.1:0')
    done = command.run('exporter', *options, **command.NO_CLOUD)
    command.check_refused(done, 'No such file or directory', 1)


def test_https(tmp_path):
    certificate, key = tmp_path / 'cert.pem', tmp_path / 'key.pem'
    subprocess.run(
        ['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out',
         certificate, '-days', '1', '-subj', '/CN=localhost', '-addext',
         'subjectAltName=IP:127.0.0.1'],
        check=True, capture_output=True,
    )  # fmt: skip
    options = ('--tls-certificate', str(certificate), '--tls-key', str(key))
    with exporter(command.NO_CLOUD, *options) as (url, _process):
        assert url.startswith('https://')
        context = ssl.create_default_context(cafile=str(certificate))
        assert 'process_resident_memory_bytes' in scrape(url, context)


@pytest.mark.long
def test_the_service_is_valid_and_hardened(tmp_path):
    """Exposure 0 is the best, 10 the worst."""
    analyze = shutil.which('systemd-analyze')
    assert analyze is not None, 'not installed: apt install systemd'
    text = (FOLDER / 'systemd/senlin-affinity-exporter.service').read_text(encoding='utf-8')
    path = tmp_path / 'exporter.service'
    path.write_text(text.replace('/opt/senlin-affinity/bin/senlin-affinity', shutil.which('env')))
    for arguments in (('verify',), ('security', '--offline=yes', '--threshold=20')):
        done = subprocess.run(
            [analyze, *arguments, path], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_capacity_writes_the_same_metrics_for_a_textfile_collector(tmp_path):
    with HttpCloud(nova()) as cloud:
        path = tmp_path / 'capacity.prom'
        done = subprocess.run(
            [*command.LINE, 'capacity', '-f', 'prometheus', '--output', path],
            env={**os.environ, **cloud.environment},
            capture_output=True,
            text=True,
            check=True,
        )
        assert (done.stdout, done.stderr) == ('', '')
        written = path.read_text()
        assert [each.name for each in tmp_path.iterdir()] == ['capacity.prom']
        with exporter(cloud.environment) as (url, _process):
            until(lambda: value(url, LARGE), what='the first refresh')
            served = scrape(url)

    def samples(text):
        lines = (line.rpartition(' ') for line in text.splitlines() if line.startswith('senlin'))
        found = {tuple(sorted(name.strip('}').replace('{', ',').split(','))): float(number)
                 for name, _, number in lines}  # fmt: skip
        return {key: number for key, number in found.items() if TAKEN not in key}

    own = samples(written)
    assert len(own) > 20
    assert own.items() <= samples(served).items()
