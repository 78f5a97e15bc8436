"""Parse the operators of an extra spec, and match values of an aggregate's metadata.

Example::

    match('4', '>= 3') is True
    parse('<or> 1 <or> 2').literals == {'1', '2'}     parse('>= 3').judge('4') is True
    parse('ssd').literals == {'ssd'}                   parse('>=').is_satisfiable is False

For this project's filter, a value is the set of states of a key that it accepts: absent, or present
with some values. A flavor's extra spec is such a set; in forced mode, so is a metadata value. Two
sides match if their sets have a state in common::

    '1'              the value 1               '<or> 1 <or> 2'   the value 1 and the value 2
    '*'              every value               '<or> 1 <or> ~'   the value 1, and the absent key
    '~' and '!'      the absent key            '>= 4'            the values that are 4 or more
    '* 5'            the value "* 5": a sentinel stands alone, or as an alternative of <or>

``=``, ``==``, ``!=``, ``>=``, ``<=`` compare numbers (``=`` means "or more"); ``s==`` and the other
``s`` operators compare strings. A bare ``>`` or ``<`` is a literal, and so is the empty string.

Raises: nothing. An operator without an operand, a numeric operator with another operand than a
number, and a requirement that is not a string accept nothing. A value that cannot be compared does
not match.

Source: ``nova/scheduler/filters/extra_specs_ops.py``, which raises instead; "Filter - Aggregate
Instance Type Filter" (nfv-filters), and this project's decisions.
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


ANY, OMITTED, FORBIDDEN = '*', '~', '!'
SENTINELS = frozenset((ANY, OMITTED, FORBIDDEN))

#: The faults: ``!`` beside another alternative; not a string; an operator that accepts nothing.
ILLEGAL, UNREADABLE, UNSATISFIABLE = 'illegal', 'unreadable', 'unsatisfiable'


@dataclass(frozen=True)
class States:
    """A set of states; ``text`` is its source.

    ``accepts_absent`` is ``~`` or ``!``, ``accepts_any`` is ``*``; ``values`` are literals,
    ``conditions`` the operators. A set with a ``fault`` accepts nothing.
    """

    text: str
    accepts_absent: bool = False
    accepts_any: bool = False
    values: frozenset[str] = frozenset()
    conditions: tuple[Condition, ...] = ()
    is_forbidden: bool = False
    fault: str = ''

    @property
    def accepts_present(self) -> bool:
        """Check whether any value is accepted."""
        return self.accepts_any or bool(self.values or self.conditions)

    def accepts(self, values: Iterable[Any]) -> bool:
        """Check whether one of these values is accepted; ``*`` accepts any input."""
        if self.accepts_any:
            return True
        for value in values:
            if not isinstance(value, str):
                continue
            if value in self.values:
                return True
            for condition in self.conditions:  # a generator costs more
                if condition.judge(value):
                    return True
        return False

    def meets(self, other: States) -> bool:
        """Check whether the two sides have a state in common; False for two operators.

        ``<or> * <or> ~`` meets everything that is not illegal.
        """
        if ILLEGAL in (self.fault, other.fault):
            return False
        if any(side.accepts_any and side.accepts_absent for side in (self, other)):
            return True
        if self.accepts_absent and other.accepts_absent:
            return True
        if self.accepts_any or other.accepts_any:
            return self.accepts_present and other.accepts_present
        return self.accepts(other.values) or other.accepts(self.values)


#: A flavor without the key.
ABSENT = States('', accepts_absent=True)


def parse_states(text: Any) -> States:
    """Parse a value of an extra spec, or of an aggregate's metadata in forced mode."""
    if not isinstance(text, str):
        return States(repr(text), fault=UNREADABLE)
    condition = parse(text)
    found = condition.literals
    if not condition.is_satisfiable:
        return States(text, fault=UNSATISFIABLE)
    if FORBIDDEN in found and len(found) > 1:
        return States(text, is_forbidden=True, fault=ILLEGAL)
    return States(
        text,
        accepts_absent=OMITTED in found or FORBIDDEN in found,
        accepts_any=ANY in found,
        values=found - SENTINELS,
        conditions=() if found else (condition,),
        is_forbidden=FORBIDDEN in found,
    )


def union(parts: Iterable[States]) -> States:
    """Return the union of the parts; it is illegal if ``!`` is not alone.

    A part that accepts nothing adds nothing, unless it is the only one.
    """
    distinct = sorted(set(parts), key=lambda part: part.text)
    if len(distinct) == 1:
        return distinct[0]
    text = ', '.join(part.text for part in distinct)
    # "<or> !" is not the same text as "!", but has the same meaning.
    if any(part.is_forbidden for part in distinct):
        is_alone = all(part.is_forbidden and not part.fault for part in distinct)
        return States(text, is_alone, fault='' if is_alone else ILLEGAL)
    return States(
        text,
        accepts_absent=any(part.accepts_absent for part in distinct),
        accepts_any=any(part.accepts_any for part in distinct),
        values=frozenset().union(*(part.values for part in distinct)),
        conditions=tuple(condition for part in distinct for condition in part.conditions),
        fault=distinct[0].fault if all(part.fault for part in distinct) else '',
    )
