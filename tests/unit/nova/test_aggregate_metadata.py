"""Document 000: every example, every requirement, and every pair of values of both sides."""

import pytest

from senlin_affinity.model.verdict import sentence
from senlin_affinity.nova import aggregate_metadata, instance_extra_specs
from senlin_affinity.nova.aggregate_metadata import (
    FORCE,
    NOVA_REASONS,
    REASONS,
    Requirements,
    check,
    warnings,
)
from senlin_affinity.nova.extra_spec_operators import match, parse
from tests.support import aggregate_rows
from tests.support.tables import rows

PREFIX = 'aggregate_metadata.'
#: What the metadata of one key may be; one of them is that the key is not there.
VALUES = ('(none)', '1', '2', '*', '~', '!', '>= 2', '>= x', '<or> 1 <or> 2', '<or> 1 <or> ~')
VALUES += ('<or> * <or> ~', '<or> ! <or> 1', '<or> ! <or> *', '<or> ! <or> ~')


def judged(row, rule=aggregate_metadata):
    verdict = rule.check(row['extra_specs'], row['aggregates'], row.get('names'))
    assert (verdict.outcome.value, verdict.code) == (row['outcome'], row['code'])
    assert dict(verdict.facts) == row['facts']
    assert verdict.room == (0 if row['outcome'] == 'REJECT' else None)
    words = sentence(verdict, {**REASONS, **NOVA_REASONS})
    assert words == row.get('sentence', words)
    return verdict


@pytest.mark.parametrize(
    'row', aggregate_rows.rows('aggregate_metadata', 'aggregate_metadata_examples')
)
def test_check(row):
    logged = warnings(judged(row), row['aggregates'], row.get('names'))
    for words, line in zip(row['warns'], logged, strict=True):
        assert words in line


@pytest.mark.parametrize('row', aggregate_rows.rows('aggregate_extra_specs'))
def test_novas_own_filter(row):
    judged(row, instance_extra_specs)


@pytest.mark.parametrize('row', rows('aggregate_metadata_sets'))
def test_all_pairs_of_values(row):
    mode, _, extra_spec = row['name'].partition(', flavor ')
    codes = dict.fromkeys(VALUES, row['rest'])
    codes |= {value: code for code, values in row['codes'].items() for value in values}
    found = {}
    for value in codes:
        flavor, metadata = (
            {} if each == '(none)' else {'key': each} for each in (extra_spec, value)
        )
        forced = {FORCE: 'True'} if mode == 'forced' else {}
        found[value] = check(flavor, [metadata | forced]).code.removeprefix(PREFIX)
    assert found == codes


@pytest.mark.parametrize('row', rows('extra_spec_operators'))
def test_operators(row):
    sides = {'key': row['requirement']}, [{'key': row['value']}]
    verdict = check(*sides)
    assert verdict.code == PREFIX + row['code']
    assert bool(verdict) is (row['code'] == 'matches')
    assert instance_extra_specs.check(*sides).code == f'{PREFIX}nova_{row.get("nova", row["code"])}'
    values = [value.strip() for value in row['value'].split(',')]
    assert any(match(value, row['requirement']) for value in values) is bool(verdict)


@pytest.mark.parametrize(
    ('value', 'requirement'),
    [
        (None, 's!= a'),
        (None, ''),
        ([], 'a'),
        (['a'], '<or> a'),
        ('a', None),
        ('5', 5),
        (10**400, '>= 1'),
    ],
)
def test_a_value_that_is_not_a_string_does_not_match(value, requirement):
    """R0-32, D0-12: without an exception."""
    assert match(value, requirement) is False


@pytest.mark.parametrize('rule', [aggregate_metadata, instance_extra_specs])
def test_none_is_equal_to_an_empty_value(rule):
    """R0-32: on either side, and for one of several aggregates; a key may be no string."""
    ssd = {'ssd': 'true'}
    for none, empty in (((None, None), ({}, [])), ((ssd, None), (ssd, []))):
        assert rule.check(*none) == rule.check(*empty)
    assert rule.check(None, [ssd]) == rule.check({}, [ssd])
    verdict = rule.check({'ssd': 'false'}, [None, ssd], ['a', 'b'])
    assert verdict == rule.check({'ssd': 'false'}, [{}, ssd], ['a', 'b'])
    assert verdict.facts['aggregates'] == 'b'
    assert rule.check(ssd, [None, ssd])
    assert rule.check({'ssd': 'false'}, [ssd, ssd], ['one name only']).facts['aggregates']
    assert rule.check({5: 'a', '5': 'a'}, [{'5': 'a'}])
    assert warnings(verdict, None) == warnings(verdict, [None]) == ()


def test_parsed_once_for_many_hosts():
    requirements = Requirements.parse({'ssd': 'true', 'rack': '<or> a <or> ~'})
    assert requirements.check([{'ssd': 'true'}])
    assert not requirements.check([{'ssd': 'true', 'rack': 'b'}])
    assert not requirements.check([])
    condition = parse('>= 3')
    assert list(map(condition.judge, ('2', '3', '4', 'x'))) == [False, True, True, None]
