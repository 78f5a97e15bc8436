"""What the owner of a cluster reads who may not list the hosts."""

import re
import string
from dataclasses import replace

import pytest

from senlin_affinity.model.constraint import Constraint, is_of_hosts
from senlin_affinity.model.errors import BindingError, CloudError, ConstraintError, InvalidSpec
from senlin_affinity.model.reason import Reason
from senlin_affinity.model.verdict import Verdict
from senlin_affinity.planner.decision import Kind, Remedy
from senlin_affinity.planner.planner import decide
from senlin_affinity.planner.resolution import resolve
from senlin_affinity.policy.placement import Placement
from senlin_affinity.preflight import disclosure, hook
from tests.support.our_constraints import OURS
from tests.support.small_cloud import CONSTRAINTS, request_of, rules_of, snapshot_of
from tests.support.tables import rows
from tests.unit.preflight.test_hook import Story

#: Facts that are the owner's own, though a rule about the request as a whole tells them.
OWN_FACTS = {
    *('used', 'limit', 'wanted', 'each', 'members', 'group', 'items'),
    *('status', 'min_ram', 'ram', 'min_disk', 'disk', 'size'),
}


class Owners(Story):
    """A story that the owner may not see the hosts of."""

    def seen(self):
        return replace(super().seen(), owner_sees_hosts=False)

    def outcome(self, rules=None):
        return hook.decide(self.scale_request(rules or (*CONSTRAINTS, *MORE)), self.seen())


ROOM = next(rule for rule in CONSTRAINTS if rule.name == 'resources')
MORE = (next(kind for kind in OURS if kind.name == 'image')(),)


@pytest.mark.parametrize('row', rows('policy_trial'))
def test_a_refusal_in_the_owners_words(row):
    outcome = Owners(row).outcome()
    answer = outcome.answer
    assert (answer.status_reason, answer.detail) == (row['says'], row.get('detail', ''))
    assert outcome.refusal == Story(row).place().reason
    assert outcome.warning is None


def test_what_is_only_warned_of_is_for_operators():
    row = {'hosts': {'cmp-1': {}}, 'count': 2, 'properties': {'preflight': 'warn'}}
    outcome = Owners(row).outcome()
    assert isinstance(outcome.answer, Placement)
    assert 'server_group.host_full on 1' in outcome.warning


def test_without_the_rule_of_a_group_its_servers_do_not_count_elsewhere():
    """As in a trial: else a host that takes nothing, in a zone of its own, would be seen."""
    row = {
        'hosts': {'cmp-1': {'zone': 'az1', 'free': 1}},
        'group': {'policy': 'anti-affinity', 'members': ['cmp-1']},
        'properties': {'spread': [{'by': 'availability_zone'}]},
        'count': 3,
    }
    closed = {'hosts': {**row['hosts'], 'cmp-2': {'zone': 'az2', 'free': 0}}}
    said, same = (Owners(each).outcome().answer.reason for each in (row, row | closed))
    assert said == same
    assert said == 'does not fit: at most 0 of 3; a host may hold 1 of server group web'


# -- every code of every rule

CODES = [
    pytest.param(kind, code, id=code)
    for kind in OURS
    for code, reason in kind.reasons.items()
    if reason.advice
]


def facts_of(sentence):
    return {field for _text, field, _spec, _kind in string.Formatter().parse(sentence) if field}


def poisoned(kind, code):
    """A rule of this name that refuses all by this code, with facts that may not be read."""
    verdict = Verdict.rejected(
        code, **{name: f'SECRET-{name}' for name in facts_of(kind.reasons[code].sentence)}
    )
    declared = {'name': kind.name, 'order': kind.order, 'reasons': kind.reasons}
    declared |= {'summary': '', 'needs': kind.needs, 'filters': ()}
    if is_of_hosts(kind()):
        check = {'check_host': lambda self, resolved, host: verdict}
        check['shape'] = lambda self, resolved, host: None
    else:
        check = {'check_request': lambda self, resolved: verdict}
    return type('Poisoned', (Constraint,), declared | check)()


ROW = {
    'hosts': {f'cmp-{number}': {'zone': 'az1'} for number in range(97)},
    'aggregates': {'agg-1': {'zone': 'az1'}},
    'properties': {'availability_zone': 'az1'},
    'count': 3,
}


#: Rules of the owner's that the request above does not have.
NOT_REQUESTED = ('member_of', 'scheduler_hints', 'spread')


@pytest.mark.parametrize(('kind', 'code'), CODES)
def test_no_fact_of_a_host_is_in_the_words_whatever_the_code(kind, code):
    outcome = Owners(ROW).outcome([poisoned(kind, code), *([ROOM] * (kind.name != ROOM.name))])
    words, own = outcome.answer.reason, kind.reasons[code].for_owner
    secrets = {*re.findall(r'SECRET-(\w+)', words)}
    assert secrets <= (set() if is_of_hosts(kind()) else OWN_FACTS)
    assert code not in words
    assert not re.search('cmp-|agg-|97', words)
    assert words.startswith('does not fit: at most 0 of 3; ')
    assert (disclosure.NO_ROOM in words) == (own is None or kind.name in NOT_REQUESTED)
    assert f'{code} ' in outcome.refusal


def test_a_rule_of_another_package_is_closed_until_it_says_what_the_owner_may_read():
    kind = next(type(rule) for rule in CONSTRAINTS if rule.name == 'fence')
    code, reason = next((code, reason) for code, reason in kind.reasons.items() if reason.advice)
    assert reason.for_owner is None
    assert disclosure.NO_ROOM in Owners(ROW).outcome([poisoned(kind, code), ROOM]).answer.reason
    for words, said in (
        ('kept from {count}', 'kept from 3'),
        ('kept on {host}', disclosure.NO_ROOM),
    ):
        opened = {**kind.reasons, code: Reason(reason.sentence, for_owner=words)}
        rule = poisoned(type('Open', (kind,), {'reasons': opened}), code)
        assert said in Owners(ROW).outcome([rule, ROOM]).answer.reason


@pytest.mark.parametrize('kind', OURS, ids=lambda kind: kind.name)
def test_which_code_it_is_says_nothing(kind):
    """Of the codes that refuse hosts one request gets one sentence: which host has which is hid."""
    if not is_of_hosts(kind()):
        return
    said = {reason.for_owner for reason in kind.reasons.values() if reason.advice}
    if kind.name == 'server_group':  # it depends on the policy, which is the owner's
        assert len(said) == 2
    else:
        assert len(said) == 1


# -- every kind of remedy

#: Codes of the changes that an owner could try.
OWNERS = {
    *('availability_zone', 'any_zone', 'flavor', 'max_server_per_host', 'new_group'),
    *('soft_policy', 'rule_given_up', 'max_skew', 'max_per_domain'),
}


@pytest.mark.parametrize('row', rows('remedies'))
def test_a_remedy_names_nothing_but_the_owners_own(row):
    resolved = resolve(request_of(row), snapshot_of(row), rules_of(row))
    decision = decide(resolved, CONSTRAINTS)
    if decision.fits is not False:
        return
    read = disclosure.tenant_report(decision, resolved, CONSTRAINTS)
    snapshot = resolved.snapshot
    hidden = {each.host for each in snapshot.hosts or ()} | {resolved.project_id or '(none)'}
    named = set(re.findall(r'[\w-]+', ' '.join(resolved.request.member_of)))
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


def test_every_change_of_an_owner_is_in_the_table():
    found = set()
    for row in rows('remedies'):
        resolved = resolve(
            request_of(row.values[0]), snapshot_of(row.values[0]), rules_of(row.values[0])
        )
        found |= {each.code for each in decide(resolved, CONSTRAINTS).tried}
    assert found == OWNERS


@pytest.mark.parametrize('kind', Kind)
def test_a_remedy_is_closed_unless_it_says_otherwise(kind):
    assert not Remedy('more', 'more hosts in SECRET', 9, 1, kind=kind).for_tenant


# -- errors


@pytest.mark.parametrize(
    ('error', 'is_whole'),
    [
        (InvalidSpec('there is no flavor x', 'flavor'), True),
        (InvalidSpec('there is no such group', 'properties.servergroup'), True),
        (BindingError('attach it again'), True),
        (InvalidSpec('no aggregate has the name x; the nearest are y', 'member_of[0]'), False),
        (ConstraintError('rack', 'check_host', "KeyError: 'r-7'", 'host cmp-1'), False),
        (CloudError('Nova answered 500: cmp-1'), False),
        (KeyError('cmp-1'), False),
    ],
    ids=str,
)
def test_an_error_quotes_what_the_owner_wrote(error, is_whole):
    read = disclosure.redacted(error)
    assert (read is error) == is_whole
    assert is_whole or str(read) == disclosure.NOT_KNOWN


@pytest.mark.parametrize('more', ['; there are y, z', ': did you mean y?', ''])
def test_a_zone_that_there_is_not_names_no_other(more):
    read = disclosure.redacted(
        InvalidSpec(f"there is no availability zone 'x'{more}", 'availability_zone')
    )
    assert str(read) == "availability_zone: there is no availability zone 'x'"
