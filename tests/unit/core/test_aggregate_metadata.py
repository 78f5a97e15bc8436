"""Document 000: every example, every rule, every pair of what the two sides may say."""

import pytest

from senlin_affinity.core import aggregate_extra_specs, aggregate_metadata
from senlin_affinity.core.aggregate_metadata import FORCE, Requirements, check, warnings
from senlin_affinity.core.aggregate_reasons import NOVA_REASONS, REASONS
from senlin_affinity.core.extra_spec_operators import match, parse
from senlin_affinity.core.reasons import sentence
from tests.support.tables import read, rows

TABLES = ('aggregate_metadata', 'aggregate_metadata_examples')


def judged(row, rule=aggregate_metadata):
    names = row.get('names')
    verdict = rule.check(row['extra_specs'], row['aggregates'], names)
    assert (verdict.outcome.value, verdict.code) == (row['outcome'], row['code'])
    assert dict(verdict.facts) == row['facts']
    assert verdict.room == (0 if row['outcome'] == 'REJECT' else None)
    words = sentence(verdict, {**REASONS, **NOVA_REASONS})
    assert words == row.get('sentence', words)
    return verdict


@pytest.mark.parametrize('row', [row for table in TABLES for row in rows(table)])
def test_check(row):
    verdict = judged(row)
    logged = warnings(verdict, row['aggregates'], row.get('names'))
    for words, line in zip(row.get('warns', []), logged, strict=True):
        assert words in line


@pytest.mark.parametrize('row', rows('aggregate_extra_specs'))
def test_novas_own_filter(row):
    judged(row, aggregate_extra_specs)


@pytest.mark.parametrize('row', rows('aggregate_metadata_sets'))
def test_two_sides_meet(row):
    extra_specs = {} if row['extra_spec'] == '(none)' else {'key': row['extra_spec']}
    found = {}
    for value in row['codes']:
        metadata = {} if value == '(none)' else {'key': value}
        if row['mode'] == 'forced':
            metadata[FORCE] = 'True'
        found[value] = check(extra_specs, [metadata]).code.removeprefix('aggregate_metadata.')
    assert found == row['codes']


@pytest.mark.parametrize('row', rows('extra_spec_operators'))
def test_operators(row):
    sides = {'key': row['requirement']}, [{'key': row['value']}]
    verdict = check(*sides)
    assert (verdict.outcome.value, verdict.code) == (row['outcome'], row['code'])
    assert aggregate_extra_specs.check(*sides).code == row['nova_code']
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
def test_what_is_no_text_does_not_match(value, requirement):
    """R0-32, D0-12: and raises nothing."""
    assert match(value, requirement) is False


@pytest.mark.parametrize('rule', [aggregate_metadata, aggregate_extra_specs])
def test_none_is_taken_for_empty(rule):
    """R0-32: on either side, and for one of several aggregates; a key may be no text."""
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


def test_a_parsed_requirement_can_be_held_against_many_values():
    condition = parse('>= 3')
    assert [condition.accepts(value) for value in ('2', '3', '4', 'x')] == [
        False,
        True,
        True,
        False,
    ]
    assert parse('<or> a <or> b').literals == {'a', 'b'}
    assert not parse('>= x').is_satisfiable


def test_parsed_once_for_many_hosts():
    requirements = Requirements.parse({'ssd': 'true', 'rack': '<or> a <or> ~'})
    assert requirements.check([{'ssd': 'true'}])
    assert not requirements.check([{'ssd': 'true', 'rack': 'b'}])
    assert not requirements.check([])


def test_a_refusal_names_the_aggregate_by_its_name():
    verdict = check({'ssd': 'true'}, [{'rack': 'a'}, {'ssd': 'false'}], ['racks', 'slow'])
    assert verdict.facts['aggregates'] == 'slow'


def test_a_flavor_without_extra_specs_against_use_case_6():
    """Q0-1, D0-05: "no flavor will pass" there; three other places let it pass, so it does."""
    assert check({}, [{'key': '<or> 1 <or> 2'}])


def test_every_code_has_a_row():
    """So that every declared sentence was rendered with the facts that it really gets."""
    assert {row['code'] for table in TABLES for row in read(table)} == set(REASONS)
    assert {row['code'] for row in read('aggregate_extra_specs')} == set(NOVA_REASONS)
