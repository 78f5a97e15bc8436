"""Render the code and the facts of a verdict as a sentence that its constraint declares."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from string import Formatter
from typing import Any

from senlin_affinity.model.errors import PluginError
from senlin_affinity.model.verdict import Verdict

#: A fact with a noun, and perhaps a verb, whose form depends on its number.
_COUNTED = re.compile(r'{(?P<fact>\w+)} (?P<noun>\w+)\(s\)(?: (?P<verb>\w+)\(s\))?')


@dataclass(frozen=True)
class Reason:
    """The sentence of one reason code (a format string for the facts), and advice.

    ``{count} server(s) need(s)`` in a sentence becomes "1 server needs" or "2 servers need".
    ``detail`` is the fact that a line of counts shows in brackets, such as the resource class.
    ``for_owner`` is the sentence for a cluster owner who may not list hosts: a format string for
    the owner's own inputs (``preflight.disclosure``), for a constraint that the owner could drop.
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
