"""The pages about failures: what they contain, and that the requests fail."""

import pytest
import yaml

from senlin_affinity.sandbox.blueprint_reader import read
from tests.accuracy import failure_pages
from tests.accuracy.failure_pages import FAMILIES, case, cloud_file
from tests.accuracy.stage import Stage

SEEDS = range(1, 61)


@pytest.mark.parametrize('seed', SEEDS)
def test_a_page_has_a_valid_cloud_file(seed):
    text = '\n'.join(failure_pages.lines_of(cloud_file(case(seed))))
    assert {host.name for host in read(**yaml.safe_load(text)).hosts} == {*case(seed).hosts}


def test_a_page_lists_every_flavor_of_the_sandbox():
    listed = cloud_file(case(1))['flavors']
    assert listed['m1.tiny'] == {'vcpus': 1, 'ram': 64, 'disk': 1, 'extra_specs': {}}
    assert {*case(1).flavors} < {*listed}


def test_each_kind_of_failure_is_that_of_both_roles():
    users = {}
    for seed in SEEDS[: 2 * len(FAMILIES)]:
        made = case(seed)
        users.setdefault(made.kind, set()).add(made.asks[0].user)
    assert len(users) == len(FAMILIES)
    assert {frozenset(each) for each in users.values()} == {frozenset({'admin', 'demo'})}


def test_a_page_names_what_the_cloud_file_does_not_have():
    states = ['; '.join(failure_pages.state(case(seed))) for seed in SEEDS]
    for words in ('is down', 'with the reason', 'the quota', 'no longer exists', 'the trait'):
        assert any(words in each for each in states)


@pytest.mark.long
def test_the_answers_of_both_roles_follow_the_input():
    with Stage() as stage:
        found = [failure_pages.pages(stage, case(seed)) for seed in (6, 40)]
    admin, tenant = found
    assert 'all CUSTOM_BAREMETAL_GOLD reserved' in admin.answer
    assert 'all CUSTOM_BAREMETAL_GOLD reserved' not in admin.question
    words = 'flavor: m1.small, which does not require trait:CUSTOM_NVME=required'
    assert words in tenant.answer
