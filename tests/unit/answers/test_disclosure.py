"""Reports for tenants contain only what trials would reveal."""

import re
from uuid import UUID

import pytest
from msgspec import structs

from senlin_affinity import engine
from senlin_affinity.answers import disclosure, hook
from senlin_affinity.constraints.quota import DRIVER, QuotaConstraint
from senlin_affinity.engine.decision import Kind, Remedy
from senlin_affinity.model.cloud import OtherHosts, Quota
from senlin_affinity.model.errors import BindingError, CloudError, ConstraintError, InvalidSpec
from senlin_affinity.model.proposal import Change
from senlin_affinity.model.verdict import Reason, Verdict
from senlin_affinity.policy.senlin_data import Placement
from senlin_affinity.scenario.constraint import Constraint, is_of_hosts
from tests.support.asked import resolve
from tests.support.our_constraints import OURS
from tests.support.small_cloud import (
    CONSTRAINTS,
    Fence,
    quotas_of,
    request_of,
    rules_of,
    snapshot_of,
)
from tests.support.tables import rows
from tests.support.values import replace
from tests.unit.answers.test_hook import Story

#: Facts about the owner's own resources, which a tenant may read.
OWN_FACTS = {
    *('used', 'limit', 'wanted', 'each', 'members', 'group', 'items'),
    *('needed', 'left', 'allowed'),
    *('status', 'min_ram', 'ram', 'min_disk', 'disk', 'size', 'flavor'),
    *('settings', 'exception', 'message', 'change'),
}


class TenantStory(Story):
    """A story of an owner who may not list hosts."""

    def view(self):
        return replace(super().view(), owner_sees_hosts=False)

    def outcome(self, rules=None):
        return hook.place_nodes(
            self.question, rules or (*CONSTRAINTS, *IMAGE_CONSTRAINT), self.view()
        )


RESOURCES = next(rule for rule in CONSTRAINTS if rule.name == 'resources')
IMAGE_CONSTRAINT = (next(kind for kind in OURS if kind.name == 'image')(),)


@pytest.mark.parametrize('row', rows('policy_trial'))
def test_a_tenant_reads_a_report_and_operators_read_the_full_reason(row):
    outcome = TenantStory(row).outcome()
    answer = outcome.answer
    assert (answer.status_reason, answer.detail) == (row['says'], row.get('detail', ''))
    assert outcome.refusal == Story(row).place().reason
    assert outcome.warning is None


def test_a_warning_is_logged_for_operators_only():
    row = {'hosts': {'cmp-1': {}}, 'count': 2, 'properties': {'preflight': 'warn'}}
    outcome = TenantStory(row).outcome()
    assert isinstance(outcome.answer, Placement)
    assert 'server_group.host_full on 1' in outcome.warning


def test_without_the_group_constraint_its_members_do_not_count_in_a_spread():
    """Otherwise, a tenant could tell that the full host in the other zone exists."""
    row = {
        'hosts': {'cmp-1': {'zone': 'az1', 'free': 1}},
        'group': {'policy': 'anti-affinity', 'members': ['cmp-1']},
        'properties': {'spread': [{'by': 'availability_zone'}]},
        'count': 3,
    }
    closed = {'hosts': {**row['hosts'], 'cmp-2': {'zone': 'az2', 'free': 0}}}
    sentence, same = (TenantStory(each).outcome().answer.reason for each in (row, row | closed))
    assert sentence == same
    assert sentence == 'does not fit: none of 3; a host may hold 1 of server group web'


def test_a_rejection_by_candidates_has_changes_that_need_other_hosts():
    """The owner reads the smallest changes, and operators also read about the candidates."""
    row = {
        'hosts': {'cmp-1': {'zone': 'az-1', 'aggregates': ['one']}},
        'aggregates': {'one': {'zone': 'az-1'}},
        'properties': {'availability_zone': 'az-1'},
        'count': 3,
    }
    helpful = (
        Change('soft_policy', 'a soft policy', size=2, kind=Kind.GIVEN_UP),
        Change('any_zone', 'no availability_zone', size=2, kind=Kind.REQUESTER),
        Change('flavor', 'flavor: tiny', size=1, kind=Kind.REQUESTER),
    )
    story = TenantStory(row)
    view = replace(story.view(), rest=OtherHosts.NOT_OFFERED, helpful=helpful)
    result = hook.place_nodes(story.question, CONSTRAINTS, view)
    words = (
        'does not fit: at most 1 of 3; the servers must be in zone az-1; a host may hold 1 of '
        'server group web; would help: flavor: tiny (3 of 3), max_server_per_host: 3 (3 of 3), '
        'no availability_zone (3 of 3)'
    )
    more = (
        '; of the 1 host(s) that Placement offers: does not fit: 1 of 3 placed; 0/1 hosts left: '
        'server_group.host_full on 1; candidates.not_offered on all other hosts (senlin-affinity '
        'plan explains them)'
    )
    assert (result.answer.reason, result.refusal) == (words, words + more)
    view = replace(view, owner_sees_hosts=True)
    result = hook.place_nodes(story.question, CONSTRAINTS, view)
    assert (result.answer.reason, result.refusal) == (words + more, None)


KNOWN = {
    name: Quota(2000, 0, of_user=Quota(1000, 0))
    for name in ('instances', 'cores', 'server_group_members')
} | {'ram': Quota(None, 0, of_user=Quota(None, 0))}
INSTANCES = KNOWN['instances']
UNIFIED = {DRIVER.key: 'nova.quota.UnifiedLimitsDriver'}


@pytest.mark.parametrize(
    ('quotas', 'options', 'is_number'),
    [
        (None, {}, False),
        ({}, {}, False),
        (KNOWN, {}, True),
        ({**KNOWN, 'instances': replace(INSTANCES, used=None)}, {}, False),
        ({**KNOWN, 'instances': replace(INSTANCES, of_user=None)}, {}, False),
        ({**KNOWN, 'instances': replace(INSTANCES, of_user=None)}, UNIFIED, True),
        *(({k: v for k, v in KNOWN.items() if k != name}, {}, False) for name in KNOWN),
    ],
)
def test_a_tenant_reads_no_number_if_a_quota_is_not_known(quotas, options, is_number):
    """Nova may answer 403 to GET /limits. The hosts have room for more than the quota allows."""
    hosts = {f'cmp-{n}': {'free': 44} for n in (1, 2)}
    row = {'hosts': hosts, 'count': 900, 'project': 'p', 'rules': options}
    row['group'] = {'policy': 'soft-anti-affinity'}
    row['properties'] = {'servergroup': {'policies': 'soft-anti-affinity'}}
    story = TenantStory(row)
    view = story.view()
    view = structs.replace(view, quotas=quotas)
    found = hook.place_nodes(story.question, CONSTRAINTS, view)
    head = 'at most 88 of 900'
    if not is_number:
        head = 'the number that fits is not shown, because not all quotas are known'
        assert not re.search(r'\d', found.for_owner)
    no_room = 'no host accepts more of these servers (operators can find out why)'
    assert found.for_owner.startswith(f'does not fit: {head}; {no_room}')


def test_a_tenant_reads_each_exceeded_quota():
    quotas = {'instances': [4, 2], 'cores': [3, 2], 'server_group_members': [2, None]}
    row = {'hosts': {'cmp-1': {'free': 9}}, 'count': 5, 'project': 'p'}
    row['group'] = {'policy': 'soft-anti-affinity'}
    row['properties'] = {'servergroup': {'policies': 'soft-anti-affinity'}}
    story = TenantStory(row)
    view = structs.replace(story.view(), quotas=quotas_of(quotas))
    found = hook.place_nodes(story.question, CONSTRAINTS, view).for_owner
    assert found.endswith(
        "; the project's quota of cores has 1 of 3 left, but 5 servers "
        'need 5; the project has 2 of 4 instances: no room for 5 more; server group web has 0 of '
        '2 allowed members: no room for 5 more'
    )


def test_a_tenant_reads_no_change_if_a_quota_is_not_known():
    """A change with which all servers fit would reveal the capacity beyond the quota."""
    row = {'hosts': {'cmp-1': {}}, 'count': 3, 'project': 'p'}
    story, helpful = (
        TenantStory(row),
        (Change('flavor', 'flavor: tiny', size=1, kind=Kind.REQUESTER),),
    )
    view = replace(story.view(), rest=OtherHosts.NOT_OFFERED, helpful=helpful)
    for quotas, words in ((KNOWN, 'flavor: tiny (3 of 3)'), (None, None)):
        seen = structs.replace(view, quotas=quotas)
        found = hook.place_nodes(story.question, CONSTRAINTS, seen).for_owner
        assert ('would help' in found) is (words is not None)
        assert (words or '') in found


# -- every code of every constraint

CODES = [
    pytest.param(kind, code, id=code)
    for kind in OURS
    for code, reason in kind.reasons.items()
    if reason.advice
]


def revealing_constraint(kind, code):
    """Return a constraint of this name that rejects everything, with secret facts."""
    facts = {name: f'SECRET-{name}' for name in kind.reasons[code].facts}
    verdict = Verdict.rejected(code, **facts)
    declared = {'name': kind.name, 'order': kind.order, 'reasons': kind.reasons}
    declared |= {'summary': '', 'needs': kind.needs, 'filters': ()}
    if is_of_hosts(kind()):
        check = {'check': lambda self, asked, host, cloud: verdict}
    else:
        check = {'check_request': lambda self, request, cloud: verdict}
    return type('Poisoned', (Constraint,), declared | check)()


ROW = {
    'hosts': {f'cmp-{number}': {'zone': 'az1'} for number in range(97)},
    'aggregates': {'agg-1': {'zone': 'az1'}},
    'properties': {'availability_zone': 'az1'},
    'count': 3,
}


#: Constraints that the request above does not have.
NOT_REQUESTED = ('member_of', 'scheduler_hints', 'spread')


@pytest.mark.parametrize(('kind', 'code'), CODES)
def test_a_tenant_report_contains_no_fact_about_a_host(kind, code):
    outcome = TenantStory(ROW).outcome(
        [revealing_constraint(kind, code), *([RESOURCES] * (kind.name != RESOURCES.name))]
    )
    words, own = outcome.answer.reason, kind.reasons[code].for_owner
    secrets = {*re.findall(r'SECRET-(\w+)', words)}
    assert secrets <= (set() if is_of_hosts(kind()) else OWN_FACTS)
    assert code not in words
    assert not re.search('cmp-|agg-|97', words)
    assert words.startswith('does not fit: none of 3; ')
    assert (disclosure.NO_ROOM in words) == (own is None or kind.name in NOT_REQUESTED)
    assert f'{code} ' in outcome.refusal


def test_a_reason_is_hidden_unless_it_has_a_sentence_for_the_owner():
    kind = next(type(rule) for rule in CONSTRAINTS if rule.name == 'fence')
    code, reason = next((code, reason) for code, reason in kind.reasons.items() if reason.advice)
    assert reason.for_owner is None
    assert (
        disclosure.NO_ROOM
        in TenantStory(ROW).outcome([revealing_constraint(kind, code), RESOURCES]).answer.reason
    )
    for words, sentence in (
        ('kept from {count}', 'kept from 3'),
        ('kept on {host}', disclosure.NO_ROOM),
    ):
        opened = {**kind.reasons, code: Reason(reason.sentence, for_owner=words)}
        rule = revealing_constraint(type('Open', (kind,), {'reasons': opened}), code)
        assert sentence in TenantStory(ROW).outcome([rule, RESOURCES]).answer.reason


def test_a_tenant_reads_the_owners_sentence_of_a_rejected_request():
    kind = next(type(rule) for rule in CONSTRAINTS if rule.name == 'quota')
    code, reason = next((code, reason) for code, reason in kind.reasons.items() if reason.for_owner)
    for words, shown in (('ask for fewer', 'ask for fewer'), (None, disclosure.NO_ROOM)):
        opened = {**kind.reasons, code: Reason(reason.sentence, for_owner=words)}
        rule = revealing_constraint(type('Open', (kind,), {'reasons': opened}), code)
        outcome = TenantStory(ROW).outcome([rule, RESOURCES])
        assert outcome.answer.reason == f'does not fit: none of 3; {shown}'


def opened(sentence):
    """Return a constraint on hosts with this sentence for the owner, which requires nothing."""
    reasons = {'fence.open': Reason('open', for_owner=sentence)}
    return type('Open', (Fence,), {'name': 'open', 'reasons': reasons})()


@pytest.mark.parametrize(
    ('data', 'is_upper_bound', 'reason'),
    [
        ({'availability_zone': None}, False, 'the servers must be in zone nova'),
        ({'availability_zone': None}, True, disclosure.NO_ROOM),
        ({'given_up': ['fence']}, False, disclosure.NO_ROOM),
    ],
)
def test_a_requirement_is_a_reason_if_more_servers_surely_fit_without_it(
    data, is_upper_bound, reason
):
    row = {'hosts': {'cmp-1': {'free': 0}}, 'request': {'availability_zone': 'nova'}}
    resolved = resolve(request_of(row), snapshot_of(row), rules_of(row))
    constraints = [*CONSTRAINTS, opened('ask for {count}')]
    change = Remedy('x', 'a change', 9, 1, is_upper_bound, data=data)
    decision = replace(engine.plan(*resolved.planned, constraints), tried=(change,))
    assert disclosure.tenant_report(decision, *resolved, constraints).reasons == (reason,)


def test_the_owners_sentences_contain_the_owners_input():
    row = {
        'hosts': {'cmp-1': {}},
        'aggregates': {'ssd': {'metadata': {'rack': '1', 'row': '1', 'room': '1'}}, 'big': {}},
        'group': {'policy': 'affinity', 'rules': {}},
        'request': {
            'count': 2,
            'availability_zone': 'nova',
            'member_of': ['ssd', 'big'],
            'spread': [{'by': 'rack'}, {'by': 'row', 'mode': 'soft'}, {'by': 'room'}],
            'scheduler_hints': {'same_host': str(UUID(int=1)), 'different_host': str(UUID(int=2))},
            'enabled_filters': ['SameHostFilter', 'DifferentHostFilter'],
        },
    }
    names = ('count', 'flavor', 'availability_zone', 'member_of', 'spread')
    names += ('scheduler_hints', 'group', 'affinity_group')
    resolved = resolve(request_of(row), snapshot_of(row), rules_of(row))
    of_request = {'quota.few': Reason('few', for_owner='ask for fewer')}
    quota = type('OpenQuota', (QuotaConstraint,), {'reasons': of_request})()
    constraints = [*CONSTRAINTS, quota, *(opened(f'{name}: {{{name}}}') for name in names)]
    found = [*disclosure.requirements(resolved.request, constraints)]
    assert found[-len(names) :] == [
        'count: 2',
        'flavor: small',
        'availability_zone: nova',
        'member_of: ssd, big',
        'spread: rack, room',
        'scheduler_hints: same_host, different_host',
        'group: web',
        'affinity_group: web',
    ]
    assert found[: -len(names)] == [
        'the servers must be in zone nova',
        'the servers must satisfy member_of ssd, big',
        'the servers must satisfy the scheduler hints same_host, different_host',
        'the servers of server group web must share a host',
        'the servers must be spread by rack, room',
    ]
    row = {'group': {'policy': 'anti-affinity', 'rules': {'max_server_per_host': 2}}}
    resolved = resolve(request_of(row), snapshot_of(row), rules_of(row))
    names = ('max_server_per_host', 'availability_zone', 'member_of', 'spread', 'affinity_group')
    constraints = [*(opened(f'{name}: {{{name}}}') for name in names)]
    assert [*disclosure.requirements(resolved.request, constraints)] == ['max_server_per_host: 2']


@pytest.mark.parametrize('kind', OURS, ids=lambda kind: kind.name)
def test_all_codes_about_hosts_share_one_sentence_for_the_owner(kind):
    """So the sentence does not reveal which host was rejected for which reason."""
    if not is_of_hosts(kind()):
        return
    sentence = {reason.for_owner for reason in kind.reasons.values() if reason.advice}
    if kind.name == 'server_group':  # it depends on the policy, which is the owner's
        assert len(sentence) == 2
    else:
        assert len(sentence) == 1


# -- every kind of remedy

#: The codes of all changes that an owner can try.
OWNERS = {
    *('availability_zone', 'any_zone', 'flavor', 'max_server_per_host', 'new_group'),
    *('soft_policy', 'rule_given_up', 'max_skew', 'max_per_domain', 'boot_from_volume'),
}


@pytest.mark.parametrize('row', rows('remedies'))
def test_a_tenant_report_names_only_the_owners_input(row):
    resolved = resolve(request_of(row), snapshot_of(row), rules_of(row))
    decision = engine.plan(*resolved.planned, CONSTRAINTS)
    if decision.fits is not False:
        return
    read = disclosure.tenant_report(decision, *resolved, CONSTRAINTS)
    snapshot = resolved.cloud
    hidden = {each.host for each in snapshot.hosts or ()} | {
        resolved.request.project_id or '(none)'
    }
    named = set(re.findall(r'[\w-]+', ' '.join(resolved.request.member_of_text)))
    hidden |= {each.name for each in snapshot.aggregates or ()} - named
    hidden |= {each.change for each in decision.remedies if not each.for_tenant}
    line = read.line()
    assert [
        each for each in hidden if re.search(rf'(?<![\w-]){re.escape(each)}(?![\w-])', line)
    ] == []
    assert read.number <= read.wanted
    enough = {each.change for each in decision.tried if each.capacity >= read.wanted}
    assert enough.issuperset(read.changes)
    assert {each.code for each in decision.tried} <= OWNERS


def test_the_rows_contain_every_change_that_an_owner_can_try():
    found = set()
    for row in rows('remedies'):
        resolved = resolve(
            request_of(row.values[0]), snapshot_of(row.values[0]), rules_of(row.values[0])
        )
        found |= {each.code for each in engine.plan(*resolved.planned, CONSTRAINTS).tried}
    assert found == OWNERS


@pytest.mark.parametrize('kind', Kind)
def test_a_remedy_is_hidden_from_tenants_by_default(kind):
    assert not Remedy('more', 'more hosts in SECRET', 9, 1, kind=kind).for_tenant


# -- errors


@pytest.mark.parametrize(
    ('error', 'is_whole'),
    [
        (InvalidSpec('there is no flavor x', 'flavor'), True),
        (InvalidSpec('there is no such group', 'properties.servergroup'), True),
        (BindingError('attach it again'), True),
        (InvalidSpec('no aggregate has the name x; the nearest are y', 'member_of[0]'), False),
        (ConstraintError('rack', 'check', "KeyError: 'r-7'", 'host cmp-1'), False),
        (CloudError('Nova answered 500: cmp-1'), False),
        (KeyError('cmp-1'), False),
    ],
    ids=str,
)
def test_a_tenant_reads_only_errors_about_their_own_input(error, is_whole):
    read = disclosure.redacted(error)
    assert (read is error) == is_whole
    assert is_whole or str(read) == disclosure.NOT_KNOWN


@pytest.mark.parametrize('more', ['; there are y, z', ': did you mean y?', ''])
def test_an_error_about_an_unknown_zone_names_no_other_zone(more):
    read = disclosure.redacted(
        InvalidSpec(f"there is no availability zone 'x'{more}", 'availability_zone')
    )
    assert str(read) == "availability_zone: there is no availability zone 'x'"
