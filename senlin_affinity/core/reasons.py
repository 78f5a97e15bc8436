"""Renders a reason: a verdict's code and facts, in the words that its constraint declares.

Shapes::

    Reason('{members} of {max_server_per_host} slots of the group are taken',
           advice='raise max_server_per_host, or add a host')
    sentence(verdict, reasons) -> '3 of 3 slots of the group are taken'

Errors: a code that is not declared is a PluginError; a sentence that names a fact which the
verdict lacks is one too. Nothing is ever rendered half.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from senlin_affinity.core.errors import PluginError
from senlin_affinity.core.verdict import Verdict


@dataclass(frozen=True)
class Reason:
    """The sentence of one code (a format string over the facts), and what would help.

    ``detail`` is the fact that a line of counts shows in brackets, such as the resource class.
    ``for_owner`` is what the owner of a cluster reads who may not list the hosts: a format string
    over what the owner asks for (``policy.trial``), of a rule that the owner could try without.
    None: the code is the operators'. ``doubt`` says, without any fact, why the room of a verdict
    that is "at most" may be less; without it, a sentence without facts does.
    """

    sentence: str
    advice: str = ''
    detail: str = ''
    for_owner: str | None = None
    doubt: str = ''


def own(sentence: str, advice: str = '') -> Reason:
    """The reason of a rule about the request as a whole, all of whose facts are the owner's own."""
    return Reason(sentence, advice, for_owner=sentence)


def doubt(verdict: Verdict, reasons: Mapping[str, Reason]) -> str:
    """Why there may be less room than an "at most" says, if the rule says so."""
    reason = reasons.get(verdict.code, Reason(''))
    return reason.doubt or ('' if '{' in reason.sentence else reason.sentence)


def is_for_owner(reasons: Mapping[str, Reason]) -> bool:
    """May the owner read of this rule?"""
    return any(reason.for_owner is not None for reason in reasons.values())


def sentence(verdict: Verdict, reasons: Mapping[str, Reason]) -> str:
    """The verdict in words."""
    try:
        return reasons[verdict.code].sentence.format_map(dict(verdict.facts))
    except KeyError as error:
        raise PluginError(
            f'reason {verdict.code!r} can not be said: {error.args[0]!r} is not declared'
        ) from error
