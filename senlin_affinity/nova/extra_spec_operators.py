"""Parse the operators of an extra spec, and match values of an aggregate's metadata.

Example::

    match('4', '>= 3') is True
    parse('<or> 1 <or> 2').literals == {'1', '2'}     parse('>= 3').judge('4') is True
    parse('ssd').literals == {'ssd'}                   parse('>=').is_satisfiable is False

``=``, ``==``, ``!=``, ``>=``, ``<=`` compare numbers (``=`` means "or more"); ``s==`` and the other
``s`` operators compare strings. A bare ``>`` or ``<`` is a literal, and so is the empty string.

Raises: nothing. An operator without an operand, a numeric operator with another operand than a
number, and a requirement that is not a string accept nothing. A value that cannot be compared does
not match.

Source: ``nova/scheduler/filters/extra_specs_ops.py``, which raises instead.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

OR = '<or>'

_NUMERIC: Mapping[str, Callable[[float, float], bool]] = {
    '=': operator.ge,
    '==': operator.eq,
    '!=': operator.ne,
    '>=': operator.ge,
    '<=': operator.le,
}
_TEXTUAL: Mapping[str, Callable[[Any, Any], bool]] = {
    's==': operator.eq,
    's!=': operator.ne,
    's<': operator.lt,
    's<=': operator.le,
    's>': operator.gt,
    's>=': operator.ge,
    '<in>': operator.contains,
}
_ALL_IN = '<all-in>'


def _no_answer(value: Any) -> bool:
    raise ValueError(value)


@dataclass(frozen=True)
class Condition:
    """A parsed requirement: a literal, alternatives of literals, or an operator.

    ``literals`` are all values that a literal or ``<or>`` accepts; other operators have none.
    """

    text: str
    test: Callable[[Any], bool] = field(default=lambda _value: False, compare=False, repr=False)
    is_satisfiable: bool = False
    literals: frozenset[str] = frozenset()

    def judge(self, value: Any) -> bool | None:
        """Return whether the value matches; None if Nova's operator raises for it."""
        try:
            return value is not None and bool(self.test(value))
        except (TypeError, ValueError, OverflowError):
            return None


def match(value: str, requirement: str) -> bool:
    """Check whether a metadata value satisfies the requirement of an extra spec."""
    return bool(parse(requirement).judge(value))


def parse(requirement: str) -> Condition:
    """Parse a requirement once, to match many values."""
    if not isinstance(requirement, str):
        return Condition(repr(requirement), _no_answer)
    word, *operands = requirement.split() or ['']
    if word == OR:
        # Every second word is an alternative; Nova ignores the words between them.
        return _literals(requirement, operands[::2])
    if word not in (*_NUMERIC, *_TEXTUAL, _ALL_IN):
        return _literals(requirement, [requirement])
    if not operands:
        return Condition(requirement)
    first = operands[0]
    if word in _NUMERIC:
        return _numeric(requirement, _NUMERIC[word], first)
    if word == _ALL_IN:
        return Condition(requirement, lambda value: all(each in value for each in operands), True)
    compare = _TEXTUAL[word]
    return Condition(requirement, lambda value: compare(value, first), True)


def _literals(text: str, words: Iterable[str]) -> Condition:
    literals = frozenset(words)
    test = literals.__contains__ if literals else _no_answer
    return Condition(text, test, bool(literals), literals)


def _numeric(text: str, compare: Callable[[float, float], bool], operand: str) -> Condition:
    try:
        bound = float(operand)
    except ValueError:
        return Condition(text, _no_answer)
    # No number is equal to, greater or less than NaN.
    is_satisfiable = not math.isnan(bound) or compare is operator.ne
    return Condition(text, lambda value: compare(float(value), bound), is_satisfiable)
