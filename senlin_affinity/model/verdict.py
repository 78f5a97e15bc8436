"""The answer of a constraint: a verdict, the sentence that its code declares, and assumptions.

Example::

    Verdict.passed('server_group.free_slots', room=2, group='web', members=1)
    Reason('the server group {group!r} has free slots')
    Assumption('nova.filters', "Nova's default filters")

The bounds are numbers of further servers; None: the constraint sets no limit.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from string import Formatter
from typing import Any, NamedTuple

from senlin_affinity.model.bounds import NONE, UNLIMITED, Bounds
from senlin_affinity.model.errors import PluginError

#: The code of a caveat about a filter, a hint or a feature of the flavor that nothing models.
UNMODELLED = 'flavor.unmodelled'


class Caveat(NamedTuple):
    """Why Nova may place fewer servers: a stable code, and the text in a plan."""

    code: str
    text: str


class Outcome(str, enum.Enum):
    """The outcome of a constraint: it holds, it does not, or it does not apply (or is unknown)."""

    PASS = 'PASS'
    REJECT = 'REJECT'
    SKIP = 'SKIP'


@dataclass(frozen=True)
class Verdict:
    """The answer of one constraint for one host, for a domain, or for a whole request.

    ``bool(verdict)`` is "not rejected". A rejected request may have bounds above 0: so many servers
    would pass, as with a quota (``Verdict(Outcome.REJECT, code, facts, bounds)``). ``caveats`` of a
    verdict about a request explain why the upper bound may be too high; they count only if it is.
    By default, the reason explains it.
    """

    outcome: Outcome
    code: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    bounds: Bounds = UNLIMITED
    caveats: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.outcome is Outcome.REJECT and self.bounds is UNLIMITED:
            object.__setattr__(self, 'bounds', NONE)

    def __bool__(self) -> bool:
        return self.outcome is not Outcome.REJECT

    @property
    def room(self) -> int | None:
        """Return the upper bound; None: no limit."""
        return self.bounds.upper

    @classmethod
    def passed(
        cls,
        code: str,
        *,
        room: int | None = None,
        is_at_most: bool = False,
        least: int | None = None,
        caveats: tuple[str, ...] = (),
        **facts: Any,
    ) -> Verdict:
        """Return a PASS with room for this many more servers (None: no limit).

        :param is_at_most: whether a caveat applies, so that 0 are guaranteed.
        :param least: the guaranteed number, if a caveat applies.
        """
        if least is not None:
            bounds = Bounds.at_most(room, least)
        elif is_at_most:
            bounds = Bounds(0, room, room)
        else:
            bounds = UNLIMITED if room is None else Bounds(room, room, room)
        return cls(Outcome.PASS, code, facts, bounds, caveats)

    @classmethod
    def rejected(cls, code: str, **facts: Any) -> Verdict:
        """Return a REJECT, with room for no server."""
        return cls(Outcome.REJECT, code, facts, NONE)

    @classmethod
    def skipped(cls, code: str, **facts: Any) -> Verdict:
        """Return a SKIP: the constraint does not apply to this host or request."""
        return cls(Outcome.SKIP, code, facts)

    @classmethod
    def unknown(cls, code: str, *, room: int | None = None, **facts: Any) -> Verdict:
        """Return a SKIP because the snapshot lacks a needed part; ``room`` is an upper bound."""
        return cls(Outcome.SKIP, code, facts, Bounds.unknown(room))

    def with_caveat(self, lower: int = 0) -> Verdict:
        """Return the verdict with only this many servers guaranteed."""
        return replace(self, bounds=self.bounds._replace(lower=lower))


#: A fact with a noun, and perhaps a verb, whose form depends on its number.
_COUNTED = re.compile(r'{(?P<fact>\w+)} (?P<noun>\w+)\(s\)(?: (?P<verb>\w+)\(s\))?')


@dataclass(frozen=True)
class Reason:
    """The sentence of one reason code (a format string for the facts), and advice.

    ``{count} server(s) need(s)`` in a sentence becomes "1 server needs" or "2 servers need".
    ``detail`` is the fact that a line of counts shows in brackets, such as the resource class.
    ``for_owner`` is the sentence for a cluster owner who may not list hosts: a format string for
    the owner's own inputs (``answers.disclosure``), for a constraint that the owner could drop.
    None: only operators read the code. If all its placeholders are facts, it also replaces
    ``sentence`` where hosts are counted by their reasons. ``caveat`` says what is not known, so
    that an upper bound may be too high; it defaults to a ``sentence`` without facts. Tenants read
    it, so it has only facts of the request.

    ``is_state``: only the state of the host causes a REJECT with this code (it is full, disabled or
    reserved), so the host could take the servers later. False: the host is of another kind, such as
    one without the resource class, the trait or the aggregate. None: as ``is_capacity_rule`` of the
    constraint. The first sentence of an answer is about hosts that only their state rejects.

    Answers count hosts that are rejected alike. ``short`` is their sentence; without it,
    ``of_several`` is the sentence of hosts that differ, such as in the names of their aggregates.
    ``of_host`` follows the name of a host, in brackets. All three are format strings for the facts.
    Of a reason of state, ``short`` also follows the names of hosts with room: it begins with "is",
    "has" or a verb like them, or with "the compute service", which becomes "its compute service".
    """

    sentence: str
    advice: str = ''
    detail: str = ''
    for_owner: str | None = None
    caveat: str = ''
    is_state: bool | None = None
    short: str = ''
    of_several: str = ''
    of_host: str = ''

    @cached_property
    def facts(self) -> frozenset[str]:
        """Return the names of the facts that a verdict needs."""
        texts = (*Formatter().parse(self.sentence), *Formatter().parse(self.caveat))
        fields = (name for _text, name, *_format in texts)
        names = (re.split(r'[.[]', name)[0] for name in fields if name is not None)
        return frozenset((*names, *filter(None, [self.detail])))


#: The plural of the verbs with which a sentence about one host begins.
_PLURALS: Mapping[str, str] = {
    'accepts': 'accept',
    'has': 'have',
    'holds': 'hold',
    'is': 'are',
    'lacks': 'lack',
    'offers': 'offer',
}


def has_subject(words: str) -> bool:
    """Check whether a sentence about a host does not begin with a known verb, as in "is full"."""
    return words.partition(' ')[0] not in _PLURALS


def agreeing(words: str, number: int) -> str:
    """Return a sentence about one host as one about several: "is full" becomes "are full".

    Unchanged for one host, and if it does not begin with a known verb.
    """
    verb, space, rest = words.partition(' ')
    return words if number == 1 else f'{_PLURALS.get(verb, verb)}{space}{rest}'


def tenant_reason(sentence: str, advice: str = '') -> Reason:
    """Return a reason that the owner may read: its facts are the owner's own input."""
    return Reason(sentence, advice, for_owner=sentence)


def caveat(verdict: Verdict, reasons: Mapping[str, Reason]) -> str:
    """Return why an upper bound may be too high, or ''."""
    reason = reasons.get(verdict.code, Reason(''))
    return reason.caveat.format_map(dict(verdict.facts)) or (
        '' if '{' in reason.sentence else reason.sentence
    )


def is_for_owner(reasons: Mapping[str, Reason]) -> bool:
    """Check whether the owner may read any of these reasons."""
    return any(reason.for_owner is not None for reason in reasons.values())


def sentence(verdict: Verdict, reasons: Mapping[str, Reason]) -> str:
    """Return the verdict as a sentence.

    Raise PluginError if the code is not declared, or if the verdict lacks a fact of the sentence.
    """
    try:
        words = _COUNTED.sub(partial(_inflected, verdict.facts), reasons[verdict.code].sentence)
        return words.format_map(dict(verdict.facts))
    except KeyError as error:
        raise PluginError(
            f'reason {verdict.code!r} cannot be rendered: {error.args[0]!r} is not declared'
        ) from error


def _inflected(facts: Mapping[str, Any], found: re.Match[str]) -> str:
    """Return "{count} server needs" if the fact ``count`` is 1, "{count} servers need" if not."""
    is_one = facts[found['fact']] == 1
    noun = found['noun'] if is_one else f'{found["noun"]}s'
    verb = '' if found['verb'] is None else f' {found["verb"]}{"s" if is_one else ""}'
    return f'{{{found["fact"]}}} {noun}{verb}'


class Assumption(NamedTuple):
    """A stable code, such as ``nova.filters``, and a text that completes "assuming ...".

    If the assumption is wrong, fewer servers fit, never more. The text is a format string for
    facts.
    """

    code: str
    text: str

    def of(self, **facts: Any) -> Assumption:
        """Return the assumption with the facts in its text."""
        return self._replace(text=self.text.format(**facts))


class OpenAssumption(Assumption):
    """An assumption that may also hide capacity: if it is wrong, more or fewer servers fit."""


def assuming(found: Iterable[Assumption]) -> str:
    """Return ', assuming TEXT, TEXT' to append to a line; '' for no assumptions."""
    texts = ', '.join(item.text for item in found)
    return texts and f', assuming {texts}'
