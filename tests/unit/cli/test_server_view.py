"""The explanation of a failed server on a terminal of any width, of a small and a large cloud."""

import io
from dataclasses import replace

import pytest

from senlin_affinity.cli import server_view
from senlin_affinity.preflight.cloud_view import CloudView
from tests.support.small_cloud import snapshot_of
from tests.unit.preflight.test_explanation import GROUP, THREE, explained, failed_server

CLOUD = {
    'hosts': {**THREE, 'cmp-4': {'disabled': True}, 'cmp-5': {'free': 0}},
    'group': GROUP,
    'quotas': {'instances': [10, 4], 'server_group_members': [10, None]},
}


def shown(found, view=None, *, is_long=False):
    stream = io.StringIO()
    server_view.show(found, view or CloudView(), stream, is_long=is_long)
    return stream.getvalue()


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv('COLUMNS', '80')


def test_the_example_of_the_manual():
    assert shown(explained(CLOUD)).startswith(
        """\
web-4 found no host at 2026-11-24 09:14 UTC (one of 4 servers requested
together).
Nova: No valid host was found. There are not enough hosts available.
Nova places such a request as a whole. 3 of 4 fit: a host may hold 1 of server
group web (3 of 5 hosts).

Hosts
  3 hosts: 1 of these servers each, full with these servers: cmp-1, cmp-2, cmp-3
  1 host: the compute service is disabled: cmp-4
  1 host: too little VCPU left: cmp-5 (0 of 1)

The same request would fail today. web-1 to web-4 still count: 4 of 10
instances, 4 of 10 group members.
For two minutes, nova-scheduler may count the failed servers on the chosen
hosts.

What would help
  delete the 4 servers, then request 3
"""
    )


@pytest.mark.parametrize('width', [80, 140])
@pytest.mark.parametrize('number', [3, 5000])
def test_it_is_legible(width, number, monkeypatch):
    """No line is wider, but a command that is pasted as a whole; and no cloud makes it long."""
    monkeypatch.setenv('COLUMNS', str(width))
    hosts = {f'cmp-{n}': {'disabled': n % 3 == 0, 'free': n % 2} for n in range(number)}
    text = shown(explained({'hosts': hosts, 'group': GROUP}, failed_server(9000)))
    assert all(len(line) <= width for line in text.splitlines() if '$ ' not in line)
    assert len([line for line in text.splitlines() if '$ ' not in line]) < 60
    if number == 5000:
        assert 'and 3,333 more' not in text
        assert ' more' in text


def test_long_names_all_hosts_and_codes():
    hosts = {f'cmp-{n}': {'disabled': True} for n in range(8)}
    found = explained({'hosts': hosts})
    assert 'and 3 more' in shown(found)
    text = shown(found, is_long=True)
    assert '[host_state.disabled]' in text
    assert 'cmp-7' in text
    assert 'more' not in text.partition('The same')[0]


def test_many_reasons_are_cut():
    hosts = {f'cmp-{n}': {'aggregates': [f'a-{n}']} for n in range(15)}
    forbidden = tuple(f'!a-{n}' for n in range(15))
    aggregates = {f'a-{n}': {} for n in range(15)}
    found = explained({'hosts': hosts, 'aggregates': aggregates}, member_of=forbidden)
    lines = [*server_view.host_groups(found.decision)]
    assert len(lines) == 11
    assert lines[0] == '1 host: is in a-0, which member_of forbids: cmp-0'
    assert lines[-1] == '5 hosts: 5 other reasons (--long lists them)'
    assert len([*server_view.host_groups(found.decision, is_long=True)]) == 15


def test_one_host_is_singular():
    row = {'hosts': {'cmp-1': {}, 'cmp-2': {'free': 0}}}
    text = shown(explained(row, failed_server(1)))
    assert '  1 host: 1 of these servers: cmp-1\n' in text
    row = {'hosts': {'cmp-1': {}, 'cmp-2': {}}}
    assert '  1 host: free capacity: cmp-2\n' in shown(explained(row, failed_server(1)))


def test_a_tenant_reads_the_own_requirements():
    row = {**CLOUD, 'hosts': None}
    view = CloudView(
        replace(snapshot_of(row), hosts=None),
        {'hosts': 'could not list the hypervisors: Nova answered 403: Policy', 'aggregates': 'odd'},
    )
    text = shown(explained(row), view)
    assert (
        'What the request requires of a host\n'
        '  flavor small: 1 VCPU, 512 MiB of memory, 1 GiB of disk\n'
        '  a host may hold 1 of server group web\n'
    ) in text
    assert '  the hosts: Nova shows them to administrators only\n  the aggregates: odd\n' in text
    assert 'Whether the same request would fit today is not known.' in text


def test_what_nova_does_not_return_is_named_unless_it_does_not_matter():
    hidden = {'--hint': 'the scheduler hints (from microversion 2.100)'}
    title = 'What Nova does not return, and an option specifies'
    fits = failed_server(1, hidden=hidden)
    assert f'{title}\n  the scheduler hints (from microversion 2.100): --hint\n' in shown(
        explained({'hosts': THREE}, fits)
    )
    assert title not in shown(explained({'hosts': {'cmp-1': {'free': 0}}}, fits))


def test_control_characters_are_not_printed():
    failed = failed_server(1, message='No valid host was found. \x1b[31m')
    assert '\x1b' not in shown(explained({'hosts': THREE}, failed))


def test_no_change_would_help():
    failed = failed_server(1)
    text = shown(explained({'hosts': {}}, failed))
    assert 'No host takes it: there is no host.' in text
