"""What each constraint answers: outcome, code, facts, room, and the sentence that says it."""

import itertools

import pytest

from senlin_affinity.constraints.aggregate_metadata import NOVAS, OURS, AggregateMetadataConstraint
from senlin_affinity.constraints.drs import DrsConstraint
from senlin_affinity.constraints.member_of import MemberOfConstraint
from senlin_affinity.constraints.quota import QuotaConstraint
from senlin_affinity.constraints.reservations import ReservationsConstraint
from senlin_affinity.constraints.server_group import ServerGroupConstraint
from senlin_affinity.core import member_of, quotas
from senlin_affinity.core.objects import (
    DEFAULT_FILTERS,
    Aggregate,
    CloudSnapshot,
    Flavor,
    Host,
    PlacementRequest,
    Question,
    Quota,
    Rules,
)
from senlin_affinity.core.reasons import sentence
from senlin_affinity.core.server_group import Member, ServerGroup
from tests.tables import read, rows

AGGREGATE_TABLES = (
    'aggregate_metadata',
    'aggregate_metadata_examples',
    'aggregate_metadata_enforced',
    'aggregate_extra_specs',
)
TABLES = {
    **dict.fromkeys(AGGREGATE_TABLES, AggregateMetadataConstraint.reasons),
    'server_group_hosts': ServerGroupConstraint.reasons,
    'drs_hosts': DrsConstraint.reasons,
    'quota_groups': QuotaConstraint.reasons,
    'quota_members': QuotaConstraint.reasons,
    'member_of_hosts': MemberOfConstraint.reasons,
    'reservations_hosts': ReservationsConstraint.reasons,
}


def check(row, verdict, reasons):
    assert (verdict.outcome.value, verdict.code) == (row['outcome'], row['code'])
    assert dict(verdict.facts) == row.get('facts', {})
    assert verdict.room == row.get('room', 0 if row['outcome'] == 'REJECT' else None)
    assert bool(verdict) is (row['outcome'] != 'REJECT')
    words = sentence(verdict, reasons)
    assert words == row.get('sentence', words)


def question(group=None, count=1, known=None, rules=None):
    request = PlacementRequest(count, 'small', None if group is None else group.id)
    return Question(
        request, CloudSnapshot(quotas=known), server_group=group, rules=rules or Rules()
    )


def group_of(row):
    if 'group' not in row:
        return None
    given = row['group']
    members = tuple(Member(f's{i}', host) for i, host in enumerate(given.get('members', ())))
    return ServerGroup('g', 'web', given['policy'], given.get('rules', {}), members)


def quotas_of(row):
    if row['quotas'] is None:
        return None
    return {name: Quota(each['limit'], each.get('used')) for name, each in row['quotas'].items()}


@pytest.mark.parametrize('row', rows('server_group_hosts'))
def test_server_group(row):
    verdict = ServerGroupConstraint().check_host(question(group_of(row)), Host('cmp-1', 'cmp-1'))
    check(row, verdict, ServerGroupConstraint.reasons)


@pytest.mark.parametrize('row', rows('server_group_room'))
def test_servers_placed_one_by_one(row):
    """No host is chosen for balance here (D2-12: the cap does not balance)."""
    hosts = [Host(f'cmp-{i}', f'cmp-{i}') for i in range(row['hosts'])]
    members = []
    while True:
        group = ServerGroup('g', 'web', 'anti-affinity', row['rules'], tuple(members))
        asked = question(group)
        free = [host for host in hosts if ServerGroupConstraint().check_host(asked, host)]
        if not free:
            break
        members.append(Member(f's{len(members)}', free[0].host))
    assert len(members) == row['fit']
    most = max((sum(m.host == host.host for m in members) for host in hosts), default=0)
    assert most <= row['rules'].get('max_server_per_host', 1)


@pytest.mark.parametrize('row', rows('drs_hosts'))
def test_drs(row):
    rules = Rules(row.get('pattern', 'drs'), row.get('is_drs_required', True))
    verdict = DrsConstraint().check_host(question(rules=rules), Host(**row['host']))
    check(row, verdict, DrsConstraint.reasons)


def aggregate_question(row):
    """The request, and a host in the row's aggregates; an aggregate's name is its UUID."""
    flavor = aggregates = None
    if row['extra_specs'] is not None:
        flavor = Flavor('f', 'small', 1, 1, 1, extra_specs=row['extra_specs'])
    if row['aggregates'] is not None:
        aggregates = tuple(
            Aggregate(name, name, row.get('zones', {}).get(name), metadata)
            for name, metadata in row['aggregates'].items()
        )
    filters = tuple({'ours': OURS, 'nova': NOVAS}[word] for word in row['filters'])
    request = PlacementRequest(1, 'small', enabled_filters=(*DEFAULT_FILTERS, *filters))
    asked = Question(request, CloudSnapshot(aggregates=aggregates), flavor=flavor)
    return asked, Host('cmp-1', 'cmp-1', aggregates=frozenset(row['member']))


@pytest.mark.parametrize('row', rows('aggregate_metadata_enforced'))
def test_aggregate_metadata(row):
    verdict = AggregateMetadataConstraint().check_host(*aggregate_question(row))
    check(row, verdict, AggregateMetadataConstraint.reasons)


@pytest.mark.parametrize('row', rows('quota_groups'))
def test_quota_of_groups(row):
    check(row, quotas.room_for_group(quotas_of(row)), quotas.REASONS)


@pytest.mark.parametrize('row', rows('quota_members'))
def test_quota_of_members(row):
    group = None
    if 'members' in row:
        members = tuple(Member(f's{i}') for i in range(row['members']))
        group = ServerGroup('g', 'web', 'affinity', {}, members)
    verdict = QuotaConstraint().check_request(question(group, row['wanted'], quotas_of(row)))
    check(row, verdict, QuotaConstraint.reasons)


AGGREGATES = {
    'A': {'reservation:r1': ''},
    'B': {'reservation:r2': '', 'reservation:r3': ''},
    'C': {'trait:CUSTOM_WIN': 'required'},
    'D': {'filter_tenant_id': 'p1'},
}


def uuid_of(letter):
    return f'00000000-0000-4000-8000-{int(letter, 16):012x}'


def about_aggregates(row):
    """The question of a row about aggregates, and its host."""
    known = tuple(
        Aggregate(uuid_of(letter), f'agg-{letter.lower()}', metadata=dict(metadata))
        for letter, metadata in AGGREGATES.items()
    )
    extra_specs = row.get('flavor', {})
    flavor = None if extra_specs is None else Flavor('1', 'f', 1, 64, 1, extra_specs=extra_specs)
    rules = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in row.get('rules', {}).items()
    }
    asked = Question(
        PlacementRequest(1, 'f', image_properties=row.get('image'), project_id=row.get('project')),
        CloudSnapshot(aggregates=known if row.get('known', True) else None),
        flavor,
        rules=Rules(**rules),
        member_of=member_of.read(row.get('member_of', []), 'member_of', uuid_of),
    )
    return asked, Host('cmp-1', 'cmp-1', aggregates=frozenset(map(uuid_of, row.get('host', []))))


@pytest.mark.parametrize('row', rows('member_of_hosts'))
def test_member_of(row):
    check(row, MemberOfConstraint().check_host(*about_aggregates(row)), MemberOfConstraint.reasons)


@pytest.mark.parametrize('row', rows('reservations_hosts'))
def test_reservations(row):
    constraint = ReservationsConstraint()
    check(row, constraint.check_host(*about_aggregates(row)), constraint.reasons)


ABOUT_AGGREGATES = [
    pytest.param(constraint, row, id=f'{constraint.name}, {row["name"]}')
    for constraint, table in (
        (MemberOfConstraint, 'member_of_hosts'),
        (ReservationsConstraint, 'reservations_hosts'),
    )
    for row in read(table)
]


@pytest.mark.parametrize(('constraint', 'row'), ABOUT_AGGREGATES)
def test_equal_shapes_in_aggregates_have_equal_verdicts(constraint, row):
    """Whatever else a host is in; two hosts that the rule does not tell apart look alike."""
    asked, _ = about_aggregates(row)
    rule, seen = constraint(), {}
    for letters in itertools.product(*(['', letter] for letter in 'ABCDEF')):
        host = Host('cmp-1', 'cmp-1', aggregates=frozenset(map(uuid_of, filter(None, letters))))
        verdict = rule.check_host(asked, host)
        assert seen.setdefault(rule.shape(asked, host), verdict) == verdict
    assert len(seen) <= 2 ** len(AGGREGATES) + 2


def test_what_is_reserved_is_worked_out_once_for_all_hosts():
    asked, host = about_aggregates({'rules': {'forbidden_member_prefixes': ['reservation:']}})
    rule = ReservationsConstraint()
    first = rule.check_host(asked, host)
    asked.snapshot.aggregates[0].metadata.clear()
    in_a = Host('cmp-2', 'cmp-2', aggregates=frozenset({uuid_of('A')}))
    assert (first.code, rule.check_host(asked, in_a).code) == (
        'reservations.admitted',
        'reservations.reserved',
    )


@pytest.mark.parametrize(
    ('constraint', 'names'),
    [
        (ServerGroupConstraint, ['server_group_hosts']),
        (DrsConstraint, ['drs_hosts']),
        (AggregateMetadataConstraint, AGGREGATE_TABLES),
        (QuotaConstraint, ['quota_groups', 'quota_members']),
        (MemberOfConstraint, ['member_of_hosts']),
        (ReservationsConstraint, ['reservations_hosts']),
    ],
)
def test_every_code_has_a_row(constraint, names):
    """So that every declared sentence was rendered with the facts that it really gets."""
    assert {row['code'] for name in names for row in read(name)} == set(constraint.reasons)


@pytest.mark.parametrize(
    'constraint',
    [
        ServerGroupConstraint,
        DrsConstraint,
        AggregateMetadataConstraint,
        QuotaConstraint,
        MemberOfConstraint,
        ReservationsConstraint,
    ],
)
def test_every_refusal_gives_advice(constraint):
    codes = {row['code'] for name in TABLES for row in read(name) if row['outcome'] == 'REJECT'}
    for code, reason in constraint.reasons.items():
        assert bool(reason.advice) is (code in codes), code


@pytest.mark.parametrize('group', [None, *(policy for policy in ('affinity', 'anti-affinity'))])
def test_equal_shapes_have_equal_verdicts(group):
    """The planner asks about one host of each shape."""
    hosts = [
        Host(name, hypervisor, enabled=enabled, up=up)
        for name in ('cmp-1', 'drs-1')
        for hypervisor in ('cmp-1', 'drs-1')
        for enabled in (True, False)
        for up in (True, False)
    ]
    members = (Member('s1', 'cmp-1'),)
    asked = question(
        group and ServerGroup('g', 'web', group, {}, members), rules=Rules(is_drs_required=True)
    )
    for constraint in (ServerGroupConstraint(), DrsConstraint()):
        seen = {}
        for host in hosts:
            verdict = constraint.check_host(asked, host)
            assert seen.setdefault(constraint.shape(asked, host), verdict) == verdict


def test_hosts_in_the_same_aggregates_have_one_shape():
    """And so are decided once."""
    constraint, asked = AggregateMetadataConstraint(), question()
    one, same, other = (
        Host(name, name, aggregates=frozenset(uuids))
        for name, uuids in (('a', ['x', 'y']), ('b', ['y', 'x']), ('c', ['x']))
    )
    assert constraint.shape(asked, one) == constraint.shape(asked, same)
    assert constraint.shape(asked, one) != constraint.shape(asked, other)
