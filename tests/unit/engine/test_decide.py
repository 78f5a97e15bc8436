"""The planner's decisions, row by row, and the requests that it rejects."""

import json
from collections import Counter
from typing import ClassVar

import pytest

from senlin_affinity.constraints.base import Constraint
from senlin_affinity.engine import assign
from senlin_affinity.model.cloud import Cloud, Flavor
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.host import Host
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.verdict import Outcome, Reason, Verdict
from tests.support.asked import NamedRequest, plan, resolve
from tests.support.small_cloud import CONSTRAINTS, Fence, granted, request_of, rules_of, snapshot_of
from tests.support.tables import check_error, raises, rows


def answer(row):
    request, rules = request_of(row), rules_of(row)
    asked = resolve(request, snapshot_of(row), rules)
    asked = granted(asked, row.get('hosts') or {}, is_whole=not row.get('is_cut', False))
    return plan(request, asked.cloud, CONSTRAINTS, rules)


#: What a decision prints, in this order: others read it.
PRINTED = (
    'fits wanted capacity capacity_is_upper_bound capacity_certain at_most certain assumptions '
    'line placements hosts request remedies violated capacity_of_hosts'
)


BY_BOUND = 'fits by an upper bound only'


@pytest.mark.parametrize('row', rows('plan'))
def test_plan(row):
    if raises(row):
        with pytest.raises(InvalidSpec) as caught:
            answer(row)
        check_error(row, caught.value)
        return
    decision = answer(row)
    head, _colon, _rest = decision.line().partition(': ')
    assert head == row['outcome']
    assert decision.fits is {'fits': True, BY_BOUND: True, 'does not fit': False}.get(head)
    assert decision.fits_by_upper_bound is (head == BY_BOUND)
    assert decision.wanted == row.get('request', {}).get('count', 1)
    assert decision.capacity == row['capacity']
    assert decision.at_most == tuple(row.get('at_most', ()))
    assert decision.capacity_is_upper_bound is bool(decision.at_most)
    certain = 0 if decision.at_most else decision.capacity or 0
    assert decision.capacity_certain == row.get('certain', certain)
    assumed = row.get('assumed', [])
    assert [item.code for item in decision.assumptions] == assumed
    is_sure = not (decision.at_most or assumed)
    assert decision.certain is (decision.capacity is not None and is_sure)
    hosts = [placement.host for placement in decision.placements]
    assert Counter(hosts) == row.get('placed', Counter(hosts))
    assert hosts[: len(row.get('first', ()))] == row.get('first', [])
    assert decision.line() == row.get('line', decision.line())
    reports = {report.host: report for report in decision.hosts}
    for host, code in row.get('codes', {}).items():
        assert reports[host].code == code
    for host, codes in row.get('rejected', {}).items():
        assert [each.code for each in reports[host].verdicts.values() if not each] == codes
    for host, room in row.get('rooms', {}).items():
        assert reports[host].room == room
    for name, code in row.get('of_request', {}).items():
        assert decision.request[name].code == code
    printed = json.loads(json.dumps(decision.as_dict()))
    assert printed['violated'] == row.get('violated', [])
    check_printed(printed, decision)


def check_printed(printed, decision):
    assert printed == decision.as_dict()
    assert printed['at_most'] == list(decision.at_most)
    assert ' '.join(printed) == PRINTED
    names = [constraint.name for constraint in CONSTRAINTS if constraint.name != 'quota']
    for report in printed['hosts']:
        assert [verdict['constraint'] for verdict in report['verdicts']] == names
    verdicts = [each for report in printed['hosts'] for each in report['verdicts']]
    for keys, things in {
        'host zone servergroup': printed['placements'],
        'host room code verdicts': printed['hosts'],
        'constraint outcome code facts': verdicts + printed['request'],
        'code change capacity capacity_is_upper_bound kind data commands': printed['remedies'],
    }.items():
        assert {' '.join(thing) for thing in things} <= {keys}


@pytest.mark.parametrize(
    ('fields', 'path'),
    [
        ({'scheduler_hints': {'same_host': 7}}, 'scheduler_hints.same_host'),
        ({'scheduler_hints': {'different_host': 'web-1'}}, 'scheduler_hints.different_host'),
        ({'flavor': None}, 'flavor'),
        ({'server_group': 7}, 'server_group'),
    ],
)
def test_a_malformed_request_is_rejected_with_its_path(fields, path):
    request = NamedRequest(**{'count': 1, 'flavor': 'f', **fields})
    with pytest.raises(InvalidSpec) as caught:
        plan(request, snapshot_of({'hosts': {}}), CONSTRAINTS)
    assert caught.value.path == path


SIX_ON_TWO = {
    'hosts': {'cmp-1': {}, 'cmp-2': {'zone': 'az-2', 'disabled': True}},
    'group': {'policy': 'anti-affinity'},
    'request': {'count': 6},
    'quotas': {'instances': [3, 0]},
}


def test_the_advice_is_that_of_the_codes_in_the_line():
    """Each once: first for the hosts, then for the request."""
    assert answer(SIX_ON_TWO).advice() == (
        'enable the compute service of the host',
        'raise max_server_per_host, or add a host',
        'raise the instances quota, or delete servers',
    )


@pytest.mark.parametrize('row', [SIX_ON_TWO, {**SIX_ON_TWO, 'hosts': None}], ids=['hosts', 'none'])
def test_skipped_verdicts_may_be_left_out(row):
    """The rest of the JSON is unchanged."""
    decision = answer(row)
    whole, short = decision.as_dict(), decision.as_dict(skipped=False)
    for part in (whole, *whole['hosts']):
        key = 'request' if part is whole else 'verdicts'
        part[key] = [each for each in part[key] if each['outcome'] != 'SKIP']
    assert short == whole


TOO_SMALL = {'VCPU': [4, 0], 'MEMORY_MB': [512, 0], 'DISK_GB': [10, 0]}


@pytest.mark.parametrize(
    ('hosts', 'rules'),
    [
        # to enable a host that is too small does not help
        ([{'small': 1, 'disabled': True}, {'small': 1}, {'small': 1, 'down': True}],
         ['resources.too_large', 'resources.exhausted']),
        # if every host is rejected twice, both are necessary
        ([{'small': 1, 'disabled': True}], ['host_state.disabled', 'resources.exhausted']),
        # each of two hosts is rejected by one
        ([{'disabled': True}, {'small': 1}], ['host_state.disabled', 'resources.exhausted']),
        ([{'disabled': True}, {}], ['host_state.disabled']),
    ],
    ids=['too small', 'refused twice', 'each by one', 'one is left'],
)  # fmt: skip
def test_the_advice_of_constraints_that_alone_reject(hosts, rules):
    hosts = {
        f'cmp-{number}': {**host, **({'resources': TOO_SMALL} if host.get('small') else {})}
        for number, host in enumerate(hosts)
    }
    decision = answer({'hosts': hosts, 'flavor': {'vcpus': 5}, 'request': {'count': 1}})
    found = decision.advice()
    assert found
    assert set(found) <= {decision.reasons[code].advice for code in rules}
    assert len(found) == len({code.partition('.')[0] for code in rules})


def test_a_report_has_the_servers_of_the_group_and_the_new_ones():
    group = {
        'policy': 'anti-affinity',
        'rules': {'max_server_per_host': 3},
        'members': ['cmp-1', 'cmp-1', None],
    }
    row = {'hosts': {'cmp-1': {}, 'cmp-2': {}}, 'group': group, 'request': {'count': 3}}
    assert [
        (report.host, report.members, report.placed, report.room, report.code, report.rejected_by)
        for report in answer(row).hosts
    ] == [
        ('cmp-1', 2, 1, 0, 'server_group.host_full', 'server_group'),
        ('cmp-2', 0, 2, 1, None, None),
    ]


def test_a_placement_has_its_zone_and_group_and_a_line_names_no_host():
    decision = answer(SIX_ON_TWO)
    assert decision.placements == (('cmp-1', 'nova', 'g'),)
    assert 'cmp' not in decision.line()
    assert decision.hosts is decision.hosts
    assert decision.remedies is decision.remedies


THINGS = Cloud(
    hosts=(Host('cmp-1', 'cmp-1', availability_zone='nova'),),
    flavors=tuple(
        Flavor(identity, name, 1, 512, 1)
        for identity, name in (
            ('1', 'small'), ('2', 'twin'), ('3', 'twin'), ('twin-id', 'other'), ('4', 'twin-id')
        )
    ),
    server_groups=tuple(
        ServerGroup(identity, name, 'affinity')
        for identity, name in (('a', 'web'), ('b', 'web'), ('c', 'db'))
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ('asked', 'path', 'words'),
    [
        ({'flavor': 'smal'}, 'flavor', "there is no flavor 'smal': did you mean small?"),
        ({'flavor': 'twin'}, 'flavor',
         "2 flavors are called 'twin': use an id (2, 3)"),
        ({'server_group': 'zzz'}, 'server_group',
         "there is no server group 'zzz'; there are db, web"),
        ({'server_group': 'web'}, 'server_group',
         "2 server groups are called 'web': use an id (a, b)"),
        ({'availability_zone': 'novo'}, 'availability_zone',
         "there is no availability zone 'novo': did you mean nova?"),
        ({'availability_zone': 'x'}, 'availability_zone',
         "there is no availability zone 'x'; there is only nova"),
        ({'count': -1}, 'count', 'must be an integer of 0 or more, not -1'),
        ({'count': 1.0}, 'count', 'must be an integer of 0 or more, not 1.0'),
        ({'flavor': None}, 'flavor', 'must be a name or an id, as a string, not None'),
        ({'flavor': 5}, 'flavor', 'must be a name or an id, as a string, not 5'),
        ({'server_group': 5}, 'server_group', 'must be a name or an id, as a string, not 5'),
        ({'availability_zone': b'nova'}, 'availability_zone',
         "must be a name or an id, as a string, not b'nova'"),
        ({'enabled_filters': 'ComputeFilter'}, 'enabled_filters',
         "must be a tuple of names, not 'ComputeFilter'"),
        ({'enabled_filters': 5}, 'enabled_filters', 'must be a tuple of names, not 5'),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else '',
)  # fmt: skip
def test_unknown_and_ambiguous_names(asked, path, words):
    """RX-01: an error of the user is reported with its path and a suggestion."""
    with pytest.raises(InvalidSpec) as caught:
        plan(NamedRequest(**({'count': 1, 'flavor': '1'} | asked)), THINGS, CONSTRAINTS)
    assert (caught.value.path, str(caught.value)) == (path, f'{path}: {words}')


@pytest.mark.parametrize(
    'asked',
    [
        {'flavor': '3', 'server_group': 'b'},
        {'flavor': 'twin-id', 'server_group': 'db'},  # an id goes before a name
        {'flavor': 'small', 'availability_zone': 'nova'},
    ],
    ids=str,
)
def test_names_and_ids_are_resolved(asked):
    assert plan(NamedRequest(1, **asked), THINGS, CONSTRAINTS).wanted == 1


OURS = ServerGroup('a', 'web', 'affinity', project_id='ours')
THEIRS = ServerGroup('b', 'web', 'affinity', project_id='theirs')
THEIR_DB = ServerGroup('c', 'db', 'affinity', project_id='theirs')


@pytest.mark.parametrize(
    ('project', 'name', 'found'),
    [
        (None, 'web', OURS),
        (None, 'db', THEIR_DB),  # no project is named
        ('ours', 'db', None),
        ('theirs', 'web', THEIRS),
        ('theirs', 'a', OURS),  # by its id
        ('third', 'b', THEIRS),
        ('third', 'web', None),
    ],
    ids=lambda value: getattr(value, 'id', value),
)
def test_a_name_is_a_group_of_the_own_project(project, name, found):
    snapshot = Cloud(server_groups=(OURS, THEIRS, THEIR_DB), project_id='ours')
    request = NamedRequest(1, 'f', name, project_id=project)
    if found is None:
        with pytest.raises(InvalidSpec, match=f"there is no server group '{name}'"):
            resolve(request, snapshot)
    else:
        assert resolve(request, snapshot).request.server_group == found


@pytest.mark.parametrize(
    ('values', 'asked'),
    [
        ((), MemberOf()),
        (('in:A,b', '!c'), MemberOf((frozenset('Ab'),), frozenset('c'))),
    ],
)
def test_names_of_unknown_aggregates_are_preserved(values, asked):
    found = resolve(NamedRequest(1, 'f', member_of=values), Cloud())
    assert found.request.member_of == asked
    with pytest.raises(InvalidSpec, match=r'^member_of\[0\]: in: must be followed by'):
        resolve(NamedRequest(1, 'f', member_of=('in:', *values)), Cloud())


@pytest.mark.parametrize('hosts', [None, (Host('a', 'a'), Host('b', 'b', availability_zone='az'))])
def test_a_zone_that_may_exist(hosts):
    """No zone, or not the zone of each host, is known."""
    request = NamedRequest(1, 'f', availability_zone='nova')
    assert plan(request, Cloud(hosts), ()).fits is None


def test_a_zone_that_a_tenant_cannot_list():
    snapshot = Cloud(availability_zones=frozenset('abcdefghijkl'))
    with pytest.raises(InvalidSpec, match='zone .az-9.; there are a, b, c, d, e, f, g, h, i, j$'):
        plan(NamedRequest(1, 'f', availability_zone='az-9'), snapshot, ())


def test_without_constraints():
    """Without constraints, the room of the hosts is unknown."""
    decision = plan(NamedRequest(1, '1'), THINGS, ())
    assert (decision.fits, decision.capacity, decision.placements) == (None, None, ())


class Says(Constraint):
    """A constraint on the whole request."""

    name, order, summary, needs, filters = 'says', 950, 'what it is told to say', (), ()
    reasons: ClassVar = {
        'says.so': Reason('it says so', advice='ask nobody'),
        'says.no': Reason('it says no'),
    }

    def __init__(self, verdict):
        self._verdict = verdict

    def check_request(self, request, cloud):
        return self._verdict


@pytest.mark.parametrize(
    ('verdict', 'fits', 'capacity', 'placed'),
    [
        (Verdict.unknown('says.so'), None, 20, 0),
        (Verdict(Outcome.REJECT, 'says.no'), False, 0, 0),  # without a number, the room is 0
        (Verdict.rejected('says.no'), False, 0, 0),
        (Verdict.passed('says.so', room=7, least=1), None, 7, 1),
        (Verdict.passed('says.so', least=3), True, 20, 2),
        (Verdict.skipped('says.so'), True, 20, 2),
    ],
)
def test_verdicts_about_the_request(verdict, fits, capacity, placed):
    quotas = {'instances': [20, 0]}
    row = {'hosts': {'cmp-1': {}, 'cmp-2': {}}, 'quotas': quotas, 'request': {'count': 2}}
    decision = plan(request_of(row), snapshot_of(row), (*CONSTRAINTS, Says(verdict)))
    assert (decision.fits, decision.capacity, len(decision.placements)) == (fits, capacity, placed)
    assert decision.capacity_is_upper_bound is (fits is None or verdict.bounds.is_at_most)
    assert decision.advice() == ()


def test_a_constraint_reads_the_free_amounts_after_the_placements():
    asked = []

    class Watch(Fence):
        reads = ('host', 'aggregates', 'free')

        def check(self, _asked, host, cloud):
            asked.append(host)
            return super().check(_asked, host, cloud)

    gpu = {'VCPU': [9, 0], 'MEMORY_MB': [9999, 0], 'DISK_GB': [9, 0], 'CUSTOM_GPU': [2, 1]}
    row = {'hosts': {'cmp-1': {'resources': gpu}, 'cmp-2': {'free': 0}}}
    row |= {'flavor': {'vcpus': 2}, 'request': {'count': 2}}
    decision = plan(request_of(row), snapshot_of(row), (*CONSTRAINTS, Watch()))
    assert [report.placed for report in decision.hosts] == [2, 0]
    assert [host.host for host in asked] == ['cmp-1', 'cmp-2'] * 2
    before, after = (asked[index].free for index in (0, 2))
    assert before == {'VCPU': 9, 'MEMORY_MB': 9999, 'DISK_GB': 9, 'CUSTOM_GPU': 1}
    assert after == {'VCPU': 5, 'MEMORY_MB': 8975, 'DISK_GB': 7, 'CUSTOM_GPU': 1}


@pytest.mark.parametrize(
    'amount', [2**43, 2**43 + 1, 2**63, 10**30], ids=['2^43', '2^43+1', '2^63', '10^30']
)
def test_an_amount_above_that_of_any_host_is_exhausted(amount):
    gpus = {'CUSTOM_GPU': {'capacity': 8, 'used': 0}}
    row = {'hosts': {'cmp-1': {'resources': gpus}}, 'request': {'count': 1}}
    row['flavor'] = {
        'extra_specs': {'resources:CUSTOM_GPU': str(amount)},
        'vcpus': 0, 'ram': 0, 'disk': 0,
    }  # fmt: skip
    (report,) = plan(request_of(row), snapshot_of(row), CONSTRAINTS).hosts
    assert report.code == 'resources.exhausted'
    facts = report.verdicts['resources'].facts
    assert (facts['free'], facts['amount']) == (8, amount)


@pytest.mark.parametrize('policy', ['anti-affinity', 'soft-affinity'])
def test_a_full_domain_ends_the_search_for_a_host(policy, monkeypatch):
    """Each host of it is looked at once, however many servers it could take."""
    hosts = {f'cmp-{n}': {'zone': 'az-1', 'free': 10**6} for n in range(120)}
    row = {'hosts': {**hosts, 'last': {'zone': 'az-2', 'free': 1}}, 'request': {'count': 6}}
    row['request']['spread'] = [{'by': 'availability_zone'}]
    row['aggregates'] = {zone: {'zone': zone} for zone in ('az-1', 'az-2')}
    row['group'] = {'policy': policy, 'rules': {}}
    looked, is_open = [], assign._Choice._is_open
    monkeypatch.setattr(
        assign._Choice, '_is_open', lambda self, at: looked.append(at) or is_open(self, at)
    )
    decision = plan(request_of(row), snapshot_of(row), CONSTRAINTS)
    assert len(decision.placements) < 6
    assert len(looked) < 2000
