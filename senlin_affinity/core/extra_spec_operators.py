"""The operators of an extra spec's value: which values of an aggregate's metadata it accepts.

Shapes::

    match('4', '>= 3') is True
    parse('<or> 1 <or> 2').literals == {'1', '2'}     parse('>= 3').accepts('4') is True
    parse('ssd').literals == {'ssd'}                   parse('>=').is_satisfiable is False

Units: ``=``, ``==``, ``!=``, ``>=``, ``<=`` compare as numbers (``=`` means "or more"), ``s==`` and
its like as texts, character by character. A bare ``>`` or ``<`` is no operator: such a requirement
is a literal, as is the empty text.

Errors: none. An operator without its operand, a numeric one whose operand is no number, and a
requirement that is no text accept nothing; a value that an operator can not judge is not accepted.

Source: document 000; ``nova/scheduler/filters/extra_specs_ops.py``, whose answer this is wherever
that one does not raise.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

OR = '<or>'

_NUMERIC: dict[str, Callable[[float, float], bool]] = {
    '=': operator.ge,
    '==': operator.eq,
    '!=': operator.ne,
    '>=': operator.ge,
    '<=': operator.le,
}
_TEXTUAL: dict[str, Callable[[Any, Any], bool]] = {
    's==': operator.eq,
    's!=': operator.ne,
    's<': operator.lt,
    's<=': operator.le,
    's>': operator.gt,
    's>=': operator.ge,
    '<in>': operator.contains,
}
_ALL_IN = '<all-in>'

#: What a value that an operator can not judge makes Python say.
_CAN_NOT_JUDGE = (TypeError, ValueError, OverflowError)


def _no_answer(value: Any) -> bool:
    raise ValueError(value)


@dataclass(frozen=True)
class Condition:
    """A requirement, parsed: a literal, alternatives of literals, or an operator.

    ``literals`` are all the values accepted by a literal or by ``<or>``; the other operators have
    none. ``is_satisfiable`` is False where no value at all is accepted.
    """

    text: str
    literals: frozenset[str] = frozenset()
    is_satisfiable: bool = False
    test: Callable[[Any], bool] = field(default=lambda _value: False, compare=False, repr=False)

    def accepts(self, value: Any) -> bool:
        """Is this one of the values?"""
        return bool(self.judge(value))

    def judge(self, value: Any) -> bool | None:
        """The same; None where it can not be said, and Nova's own operator raises."""
        try:
            return value is not None and bool(self.test(value))
        except _CAN_NOT_JUDGE:
            return None


def match(value: str, requirement: str) -> bool:
    """Does a value of the metadata fulfil the requirement of an extra spec?"""
    return parse(requirement).accepts(value)


def parse(requirement: str) -> Condition:
    """Read a requirement once, to hold many values against it."""
    if not isinstance(requirement, str):
        return Condition(repr(requirement), test=_no_answer)
    word, *operands = requirement.split() or ['']
    if word == OR:
        # Every second word is an alternative; what stands between them is not looked at.
        return _literals(requirement, frozenset(operands[::2]))
    if word not in (*_NUMERIC, *_TEXTUAL, _ALL_IN):
        return _literals(requirement, frozenset((requirement,)))
    if not operands:
        return Condition(requirement)
    first = operands[0]
    if word == _ALL_IN:
        return _operator(requirement, lambda value: all(each in value for each in operands))
    if word in _TEXTUAL:
        compare = _TEXTUAL[word]
        return _operator(requirement, lambda value: compare(value, first))
    return _numeric(requirement, word, first)


def _literals(text: str, literals: frozenset[str]) -> Condition:
    return Condition(
        text, literals, bool(literals), literals.__contains__ if literals else _no_answer
    )


def _operator(text: str, test: Callable[[Any], bool]) -> Condition:
    return Condition(text, is_satisfiable=True, test=test)


def _numeric(text: str, word: str, operand: str) -> Condition:
    try:
        bound = float(operand)
    except ValueError:
        return Condition(text, test=_no_answer)
    compare = _NUMERIC[word]
    # Nothing is equal to "nan", or more or less than it.
    is_satisfiable = not math.isnan(bound) or word == '!='
    return Condition(
        text, is_satisfiable=is_satisfiable, test=lambda value: compare(float(value), bound)
    )
