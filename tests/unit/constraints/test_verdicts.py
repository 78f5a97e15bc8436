"""The verdict of each constraint: outcome, code, facts, room and sentence."""

import itertools

import pytest

from senlin_affinity.constraints.base import Domain
from senlin_affinity.constraints.drs import DrsConstraint
from senlin_affinity.constraints.quota import QuotaConstraint
from senlin_affinity.constraints.resources import ResourcesConstraint
from senlin_affinity.constraints.server_group import ServerGroupConstraint
from senlin_affinity.constraints.spread import SpreadConstraint
from senlin_affinity.model.cloud import Cloud, Quota
from senlin_affinity.model.host import Host
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.server_group import Member, ServerGroup
from senlin_affinity.model.verdict import sentence
from senlin_affinity.nova import quotas
from senlin_affinity.scenario.constraint import is_of_hosts
from tests.support.asked import Given, NamedRequest, with_values
from tests.support.our_constraints import OURS
from tests.support.small_cloud import (
    aggregates_of,
    flavor_of,
    granted,
    group_of,
    host_of,
    pools_of,
    request_of,
    rules_of,
    servers_of,
)
from tests.support.tables import read, rows
from tests.support.values import replace

#: Constraints whose tables have tests of their own.
OTHERS = ('member_of', 'reservations', 'drs', 'aggregate_metadata', 'server_group')
#: Tables whose rows only have a host and a request, by the constraint.
OF_HOSTS = {kind.name: kind for kind in OURS if is_of_hosts(kind()) and kind.name not in OTHERS}


def check(row, verdict, reasons):
    assert (verdict.outcome.value, verdict.code) == (row['outcome'], row['code'])
    assert dict(verdict.facts) == row.get('facts', {})
    room = row.get('room', 0 if row['outcome'] == 'REJECT' else None)
    assert verdict.room == room
    is_less = row.get('least', room) != room
    assert verdict.bounds.is_at_most is row.get('is_at_most', is_less)
    assert verdict.bounds.is_known is row.get('is_known', True)
    assert bool(verdict) is (row['outcome'] != 'REJECT')
    words = sentence(verdict, reasons)
    assert words == row.get('sentence', words)


def resolved(
    group=None, count=1, known=None, rules=None, asked=None, filters=DEFAULT_FILTERS, hosts=None
):
    name = asked if group is None else group.id
    request = NamedRequest(count, 'small', name, enabled_filters=tuple(filters))
    snapshot = Cloud(hosts, quotas=known)
    return with_values(request, snapshot, server_group=group, given=rules or Given())


def quotas_of(row):
    if row['quotas'] is None:
        return None
    return {
        name: quota_of(each['limit'], each.get('used'), each.get('of_user'))
        for name, each in row['quotas'].items()
    }


@pytest.mark.parametrize(
    ('constraint', 'row'),
    [
        pytest.param(constraint, *row.values, id=f'{table}-{row.id}')
        for table, constraint in OF_HOSTS.items()
        for row in rows(table)
    ],
)
def test_host(constraint, row):
    host = host_of('cmp-1', row['host'])
    others = [host_of(f'other-{zone}', {'zone': zone}) for zone in row.get('others', ())]
    others += [
        host_of(f'in-{name}', {'zone': zone, 'aggregates': [name]})
        for name, zone in row.get('members', {}).items()
    ]
    if 'other_traits' in row:
        others.append(host_of('other', {'traits': row['other_traits']}))
    known = aggregates_of(row.get('aggregates', {}))
    closed = None if 'closed_zones' not in row else frozenset(row['closed_zones'])
    zones = frozenset(row.get('availability_zones', ()))
    places = {'pools': pools_of(row), 'servers': servers_of(row), 'availability_zones': zones}
    snapshot = Cloud((host, *others), known, closed_zones=closed, **places)
    flavor = None if row.get('flavor', {}) is None else flavor_of(row.get('flavor'))
    asked = with_values(
        request_of(row), snapshot, flavor, group_of(row.get('group')), rules_of(row)
    )
    asked = granted(asked, {'cmp-1': row['host']}, is_whole=not row.get('is_cut', False))
    host = asked.cloud.hosts[0]
    if row.get('of_request'):
        check(row, constraint().check_request(*asked), constraint.reasons)
        return
    if 'domain' not in row:
        check(row, constraint().check_host(*asked, host), constraint.reasons)
        return
    by, name = row['domain']
    rooms = {Domain(by, each): room for each, room in row['rooms'].items()}
    assert (by, name) in constraint().domains(*asked.planned, host)
    check(row, constraint().check_domains(*asked.planned, rooms)[by, name], constraint.reasons)


@pytest.mark.parametrize(
    'constraint', [ServerGroupConstraint, SpreadConstraint, ResourcesConstraint]
)
def test_without_domains_there_is_no_verdict(constraint):
    assert constraint().check_domains(*resolved().planned, {}) == {}


@pytest.mark.parametrize('row', rows('server_group_hosts'))
def test_server_group(row):
    filters, number = row.get('filters', DEFAULT_FILTERS), row.get('hosts', 1)
    hosts = tuple(Host(f'cmp-{each}', f'cmp-{each}') for each in range(number))
    group, rules = group_of(row.get('group')), rules_of(row)
    asked = resolved(group, asked=row.get('asked'), rules=rules, filters=filters, hosts=hosts)
    verdict = ServerGroupConstraint().check_host(*asked, Host('cmp-1', 'cmp-1'))
    check(row, verdict, ServerGroupConstraint.reasons)


def refused(row, policy, rules=None):
    """Return the hosts that reject another member; the row's member moves to host b."""
    hosts = [name.replace('{other}', 'b') for name in row['anti-affinity']]
    also_on = tuple(hosts) if len(hosts) > 1 else ()
    member = Member('s', hosts[-1] if hosts else None, state=row['state'], also_on=also_on)
    members = () if row['state'] is None else (member,)
    asked = resolved(ServerGroup('g', 'web', policy, rules or {}, members))
    rule = ServerGroupConstraint()
    return {name for name in 'abc' if not rule.check_host(*asked, Host(name, name))}


@pytest.mark.parametrize('row', rows('group_members'))
def test_a_member_counts_where_nova_counts_it(row):
    """R2-12. tests/functional/test_members_of_nova.py compares the rows with a real Nova."""
    full = {name.replace('{other}', 'b') for name in row['anti-affinity']}
    assert refused(row, 'anti-affinity') == full
    assert refused(row, 'anti-affinity', {'max_server_per_host': 2}) == set()
    with_nova_conf = set(row.get('affinity', sorted(full)[-1:]))
    assert refused(row, 'affinity') == (set('abc') - with_nova_conf if with_nova_conf else set())
    assert refused(row, 'soft-anti-affinity') == set()


def hidden(*members, **more):
    """Return the verdict about cmp-1 with an empty group and these soft-deleted servers."""
    group = ServerGroup('g', 'web', more.pop('policy', 'anti-affinity'), project_id='p')
    asked = resolved(group, rules=Given.of(**more))
    seen = replace(asked.cloud, soft_deleted=members if members != (None,) else None)
    return ServerGroupConstraint().check_host(*asked.but(cloud=seen), Host('cmp-1', 'cmp-1'))


def test_a_soft_deleted_server_may_be_a_member():
    there = Member('s', 'cmp-1', state='SOFT_DELETED', project='p')
    assert hidden(there).bounds.is_at_most
    assert hidden(there).room == 1
    assert not hidden(there, policy='soft-anti-affinity').bounds.is_at_most
    assert not hidden(replace(there, host='cmp-2')).bounds.is_at_most
    assert not hidden(replace(there, project='q')).bounds.is_at_most
    assert not hidden().bounds.is_at_most
    assert not hidden(None).bounds.is_at_most
    assert hidden(None, reclaim_instance_interval=60).bounds.is_at_most


def moving(number, **rules):
    """Return the verdict about a free host; this number of hosts is rejected by the late check
    only.
    """
    members = tuple(
        Member(f's{each}', f'to-{each}', state='VERIFY_RESIZE', also_on=(f'from-{each}', 'x'))
        for each in range(number)
    )
    asked = resolved(ServerGroup('g', 'web', 'anti-affinity', {}, members), rules=Given(**rules))
    return asked, ServerGroupConstraint().check_host(*asked, Host('cmp-1', 'cmp-1'))


def test_nova_may_try_only_hosts_that_its_late_check_rejects():
    """Two servers that move from two hosts to x: Nova tries only these three hosts."""
    assert not moving(1)[1].bounds.is_at_most
    assert moving(2)[1].bounds.is_at_most
    assert not moving(2, is_pinned=True)[1].bounds.is_at_most
    assert not moving(2, options={'max_attempts': 4})[1].bounds.is_at_most
    assert not moving(2, options={'disable_group_policy_check_upcall': True})[1].bounds.is_at_most


def test_without_the_late_check_a_moving_server_counts_on_its_host():
    off = {'disable_group_policy_check_upcall': True}
    for options, refused in (({}, {'from-0', 'to-0', 'x'}), (off, {'to-0'})):
        asked, _verdict = moving(1, options=options)
        checked = {
            name
            for name in ('from-0', 'to-0', 'x', 'cmp-1')
            if not ServerGroupConstraint().check_host(*asked, Host(name, name))
        }
        assert checked == refused


def migrated(seconds, number=1, **rules):
    """Return the verdict on a host that some servers have left by live migrations."""
    members = tuple(
        Member(f's{each}', f'to-{each}', left={'cmp-1': seconds}) for each in range(number)
    )
    asked = resolved(ServerGroup('g', 'web', 'anti-affinity', {}, members), rules=Given(**rules))
    return [
        ServerGroupConstraint().check_host(*asked, Host(name, name)).bounds.is_at_most
        for name in ('cmp-1', 'cmp-2')
    ]


@pytest.mark.parametrize(
    ('seconds', 'rules', 'is_at_most'),
    [
        (119, {}, True),
        (120, {}, False),
        (120, {'options': {'scheduler_instance_sync_interval': 600}}, True),
        (59, {'options': {'scheduler_instance_sync_interval': 0}}, True),
        (60, {'options': {'scheduler_instance_sync_interval': 0}}, False),
        (86000, {'options': {'scheduler_instance_sync_interval': -1}}, True),
        (1, {'is_pinned': True}, False),
    ],
)
def test_nova_counts_a_live_migrated_server_on_its_former_host_for_a_while(
    seconds, rules, is_at_most
):
    assert migrated(seconds, **rules) == [is_at_most, False]


def test_nova_may_try_only_the_targets_of_recent_live_migrations():
    """nova-scheduler does not know the servers there, and only the late check rejects them."""
    assert migrated(1, number=2) == [True, False]
    assert migrated(1, number=3) == [True, True]
    assert migrated(500, number=3) == [False, False]


def test_assumptions_about_members():
    """Only assumptions that affect the number: none about listed soft-deleted servers."""

    def codes(asked, **changed):
        seen = replace(asked.cloud, hosts=(), **changed)
        said = ServerGroupConstraint().assumptions(*asked.but(cloud=seen))
        return [each.code for each in said]

    deleted, late = 'server_group.soft_deleted', 'server_group.late_check'
    assert codes(moving(0)[0]) == [deleted]
    assert codes(moving(0)[0], soft_deleted=()) == []
    assert codes(moving(0, explicit=frozenset({'reclaim_instance_interval'}))[0]) == []
    assert codes(moving(1)[0], soft_deleted=()) == [late]
    specified = frozenset({'max_attempts', 'disable_group_policy_check_upcall'})
    assert codes(moving(1, explicit=specified)[0], soft_deleted=()) == []
    assert codes(resolved(ServerGroup('g', 'web', 'affinity'))) == []
    specified = Given(explicit=frozenset({'disable_group_policy_check_upcall'}))
    without = {'group': ServerGroup('g', 'web', 'affinity'), 'filters': ()}
    assert codes(resolved(**without)) == ['server_group.only_late_check']
    assert codes(resolved(**without, rules=specified)) == []
    assert codes(resolved()) == []


@pytest.mark.parametrize(
    ('policy', 'filters', 'codes'),
    [
        ('anti-affinity', (), ['server_group.filter']),
        ('affinity', ('ServerGroupAntiAffinityFilter',), ['server_group.filter']),
        ('anti-affinity', ('ServerGroupAntiAffinityFilter',), []),
        ('soft-affinity', (), []),
    ],
)
def test_without_the_filter_of_the_policy_nova_may_reject_the_group(policy, filters, codes):
    """nova-conductor answers "ServerGroup policy is not supported" if it has the same filters."""
    asked = resolved(ServerGroup('g', 'web', policy), filters=filters)
    assert [each.code for each in ServerGroupConstraint().caveats(*asked)] == codes


@pytest.mark.parametrize('row', rows('server_group_room'))
def test_servers_placed_one_by_one(row):
    """Hosts are not chosen for balance here (D2-12: the limit does not balance)."""
    hosts = [Host(f'cmp-{i}', f'cmp-{i}') for i in range(row['hosts'])]
    members = []
    while True:
        group = ServerGroup('g', 'web', 'anti-affinity', row['rules'], tuple(members))
        asked = resolved(group)
        free = [host for host in hosts if ServerGroupConstraint().check_host(*asked, host)]
        if not free:
            break
        members.append(Member(f's{len(members)}', free[0].host))
    assert len(members) == row['fit']
    most = max((sum(m.host == host.host for m in members) for host in hosts), default=0)
    assert most <= row['rules'].get('max_server_per_host', 1)


@pytest.mark.parametrize('row', rows('drs_hosts'))
def test_drs(row):
    rules = Given.of(
        is_drs_required=row.get('is_drs_required', True), drs_pattern=row.get('pattern', 'drs')
    )
    verdict = DrsConstraint().check_host(*resolved(rules=rules), Host(**row['host']))
    check(row, verdict, DrsConstraint.reasons)


@pytest.mark.parametrize('row', rows('quota_groups'))
def test_quota_of_groups(row):
    check(row, quotas.room_for_group(quotas_of(row)), quotas.REASONS)
    assert (
        quotas.room_for_members({}, ServerGroup('g', 'web', 'affinity'), 1).code == 'quota.unknown'
    )


@pytest.mark.parametrize('row', rows('quota_members'))
def test_quota_of_members(row):
    group = None
    if 'members' in row:
        users = [*row.get('users', ()), *itertools.repeat(None, row['members'])]
        members = tuple(Member(f's{i}', None, users[i]) for i in range(row['members']))
        group = ServerGroup('g', 'web', 'affinity', {}, members)
    specified = row.get('specified', {})
    rules = Given(options=specified, explicit=frozenset(specified))
    cloud = Cloud(quotas=quotas_of(row), user_id=row.get('asks'))
    request = NamedRequest(row['wanted'], 'small')
    check_quota(row, with_values(request, cloud, server_group=group, given=rules))


def quota_of(limit, used=None, of_user=None):
    return Quota(limit, used, None if of_user is None else Quota(*of_user))


@pytest.mark.parametrize('row', rows('quota_servers'))
def test_quota_of_servers(row):
    given = row['quotas']
    known = None if given is None else {name: quota_of(*each) for name, each in given.items()}
    given = row.get('flavor', {})
    flavor = None if given is None else flavor_of({'vcpus': 2, **given})
    snapshot = Cloud(quotas=known)
    request = NamedRequest(row['wanted'], 'f', metadata_items=row.get('items', 0))
    specified = row.get('specified', {})
    rules = Given(options=specified, explicit=frozenset(specified))
    check_quota(row, with_values(request, snapshot, flavor, given=rules))


def check_quota(row, asked):
    """Check the verdict; the guaranteed room is by default the whole room."""
    verdict = QuotaConstraint().check_request(*asked)
    check(row, verdict, QuotaConstraint.reasons)
    assert verdict.bounds.lower == row.get('least', verdict.room)


@pytest.mark.parametrize(
    ('asks', 'code'),
    [(None, 'quota.instances'), ('ours', 'quota.instances'), ('theirs', 'quota.unknown')],
)
def test_quotas_of_another_project_are_not_used(asks, code):
    """RX-07: a snapshot has the quotas of the project that took it."""
    snapshot = Cloud(quotas={'instances': Quota(1, 1)}, project_id='ours')
    asked = with_values(NamedRequest(1, 'f', project_id=asks), snapshot)
    assert QuotaConstraint().check_request(*asked).code == code


@pytest.mark.parametrize(
    ('cost', 'servers', 'needed'),
    [
        (quotas.Cost(1, 2), 0, 0),
        (quotas.Cost(1, 2), 1, 1),
        (quotas.Cost(1, 2), 3, 5),
        (quotas.Cost(0, 0), 3, 0),
        (quotas.Cost(-1, 0), 3, 0),
    ],
)
def test_the_quota_that_several_servers_need_one_by_one(cost, servers, needed):
    assert cost.of(servers) == needed


def test_a_verdict_about_quotas_names_the_project():
    def facts(quotas, project):
        snapshot = Cloud(quotas=quotas, project_id=project)
        asked = with_values(NamedRequest(1, 'f'), snapshot)
        return QuotaConstraint().check_request(*asked).facts.get('project_id')

    assert facts({'instances': Quota(1, 1)}, 'web') == 'web'
    assert facts({'instances': Quota(9, 1)}, 'web') == 'web'
    assert facts({'instances': Quota(1, 1)}, None) is None
    assert facts(None, 'web') is None


@pytest.mark.parametrize('name', ['server_group_members', 'metadata_items'])
def test_quotas_of_groups_and_metadata_are_per_user_only_if_they_are_used(name):
    def codes(group=None, items=0):
        snapshot = Cloud(quotas={name: Quota(9, 1)}, project_id='p')
        request = NamedRequest(1, 'f', metadata_items=items)
        asked = with_values(request, snapshot, server_group=group)
        return [each.code for each in QuotaConstraint().assumptions(*asked)]

    used = {'group': ServerGroup('g', 'web', 'affinity')} if 'group' in name else {'items': 3}
    assert codes() == []
    assert codes(**used) == ['quota.user']


def test_assumptions_about_quotas():
    def codes(quota, project='p', group=None, **more):
        snapshot = Cloud(quotas=quota and {'instances': quota}, project_id=project)
        asked = with_values(NamedRequest(1, 'f', **more), snapshot, server_group=group)
        return [each.code for each in QuotaConstraint().assumptions(*asked)]

    assert codes(Quota(10, 1)) == ['quota.user']
    assert codes(Quota(10, 1), metadata_items=3) == ['quota.metadata_items', 'quota.user']
    assert codes(Quota(10, 1, of_user=Quota(10, 1))) == []
    assert codes(Quota(10, 1), project=None) == []
    assert codes(None) == []
    assert codes(Quota(10, 1), project_id='other') == []


def test_exactly_the_rejections_have_advice():
    """In each table, exactly the rejections have advice."""
    tables = {
        ServerGroupConstraint: ['server_group_hosts'],
        DrsConstraint: ['drs_hosts'],
        QuotaConstraint: ['quota_groups', 'quota_members', 'quota_servers'],
        **{constraint: [table] for table, constraint in OF_HOSTS.items()},
    }
    for constraint, names in tables.items():
        refusing = {
            row['code'] for name in names for row in read(name) if row['outcome'] == 'REJECT'
        }
        for code, reason in constraint.reasons.items():
            assert bool(reason.advice) is (code in refusing), code
