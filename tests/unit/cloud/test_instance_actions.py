"""The time at which a server came to its host is read from its instance actions."""

from types import SimpleNamespace

import pytest

from senlin_affinity.cloud.instance_actions import last_moves
from senlin_affinity.model.errors import CloudError


def actions(*rows):
    """Yield instance actions, newest first; ``'2 resize Error'`` began at time 2."""
    for row in reversed(rows):
        time, name, *message = row.split()
        yield {
            'instance_uuid': 's',
            'start_time': time,
            'action': name,
            'message': message[0] if message else None,
        }


@pytest.mark.parametrize(
    ('rows', 'time'),
    [
        ([], None),
        (['1 create', '2 reboot'], '1'),
        (['1 create Error'], '1'),
        (['1 create', '2 live-migration'], '2'),
        (['1 create', '2 live-migration Error'], '1'),
        (['1 create', '2 live-migration', '3 live_migration_cancel'], '1'),
        (['1 create', '2 live-migration', '3 live_migration_cancel Error'], '2'),
        (['1 create', '2 evacuate Error', '3 evacuate'], '3'),
        (['1 create', '2 resize'], '2'),
        (['1 create', '2 resize', '3 revertResize'], '1'),
        (['1 create', '1 resize', '1 revertResize'], '1'),
        (['1 create', '2 resize', '3 revertResize Error'], '2'),
        (['1 create', '2 migrate', '3 confirmResize', '4 resize', '5 revertResize'], '2'),
        (['1 create', '2 migrate Error', '3 confirmResize'], '2'),
        (['1 create', '2 migrate Error', '3 reboot'], '1'),
        (['2 unshelve Error'], None),
        (['1 confirmResize'], None),
    ],
)
def test_the_last_effective_move(rows, time):
    body = {'instanceActions': list(actions(*rows))}
    compute = SimpleNamespace(get=lambda *_words, **_options: body)
    assert last_moves(compute, ['s']) == ({} if time is None else {'s': time})


def test_actions_of_another_server_are_an_error():
    body = {'instanceActions': list(actions('1 create'))}
    compute = SimpleNamespace(get=lambda *_words, **_options: body)
    with pytest.raises(CloudError, match='the answer is about another object'):
        last_moves(compute, ['t'])


@pytest.mark.parametrize('status', [403, 500])
def test_forbidden_actions_give_no_times(status):
    def get(path, what, microversion, *, may_be_missing):
        assert may_be_missing
        if path != '/servers/a%2Fb/os-instance-actions':
            raise CloudError('failed', status)

    compute = SimpleNamespace(get=get)
    assert last_moves(compute, ['a/b']) == {}
    if status == 403:
        assert last_moves(compute, ['t', 'a/b']) == {}
    else:
        with pytest.raises(CloudError, match='^failed$'):
            last_moves(compute, ['t', 'a/b'])
