"""Render the code and the facts of a verdict as a sentence that its constraint declares."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from string import Formatter

from senlin_affinity.model.errors import PluginError
from senlin_affinity.model.verdict import Verdict


@dataclass(frozen=True)
class Reason:
    """The sentence of one reason code (a format string for the facts), and advice.

    ``detail`` is the fact that a line of counts shows in brackets, such as the resource class.
    ``for_owner`` is the sentence for a cluster owner who may not list hosts: a format string for
    the owner's own inputs (``preflight.disclosure``), for a constraint that the owner could drop.
    None: only operators read the code. If all its placeholders are facts, it also replaces
    ``sentence`` where hosts are counted by their reasons. ``caveat`` is a text without facts that
    explains why an upper bound may be too high; it defaults to a ``sentence`` without facts.
    """

    sentence: str
    advice: str = ''
    detail: str = ''
    for_owner: str | None = None
    caveat: str = ''

    @cached_property
    def facts(self) -> frozenset[str]:
        """Return the names of the facts that a verdict needs."""
        fields = (name for _text, name, *_format in Formatter().parse(self.sentence))
        names = (re.split(r'[.[]', name)[0] for name in fields if name is not None)
        return frozenset((*names, *filter(None, [self.detail])))


def tenant_reason(sentence: str, advice: str = '') -> Reason:
    """Return a reason that the owner may read: its facts are the owner's own input."""
    return Reason(sentence, advice, for_owner=sentence)


def caveat(verdict: Verdict, reasons: Mapping[str, Reason]) -> str:
    """Return why an upper bound may be too high, or ''."""
    reason = reasons.get(verdict.code, Reason(''))
    return reason.caveat or ('' if '{' in reason.sentence else reason.sentence)


def is_for_owner(reasons: Mapping[str, Reason]) -> bool:
    """Check whether the owner may read any of these reasons."""
    return any(reason.for_owner is not None for reason in reasons.values())


def sentence(verdict: Verdict, reasons: Mapping[str, Reason]) -> str:
    """Return the verdict as a sentence.

    Raise PluginError if the code is not declared, or if the verdict lacks a fact of the sentence.
    """
    try:
        return reasons[verdict.code].sentence.format_map(dict(verdict.facts))
    except KeyError as error:
        raise PluginError(
            f'reason {verdict.code!r} cannot be rendered: {error.args[0]!r} is not declared'
        ) from error
