"""Non-admins see how many members of a group share a host."""

import pytest

from senlin_affinity.cli.servers_view import together, violation
from senlin_affinity.model.server_group import Member, ServerGroup, places, violated


def slots(these, number, limit):
    return f'{these} {number} left (max_server_per_host: {limit})'


@pytest.mark.parametrize(
    ('policy', 'limit', 'hosts', 'lines'),
    [
        ('anti-affinity', 3, 'aabbc', ['5 servers, on 3 hosts: 2, 2, 1',
                                       slots('these hosts have', '4 slots', 3)]),
        ('anti-affinity', None, 'ab', ['2 servers, on 2 hosts: 1, 1',
                                       slots('these hosts have', '0 slots', 1)]),
        ('anti-affinity', 2, 'a', ['1 server, on 1 host', slots('this host has', '1 slot', 2)]),
        ('anti-affinity', 2, 'aaab', ['4 servers, on 2 hosts: 3, 1',
                                      slots('these hosts have', '1 slot', 2)]),
        ('anti-affinity', 3, 'ab--', [
            '2 servers, on 2 hosts: 1, 1; 2 on unknown hosts',
            slots('these hosts have', 'at most 4 slots', 3)]),
        ('anti-affinity', 1, 'a-', [
            '1 server, on 1 host; 1 on unknown hosts',
            slots('this host has', '0 slots', 1)]),
        ('affinity', None, 'aaa', ['3 servers, on 1 host', 'new servers must go to that host']),
        ('affinity', None, 'aab', ['3 servers, on 2 hosts: 2, 1',
                                   'new servers must go to these hosts']),
        ('soft-affinity', None, 'aab', ['3 servers, on 2 hosts: 2, 1']),
        ('soft-anti-affinity', None, 'ab', ['2 servers, on 2 hosts: 1, 1']),
        ('anti-affinity', 2, '--', []),
        ('affinity', None, '', []),
    ],
)  # fmt: skip
@pytest.mark.parametrize('key', ['host', 'host_id'])
def test_members_per_host_are_described(policy, limit, hosts, lines, key):
    members = tuple(
        Member(str(number), **{key: None if host == '-' else f'secret-{host}'})
        for number, host in enumerate(hosts)
    )
    rules = {} if limit is None else {'max_server_per_host': limit}
    assert list(together(ServerGroup('g', 'web', policy, rules, members))) == lines


def test_a_violation_names_no_host_id_and_at_most_five_hosts():
    hidden = ServerGroup(
        'g', 'web', 'anti-affinity', {}, tuple(Member(x, None, None, 'hash') for x in 'st')
    )
    line = 'Server group web (anti-affinity) is violated already: 2 servers on one host'
    assert violation(hidden, violated(hidden)) == line
    members = tuple(Member(f's{n}', f'cmp-{n // 2}') for n in range(14))
    many = ServerGroup('g', 'web', 'anti-affinity', {}, members)
    assert violation(many, violated(many)).endswith('2 servers on cmp-4, ... and 2 more hosts')


@pytest.mark.parametrize(
    ('policy', 'servers', 'lines'),
    [
        ('anti-affinity', [('a', 'ACTIVE'), ('a', 'BUILD')], []),
        ('anti-affinity', [('a', 'ACTIVE'), ('a', None), ('a', 'BUILD')], ['a']),
        ('affinity', [('a', 'ACTIVE'), ('b', 'BUILD'), ('b', 'BUILD')], []),
        ('affinity', [('a', 'ACTIVE'), ('b', 'BUILD'), ('b', 'ACTIVE')], ['a']),
    ],
)
def test_a_server_in_build_violates_nothing(policy, servers, lines):
    """Nova's late check may still move it to another host."""
    members = tuple(Member(str(n), host, state=state) for n, (host, state) in enumerate(servers))
    group = ServerGroup('g', 'web', policy, {}, members)
    assert [place.host for place in violated(group)] == lines
    assert [place.host for place in places(group) if place.is_violated] == lines
