"""The command ``failures``: its options, its sentences and JSON."""

import argparse
import datetime
import json

import pytest

from senlin_affinity.cli.failures import _since
from senlin_affinity.cloud import connection
from tests.support import command
from tests.unit.cloud.test_failures import LARGE, Clouds, failed, mixed, moved


def run(monkeypatch, cloud, *options):
    monkeypatch.setattr(connection, 'connect', lambda _cloud, _timeout: cloud.edge.connection())
    return command.run(
        '--os-cloud', 'x', 'failures', '--since', '2026-11-24T02:00', *options, COLUMNS='300'
    )


@pytest.mark.parametrize(
    ('text', 'minutes'), [('30m', 30), ('12h', 720), ('1d', 1440), ('2w', 20160)]
)
def test_a_period_before_now(text, minutes):
    found = datetime.datetime.fromisoformat(_since(text).replace('Z', '+00:00'))
    age = datetime.datetime.now(datetime.timezone.utc) - found
    assert 0 <= age.total_seconds() - minutes * 60 < 60


@pytest.mark.parametrize(
    'text', ['2026-11-24T09:00', '2026-11-24T09:00:00Z', '2026-11-24T10:00:00+01:00']
)
def test_a_time_is_in_utc(text):
    assert _since(text) == '2026-11-24T09:00:00Z'


@pytest.mark.parametrize('text', ['1y', '-1d', '99999d', 'yesterday', '1d2h'])
def test_another_text_is_an_error(text):
    with pytest.raises(argparse.ArgumentTypeError, match='must be such as 12h'):
        _since(text)


def test_the_sentences_of_200_failures(monkeypatch):
    with Clouds(*mixed()) as cloud:
        done = run(monkeypatch, cloud)
        assert cloud.requests <= 210
    assert (done.returncode, done.stderr) == (0, '')
    first, second, rest, unshelve = done.stdout.splitlines()
    assert first.startswith('60 resizes: no host is large enough (at most ')
    assert second.startswith(
        '40 servers: Placement answers 400 for flavor tiny: trait CUSTOM_B does not exist ('
    )
    assert rest == '100 older failures are not explained.'
    assert unshelve.startswith('A failed unshelve leaves no record')


def test_the_keys_of_json(monkeypatch):
    with Clouds([failed(1, flavor=LARGE)], [moved(2)]) as cloud:
        done = run(monkeypatch, cloud, '-f', 'json')
    said = json.loads(done.stdout)
    (group,) = said.pop('groups')
    (unshelve,) = said.pop('not_listed')
    assert said == {'since': '2026-11-24T02:00:00Z', 'number': 2, 'not_explained': 0}
    assert group['actions'] == {'resize': 1, 'create': 1}
    assert 'unshelve' in unshelve


def test_the_format_value_has_sentences(monkeypatch):
    with Clouds([failed(1, flavor=LARGE)], [moved(2)]) as cloud:
        done = run(monkeypatch, cloud, '-f', 'value', '-c', 'groups', '-c', 'not_listed')
    groups, unshelve = done.stdout.splitlines()
    assert groups.startswith('2 failures (1 resize, 1 creation): ')
    assert unshelve.startswith('A failed unshelve leaves no record')


def test_nothing_has_failed_and_the_cloud_is_not_read(monkeypatch):
    with Clouds() as cloud:
        done = run(monkeypatch, cloud)
        assert {each.path for each in cloud.edge.nova.asked} == {
            '/servers/detail',
            '/os-migrations',
        }
    assert done.stdout.startswith('Nothing has failed since 2026-11-24T02:00:00Z.\n')
