"""The view of a drain names what is uncertain, not found and different, at 80 columns."""

import io

import pytest

from senlin_affinity.cli import view_drain
from senlin_affinity.engine.drain import DrainPlan, Move, Stuck, Unblocking
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.server import Server
from senlin_affinity.model.verdict import Assumption, Verdict

UUID = '0f3d6c55-6b1f-4c64-9a3e-2f6f0b7f7a11'
WEB = Server(UUID, 'web-1', 'ACTIVE', 'cmp-1')
LONG = Server(UUID, 'a-name-of-a-server-that-' + 'goes-on-' * 5, 'ACTIVE', 'cmp-1')
MOVE = Move(WEB, 'live', 'cmp-2', 'cmp-2')


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv('COLUMNS', '80')


def shown(plan, view=None, stream=None, *, is_long=False):
    stream = stream or io.StringIO()
    view_drain.show(plan, view or Cloud(), stream, is_long=is_long)
    return stream.getvalue()


def plan(*moves, **more):
    return DrainPlan(('cmp-1',), moves, **more)


def test_moves_by_wave_from_several_hosts():
    second = Move(Server('s', 'db', 'SHUTOFF', 'compute-11'), 'cold', 'cmp-3', 'cmp-3', 12)
    assert shown(plan(MOVE, second)).splitlines()[2:] == [
        'Moves',
        '  Wave  Server  Step  From        To',
        '     1  web-1   live  cmp-1       cmp-2',
        '    12  db      cold  compute-11  cmp-3',
    ]


def test_an_uncertain_move_and_what_is_not_checked():
    found = Move(WEB, 'live', 'cmp-2', 'cmp-2', 1, ('CPU model',), ('parts of the snapshot',))
    text = shown(plan(found, assumptions=(Assumption('x', 'the default filters'),)))
    assert 'cmp-2 (perhaps)\n' in text
    assert 'Based on\n  assuming the default filters\n' in text
    assert '  parts of the snapshot (1 move)\n  not checked: CPU model (1 move)\n' in text


@pytest.mark.parametrize(
    ('is_proven', 'title'),
    [
        (True, 'Not all servers fit together (each of these would fit alone)'),
        (False, 'No target was found, which does not prove that there is none'),
    ],
)
def test_servers_without_a_target(is_proven, title):
    text = shown(plan(MOVE, not_found=(WEB,), is_proven=is_proven))
    assert f'\n{title}\n  web-1 on cmp-1\n' in text


def test_the_constraint_that_leaves_a_server_over_is_named():
    verdict = Verdict.rejected('x.y')
    why = Stuck(WEB, 'live', verdict, 'group web is full here', {'cmp-3': 'x.y', 'cmp-2': 'z'})
    found = plan(MOVE, not_found=(WEB,), is_proven=True, blocked=(why,))
    words = 'web-1 on cmp-1: once the others have moved, cmp-3 rejects it: group web is'
    assert f'  {words}\n' in shown(found)
    (entry,) = found.as_dict()['not_found']
    assert (entry['code'], entry['reason']) == ('x.y', 'group web is full here')


def test_a_stuck_server_with_the_codes_of_the_hosts():
    codes = {'cmp-2': 'resources.exhausted', 'cmp-3': 'resources.exhausted', 'cmp-4': 'x.y'}
    remedy = Unblocking('one_more_host', 'add a host like cmp-1')
    stuck = Stuck(WEB, 'live', Verdict.rejected('x.y'), 'no room', codes, (remedy,))
    assert shown(plan(stuck=(stuck,))).splitlines()[2:] == [
        'Stuck',
        '  web-1 on cmp-1 (live): to cmp-4: no room',
        '      would help: add a host like cmp-1',
    ]
    assert shown(plan(stuck=(stuck,)), is_long=True).splitlines()[2:] == [
        'Stuck',
        f'  web-1 on cmp-1 ({UUID}) (live): to cmp-4: no',
        '    room [x.y]',
        '      would help: add a host like cmp-1',
        '      resources.exhausted: 2 hosts',
        '      x.y: 1 host',
    ]


def test_every_line_has_80_characters_at_most():
    stuck = Stuck(LONG, 'live', Verdict.rejected('x.y'), 'there is a reason of some length')
    found = plan(Move(LONG, 'live', 'cmp-2', 'cmp-2'), stuck=(stuck,), not_found=(LONG,))
    for is_long in (False, True):
        assert max(map(len, shown(found, is_long=is_long).splitlines())) <= 80


def test_differences_from_placement():
    """Nova requests the flavor's amounts when a server moves."""
    flavor = Flavor('f', 'f', 2, 1024, 10)
    amounts = {'VCPU': 4, 'MEMORY_MB': 1024}
    server = Server('s', 'web-1', 'ACTIVE', 'cmp-1', flavor=flavor, allocated=amounts)
    ports = Server('t', 'web-2', 'ACTIVE', 'cmp-1', flavor=flavor)
    view = Cloud(servers_by_host={'cmp-1': (server, ports)})
    (found,) = view_drain.differences(view, ('cmp-1', 'cmp-2'))
    assert str(found) == 'web-1: Placement has allocated 0 DISK_GB, not 10; 4 VCPU, not 2'
    assert found.as_dict() == {
        'server': 's',
        'name': 'web-1',
        'allocated': amounts,
        'requested': {'VCPU': 2, 'MEMORY_MB': 1024, 'DISK_GB': 10},
    }


def test_what_could_not_be_read():
    view = Cloud(unavailable={'allocations': 'Placement answered 500'})
    assert '  the allocations: Placement answered 500\n' in shown(plan(MOVE), view)
