"""The comparison with the real Nova's validators, on much more input."""

import pytest
from hypothesis import given, settings

from tests.support.nova_validators import (
    FAMILIES,
    NAMES,
    VALUES,
    check,
    names,
    near_misses,
    nova,
    values,
)

__all__ = ['nova']


@settings(max_examples=20_000)
@given(name=NAMES, value=VALUES)
def test_generated(nova, name, value):
    check(nova, name, value)


@pytest.mark.parametrize('family', FAMILIES)
def test_every_validator(nova, family):
    """R4-02, R4-12: all values under one name, and all names with some of the values."""
    first, *others = names(family)
    for value in values(nova, family):
        check(nova, first, value)
    for name in others:
        for value in ('1', 'required', '0-3', 'x'):
            check(nova, name, value)


@pytest.mark.parametrize('family', FAMILIES)
def test_near_misses_of_every_name(nova, family):
    """D4-02, D4-10."""
    for name in names(family):
        for near in near_misses(name):
            for value in ('1', 'required', 'x'):
                check(nova, near, value)
