"""The operators of an extra spec's value: which values of an aggregate's metadata it accepts.

Shapes::

    match('4', '>= 3') is True
    parse('<or> 1 <or> 2').literals == {'1', '2'}     parse('>= 3').judge('4') is True
    parse('ssd').literals == {'ssd'}                   parse('>=').is_satisfiable is False

Units: ``=``, ``==``, ``!=``, ``>=``, ``<=`` compare as numbers (``=`` means "or more"), ``s==`` and
its like as texts, character by character. A bare ``>`` or ``<`` is a literal, as is the empty text.

Errors: none. An operator without its operand, a numeric one whose operand is no number, and a
requirement that is no text accept nothing; a value that an operator can not judge is not accepted.

Source: document 000; ``nova/scheduler/filters/extra_specs_ops.py``, where that does not raise.
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
    """A requirement, parsed: a literal, alternatives of literals, or an operator.

    ``literals`` are all the values accepted by a literal or by ``<or>``; the other operators have
    none. ``is_satisfiable`` is False where no value at all is accepted.
    """

    text: str
    test: Callable[[Any], bool] = field(default=lambda _value: False, compare=False, repr=False)
    is_satisfiable: bool = False
    literals: frozenset[str] = frozenset()

    def judge(self, value: Any) -> bool | None:
        """Is this value accepted? None where it can not be said, and Nova's own operator raises."""
        try:
            return value is not None and bool(self.test(value))
        except (TypeError, ValueError, OverflowError):
            return None


def match(value: str, requirement: str) -> bool:
    """Does a value of the metadata fulfil the requirement of an extra spec?"""
    return bool(parse(requirement).judge(value))


def parse(requirement: str) -> Condition:
    """Read a requirement once, to hold many values against it."""
    if not isinstance(requirement, str):
        return Condition(repr(requirement), _no_answer)
    word, *operands = requirement.split() or ['']
    if word == OR:
        # Every second word is an alternative; what stands between them is not looked at.
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
    # Nothing is equal to "nan", or more or less than it.
    is_satisfiable = not math.isnan(bound) or compare is operator.ne
    return Condition(text, lambda value: compare(float(value), bound), is_satisfiable)
