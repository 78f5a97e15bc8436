"""Metrics have the numbers of the capacity and the snapshot, in Prometheus' text format."""

import json

import pytest

from senlin_affinity import api
from senlin_affinity.cli import metrics
from senlin_affinity.cloud import snapshot_file
from senlin_affinity.model.errors import AffinityError
from tests.functional.cli.test_capacity import CLOUD
from tests.functional.cli.test_host_drain import server
from tests.functional.cli.test_resilience import cloud as resilience_cloud

GROUP = {'id': 'g2', 'name': 'db', 'policy': 'anti-affinity', 'rules': {}}
MEMBERS = [{'server': name, 'host': 'cmp-1', 'state': 'ACTIVE'} for name in ('s2', 's3')]
CHANGED = {
    'taken_at': '2026-01-02T03:04:05Z',
    'server_groups': [*CLOUD['server_groups'], {**GROUP, 'members': MEMBERS}],
}
LARGE = 'cloud="prod",flavor="m1.large"'


def parsed(changed):
    return snapshot_file.parse(json.dumps(CLOUD | changed))


@pytest.fixture(scope='module')
def view():
    return parsed(CHANGED)


@pytest.fixture
def lines(view):
    def lines_by(by='zone'):
        found = metrics.of_capacity(api.capacity(view, by=by), 'prod')
        return metrics.text(found + metrics.of_snapshot(view, 'prod')).splitlines()

    return lines_by


@pytest.mark.parametrize(
    'line',
    [
        f'capacity_servers{{{LARGE},zone="az-1"}} 2',
        f'capacity_certain_servers{{{LARGE},zone="az-2"}} 1',
        f'capacity_hosts{{{LARGE},zone="az-2"}} 1',
        f'spare_servers{{{LARGE},zone="az-1"}} 0',
        f'largest_host_servers{{{LARGE},zone="az-1"}} 8',
        f'runs_out_first{{{LARGE},limit="MEMORY_MB"}} 1',
        'flavor_rejected{cloud="prod",flavor="twisted",code="candidates.no_group_policy"} 1',
        'capacity_servers{cloud="prod",flavor="twisted",zone="az-2"} 0',
        'resource_free{cloud="prod",resource_class="VCPU",zone="az-1"} 48',
        'snapshot_timestamp_seconds{cloud="prod"} 1767323045.0',
        'hosts{cloud="prod",zone="az-2",state="disabled"} 1',
        'hosts{cloud="prod",zone="az-1",state="down"} 0',
        'server_groups{cloud="prod"} 2',
        'server_groups_violated{cloud="prod"} 1',
    ],
)
def test_a_metric_has_the_number(lines, line):
    assert f'senlin_affinity_{line}' in lines()


def test_hosts_are_labels_only_if_the_capacity_is_by_host(lines):
    assert not any('host=' in line for line in lines())
    line = f'senlin_affinity_host_capacity_servers{{{LARGE},host="cmp-2"}} 1'
    assert line in lines('host')


def test_a_snapshot_without_groups_has_no_metrics_of_groups(view):
    alone = parsed({'server_groups': None})
    assert 'server_groups' not in metrics.text(metrics.of_snapshot(alone))


def test_labels_are_escaped():
    family = metrics.Family('name', 'Words.', ('label',), {('a"b\\c\nd',): 1})
    assert metrics.text([family]).splitlines()[-1] == 'name{label="a\\"b\\\\c\\nd"} 1'


def test_several_clouds_share_a_family():
    """Prometheus rejects a metric that is described twice."""
    found = metrics.merged([[metrics.of_orphans(1, 'a')], [metrics.of_orphans(2, 'b')]])
    assert metrics.text(found).splitlines()[1:] == [
        '# TYPE senlin_affinity_server_groups_orphaned gauge',
        'senlin_affinity_server_groups_orphaned{cloud="a"} 1',
        'senlin_affinity_server_groups_orphaned{cloud="b"} 2',
    ]


def test_a_counter_ends_in_total():
    families = metrics.of_refreshes(
        'a', up={'compute': True}, requests={('compute', '200'): 3}, refreshes={}, seconds=0.5
    )
    lines = metrics.text(families).splitlines()
    assert 'senlin_affinity_up{cloud="a",service="compute"} 1' in lines
    assert '# TYPE senlin_affinity_requests_total counter' in lines
    assert 'senlin_affinity_requests_total{cloud="a",service="compute",status="200"} 3' in lines


def test_a_file_that_cannot_be_replaced_leaves_no_temporary_file(tmp_path):
    (tmp_path / 'capacity.prom').mkdir()
    with pytest.raises(AffinityError, match=r'capacity\.prom cannot be written: Is a directory'):
        metrics.replace_file(str(tmp_path / 'capacity.prom'), 'text')
    assert [each.name for each in tmp_path.iterdir()] == ['capacity.prom']


def test_the_loss_of_hosts_and_domains():
    """The two servers of cmp-1 fit nowhere else, those of the empty hosts do."""
    found = snapshot_file.parse(json.dumps(resilience_cloud(free=1)))
    losses = [api.resilience(found, by) for by in ('host', 'rack')]
    lines = metrics.text(metrics.of_resilience(losses, found, 'rack', 'prod')).splitlines()
    labels = 'cloud="prod",by="rack"'
    assert f'senlin_affinity_resilience{{{labels},domain="r1"}} 0' in lines
    assert f'senlin_affinity_resilience{{{labels},domain="r2"}} 1' in lines
    labels = 'cloud="prod",zone=""'
    assert f'senlin_affinity_resilience_hosts{{{labels},verdict="cannot"}} 1' in lines
    assert f'senlin_affinity_resilience_hosts{{{labels},verdict="any_host"}} 2' in lines


@pytest.mark.parametrize(('by', 'domains'), [('host', 3), ('rack', 0)])
def test_a_host_has_a_sample_of_its_own_if_hosts_are_requested(by, domains):
    found = snapshot_file.parse(json.dumps(resilience_cloud(free=1)))
    losses = [api.resilience(found, 'host')]
    families = metrics.of_resilience(losses, found, by)
    assert len(families[0].samples) == domains
    assert families[1].samples


def test_a_loss_that_is_not_certain_has_no_sample():
    hidden = {'cmp-1': [server('web-1', unknown=['hints'])]}
    found = snapshot_file.parse(json.dumps(resilience_cloud(**hidden)))
    losses = [api.resilience(found, 'rack')]
    families = metrics.of_resilience(losses, found, 'rack')
    assert [labels[2] for labels in families[0].samples] == ['r2']
