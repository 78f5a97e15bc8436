"""Document 000 against Nova, for long: Nova's own cases of its operators, and many generated hosts.

A bounded form of the generated ones is ``tests/property/test_aggregate_differences.py``.
"""

import ast
import importlib.util
from pathlib import Path

import pytest
from hypothesis import given, settings

from senlin_affinity.core.extra_spec_operators import match
from tests.property.aggregate_strategies import (
    AGGREGATES,
    FLAVORS,
    PLAIN_AGGREGATES,
    PLAIN_FLAVORS,
    REQUIREMENTS,
    TEXTS,
    written,
)
from tests.support import aggregate_judge as judge

CASES = 'tests/unit/scheduler/filters/test_extra_specs_ops.py'


def novas_tests():
    """The class of Nova's own tests of its operators, without what Nova's tests need around it."""
    (package,) = importlib.util.find_spec('nova').submodule_search_locations
    *_, found = ast.parse(Path(package, CASES).read_text(encoding='utf-8')).body
    found.bases = []
    namespace = {}
    exec(compile(ast.Module([found], []), CASES, 'exec'), namespace)
    return namespace[found.name]


TESTS = novas_tests()
NAMES = [name for name in vars(TESTS) if name.startswith('test_')]


@pytest.mark.parametrize('name', NAMES)
def test_novas_own_cases(name):
    """R0-19: Nova's tests, on our operators."""
    seen = []

    class OnOurs(TESTS):
        def _do_extra_specs_ops_test(self, value, req, matches):
            seen.append(req)
            assert match(value, req) is matches

    getattr(OnOurs(), name)()
    assert seen


def test_there_are_such_cases():
    assert len(NAMES) >= 35


@settings(max_examples=5_000)
@given(TEXTS, REQUIREMENTS)
def test_operators(value, requirement):
    """R0-19, R0-32, D0-12."""
    judge.check_operator(value, requirement)


@settings(max_examples=5_000)
@given(PLAIN_FLAVORS, PLAIN_AGGREGATES)
def test_without_the_new_words_both_say_the_same(extra_specs, aggregates):
    """R0-13, R0-14, R0-18, R0-19."""
    judge.check_plain(extra_specs, aggregates)
    judge.check_novas(extra_specs, aggregates)


@settings(max_examples=5_000)
@given(FLAVORS, AGGREGATES)
def test_our_rule_of_novas_filter_is_novas_filter(extra_specs, aggregates):
    judge.check_novas(written(extra_specs), [each.metadata() for each in aggregates])
