"""The set of states of one key that one side accepts: absent, or present with some values.

A flavor's extra spec is such a set, and in forced mode so is an aggregate's metadata value. Two
sides match if their sets have a state in common.

Example::

    '1'              the value 1               '<or> 1 <or> 2'   the value 1 and the value 2
    '*'              every value               '<or> 1 <or> ~'   the value 1, and the absent key
    '~' and '!'      the absent key            '>= 4'            the values that are 4 or more
    '* 5'            the value "* 5": a sentinel stands alone, or as an alternative of <or>

Source: "Filter - Aggregate Instance Type Filter" (nfv-filters), and this project's decisions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from senlin_affinity.nova import extra_spec_operators
from senlin_affinity.nova.extra_spec_operators import Condition

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


def parse(text: Any) -> States:
    """Parse a value of an extra spec, or of an aggregate's metadata in forced mode."""
    if not isinstance(text, str):
        return States(repr(text), fault=UNREADABLE)
    condition = extra_spec_operators.parse(text)
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
