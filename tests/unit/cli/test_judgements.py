"""What the exporter counts between two snapshots: the failures, and the cells of its judgements."""

import pytest
from msgspec import structs

from senlin_affinity.answers.judgements import CELLS
from senlin_affinity.cli import refresh
from senlin_affinity.cli.refresh import Refresher, Wanted, judge
from senlin_affinity.cloud import connection
from senlin_affinity.preflight.question import Question
from tests.support.edge import UNAVAILABLE
from tests.support.small_cloud import CONSTRAINTS
from tests.unit.cloud.test_failures import BROKEN, LARGE, SMALL, Clouds, failed, moved
from tests.unit.cloud.test_last_actions import running

SINCE, UNTIL = '2026-11-24T02:00:00Z', '2026-11-24T04:00:00Z'
WANTED = Wanted(Question(0), refresh.ALL, CONSTRAINTS)
MOST = 20


def placed(number=9, flavor=SMALL, **more):
    """Return a server that Nova has created in the period."""
    body = {'created': '2026-11-24T02:10:00Z', 'flavor': flavor, 'image': ''}
    body |= {'scheduler_hints': {}, 'pinned_availability_zone': None, 'server_groups': []}
    body |= {'OS-EXT-SRV-ATTR:hypervisor_hostname': 'cmp-1', 'id': f'id-{number}', **more}
    return running(**body)


def judged(cloud, change=None, most=MOST):
    """Return the counts between two snapshots, of which ``change`` changes the first one."""
    view = refresh.view_of(cloud.clients, Question(0), refresh.ALL)
    first, last = (structs.replace(view, taken_at=each) for each in (SINCE, UNTIL))
    first = change(first) if change else first
    causes, cells = judge(cloud.clients, (first, last), WANTED, most)
    return {key: number for key, number in causes.items() if number}, dict(cells)


@pytest.mark.parametrize(
    ('server', 'cell', 'causes'),
    [
        (placed(flavor=LARGE), ('rejects', 'placed'), {}),
        (failed(1), ('fits', 'rejected'), {'failure.fits_now': 1}),
        (failed(1, flavor=LARGE), ('rejects', 'rejected'), {'resources.too_large': 1}),
        (placed(), ('fits', 'placed'), {}),
    ],
    ids=['a false rejection', 'a false acceptance', 'rejected', 'placed'],
)
def test_a_provoked_miss_is_in_its_cell(server, cell, causes):
    with Clouds([server]) as cloud:
        assert judged(cloud) == (causes, {cell: 1})


def without_hosts(view):
    return structs.replace(view, hosts=())


@pytest.mark.parametrize(
    ('server', 'nova'), [(placed(), 'placed'), (failed(1), 'rejected')], ids=['placed', 'failed']
)
def test_a_cloud_that_has_changed_decides_nothing(server, nova):
    with Clouds([server]) as cloud:
        assert judged(cloud, without_hosts)[1] == {('unsure', nova): 1}


def test_a_failure_that_is_not_about_hosts_is_counted_only():
    with Clouds([failed(1, BROKEN)]) as cloud:
        assert judged(cloud) == ({'hypervisor': 1}, {})


def test_what_is_outside_of_the_period_is_left_to_another_poll():
    late = failed(1, time='2026-11-24T04:00:00Z')
    early = placed(2, created='2026-11-24T01:00:00Z')
    running_later = placed(3, **{'OS-SRV-USG:launched_at': '2026-11-24T04:00:00Z'})
    with Clouds([late, early, running_later]) as cloud:
        assert judged(cloud) == ({}, {})


def test_a_poll_is_bounded():
    """Two requests a minute: the messages of actions are read as far as these allow."""
    created = [failed(n) for n in range(1, 11)] + [placed(n) for n in range(100, 150)]
    with Clouds(created, [moved(n, flavor=SMALL) for n in range(20, 30)]) as cloud:
        _causes, cells = judged(cloud, most=5)
        single = [each for each in cloud.edge.nova.asked if 'actions' in each.path]
        lists = [each for each in cloud.edge.nova.asked if 'changes-since' in each.query]
    assert (len(single), len(lists)) == (4, 2)
    assert sum(number for (_engine, nova), number in cells.items() if nova == 'placed') == 10
    with Clouds([failed(n) for n in range(1, 41)]) as cloud:
        causes, cells = judged(cloud)
    assert causes['not_explained'] == 15
    assert sum(cells.values()) == 25


@pytest.fixture
def refresher(monkeypatch):
    """Yield a refresher of a cloud with a false rejection, in whose view two hours pass."""
    with Clouds([placed(flavor=LARGE), failed(1)]) as cloud:
        monkeypatch.setattr(connection, 'connect', lambda *_: cloud.edge.connection())
        read, times = refresh.read_view, iter([SINCE, SINCE, UNTIL, UNTIL])

        def read_later(*arguments):
            view = read(*arguments)
            return structs.replace(view, taken_at=next(times))

        monkeypatch.setattr(refresh, 'read_view', read_later)
        yield Refresher('prod', WANTED, 300), cloud


def samples(refresher, name):
    found = {each.name: each.samples for each in refresher.families}
    return {labels[1:]: value for labels, value in found[f'senlin_affinity_{name}'].items()}


def test_the_metrics_count_once(refresher):
    made, _cloud = refresher
    made.refresh()
    assert samples(made, 'judgements') == dict.fromkeys(CELLS, 0)
    assert next(iter(CELLS)) == ('rejects', 'placed')
    for _number in range(3):  # two polls would need a minute between them
        made.refresh()
    assert samples(made, 'failures') == {('not_explained',): 0, ('failure.fits_now',): 1}
    expected = {('rejects', 'placed'): 1, ('fits', 'rejected'): 1}
    assert samples(made, 'judgements') == {**dict.fromkeys(CELLS, 0), **expected}


def test_a_listing_that_fails_is_read_again(refresher, caplog):
    made, cloud = refresher
    made.refresh()
    made.refresh()
    cloud.edge.fail('GET', '/servers/detail', UNAVAILABLE)
    made.refresh()
    assert samples(made, 'refreshes') == {('success',): 3, ('failure',): 0}
    assert 'could not list the servers' in caplog.text
    cloud.edge.mend()
    made.refresh()
    assert samples(made, 'judgements')['rejects', 'placed'] == 1


def test_an_unknown_time_polls_nothing():
    with Clouds() as cloud:
        view = refresh.view_of(cloud.clients, Question(0), refresh.ALL)
    unknown = structs.replace(view, taken_at=None)
    assert refresh.seconds_between(unknown, view) == 0
