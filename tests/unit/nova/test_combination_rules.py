"""nova-api's recorded answers to combinations of settings, and what is said of unknown values."""

import pytest

from senlin_affinity.nova.combination_rules import NEWEST, OLDEST, RULES, check
from senlin_affinity.nova.guest_request import GuestRequest
from tests.recordings.combinations import TABLE, guest
from tests.support.nova_api_combinations import Combination
from tests.support.tables import read, rows

IMAGE, CPUS, RELEASE = (
    'the properties of the image',
    'the CPUs of the flavor',
    'the release of Nova',
)


@pytest.mark.parametrize('row', rows(TABLE))
def test_a_recorded_answer(row):
    values = Combination(image=row['image'], **row['flavor'])
    rejection = check(guest(values), NEWEST).rejection
    assert ('accepted' if rejection is None else rejection.exception) == row['outcome']


def test_every_rule_has_a_recorded_answer():
    every = (Combination(image=row['image'], **row['flavor']) for row in read(TABLE))
    rejections = [check(guest(values), NEWEST).rejection for values in every]
    decided = {rejection.rule for rejection in rejections if rejection is not None}
    assert decided == {rule.name for rule in RULES}


def test_the_table_is_a_table():
    assert {rule.since for rule in RULES} <= {*range(OLDEST, NEWEST + 1)}
    assert len({rule.name for rule in RULES}) == len(RULES)


#: Extra specs, then: the rule if only they are known, and otherwise the unknown values.
KNOWN = [
    ({'hw:cpu_policy': 'mixed'}, 'mixed_without_mask', ()),
    ({'hw:mem_page_size': '1G'}, 'pages', ()),
    ({'hw:cpu_policy': 'dedicated', 'resources:PCPU': '1'}, 'policy_and_classes', ()),
    ({'hw:cpu_thread_policy': 'require'}, None, (IMAGE,)),
    ({'hw:cpu_thread_policy': 'require', 'hw:cpu_policy': 'shared'}, 'threads_unpinned', ()),
    ({'hw:mem_encryption': 'true'}, None, (IMAGE,)),
    ({'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': '^0'}, None, (IMAGE, CPUS)),
    ({'hw:boot_menu': 'true'}, None, ()),
    ({}, None, ()),
]


@pytest.mark.parametrize(('extra_specs', 'rule', 'unknown'), KNOWN)
def test_a_rule_that_needs_an_unknown_value_is_not_checked(extra_specs, rule, unknown):
    answer = check(GuestRequest(extra_specs), NEWEST)
    assert (answer.rejection and answer.rejection.rule) == rule
    assert set(answer.unknown) >= {*unknown}
    assert bool(answer.unknown) is bool(unknown)


def test_nothing_is_claimed_about_an_older_release():
    locked = GuestRequest({'hw:locked_memory': 'true'}, 1, 512, {})
    assert check(locked, 26).rejection.exception == 'LockMemoryForbidden'
    assert check(locked, 25).rejection is None
    assert check(locked, 25).unknown == ()
    assert check(locked).rejection is None
    assert check(locked).unknown == (RELEASE,)


def test_a_rejection_names_the_settings_that_it_concerns():
    asked = GuestRequest({'hw:cpu_policy': 'mixed', 'hw:pmu': 'true'}, 2, 512, {})
    assert check(asked).rejection.settings == ('hw:cpu_policy=mixed',)
