"""Print a decision in sentences, for ``plan`` and for the explanation of a failure.

Example::

    Only 2 of 6 fit: server group web allows 1 per host, and both hosts are full.

    What would help
      max_server_per_host: 3 (more of its servers may share a host) (capacity 6)
          $ openstack server group create ...

    Hosts
      2 hosts: full with these servers: cmp-1 (+1), cmp-2 (+1)

``is_long`` adds all hosts, the codes of the reasons, and the decision's line.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from senlin_affinity.answers.explanation import Explanation
from senlin_affinity.answers.headline import limiting_reason, limits, rejections
from senlin_affinity.cli import servers_view, view_hosts, view_notes
from senlin_affinity.cli.view_notes import Answer
from senlin_affinity.cli.wrapping import command_lines, lines
from senlin_affinity.engine.decision import TWO, Decision
from senlin_affinity.model import terminal_text
from senlin_affinity.model.numbers import counted
from senlin_affinity.model.request import QUOTA
from senlin_affinity.nova import host_status
from senlin_affinity.nova.actions import ServerAction
from senlin_affinity.nova.group_policy import FILTERS, enforced_policy, why_not_enforced
from senlin_affinity.nova.quotas import IN_WORDS, METADATA_ITEMS
from senlin_affinity.preflight.server_action import OBSTACLE

#: SGR codes of the first line: green, red, yellow.
_COLOURS = {True: 32, False: 31, None: 33}
_Remedies = Iterable[tuple[str, Sequence[str]]]
_Sections = Iterable[tuple[str, Iterable[str]]]


def show_plan(answer: Answer, stream: TextIO, *, is_long: bool = False) -> None:
    """Print a decision to a stream; use colours only on a terminal."""
    decision, request = answer.decision, answer.request
    remedies = ((str(each), each.commands) for each in decision.remedies)
    spreads = (
        (
            f'Servers by {servers_view.in_words(spread)}',
            servers_view.in_domains(request, answer.cloud, spread, decision),
        )
        for spread in request.spread
    )
    _show(answer, _plan_sentences(answer), remedies, spreads, stream, is_long=is_long)


def show_explanation(
    explained: Explanation, answer: Answer, stream: TextIO, *, is_long: bool = False
) -> None:
    """Print the explanation of a failed server to a stream.

    :param answer: that of ``view_notes.of_explanation``.
    """
    hidden = explained.failed.hidden if explained.decision.fits is not False else {}
    specified = (f'{what}: {option}' for option, what in hidden.items())
    required = () if explained.decision.is_hosts_known else explained.requirements
    sections = (
        ('What the request requires of a host', required),
        ('What Nova does not return (specify it with the option)', specified),
    )
    remedies = explained.remedies()
    _show(answer, explained.sentences(), remedies, sections, stream, is_long=is_long)


def _show(
    answer: Answer,
    sentences: Iterable[str],
    remedies: _Remedies,
    sections: _Sections,
    stream: TextIO,
    *,
    is_long: bool,
) -> None:
    width, decision = shutil.get_terminal_size().columns, answer.decision
    show_head(sentences, None if decision.fits_by_upper_bound else decision.fits, stream, width)
    for line in _rest(answer, remedies, sections, width, is_long=is_long):
        stream.write(f'{terminal_text.signed(line).rstrip()}\n')


def show_head(sentences: Iterable[str], is_good: bool | None, stream: TextIO, width: int) -> None:
    """Print the answer in sentences; on a terminal, the first one in the colour of the answer."""
    is_coloured = stream.isatty() and 'NO_COLOR' not in os.environ
    for number, text in enumerate(sentences):
        head = '\033[1;{}m{}\033[0m' if is_coloured and number == 0 else '{1}'
        for line in lines(terminal_text.signed(text), width):
            stream.write(f'{head.format(_COLOURS[is_good], line)}\n')


def _rest(
    answer: Answer, remedies: _Remedies, sections: _Sections, width: int, *, is_long: bool
) -> Iterator[str]:
    decision, view = answer.decision, answer.view
    yield from _helpful(answer, remedies, width)
    is_doubtful = answer.is_explained and decision.fits_by_upper_bound
    hosts = 'Hosts, without what is not modelled' if is_doubtful else 'Hosts'
    yield from section(hosts, view_hosts.groups(answer, is_long=is_long), width)
    for title, items in sections:
        yield from section(title, items, width)
    yield from section('Based on', view_notes.basis(answer), width)
    yield from section('What is not known', view_notes.unknown(answer, is_long=is_long), width)
    yield from section('What uses the full hosts', view_hosts.uses(answer), width)
    differences = host_status.differences(view)
    yield from section('Where Nova and Placement differ', differences, width)
    group = answer.request.server_group
    if group is not None and not decision.is_hosts_known:
        title = f'What is known of server group {group.name}'
        yield from section(title, servers_view.together(group), width)
    if is_long:
        yield from section('In one line', [decision.line()], width)
        if decision.hosts:
            yield from ('', *view_hosts.table(answer, width))


def explained(
    name: str, answer: Answer, width: int, *, is_one_of_several: bool = False
) -> Iterator[str]:
    """Yield a sentence about a request that does not fit, what would help, and the hosts.

    :param is_one_of_several: say that the changes help this request only.
    """
    yield from ('', *lines(f'{name}: {fit(answer.decision)}', width))
    remedies = ((str(each), each.commands) for each in answer.decision.remedies)
    yield from _helpful(answer, remedies, width, f' {name} alone' if is_one_of_several else '')
    yield from section('Hosts', view_hosts.groups(answer), width)


def section(title: str, items: Iterable[str], width: int) -> Iterator[str]:
    """Yield a title and its items, indented; nothing without items."""
    found = [*items]
    if found:
        yield from ('', *lines(title, width))
    for text in found:
        yield from lines(text, width, '  ', '    ')


def _helpful(answer: Answer, remedies: _Remedies, width: int, whom: str = '') -> Iterator[str]:
    """Yield what would help, each with its commands, or the advice of the constraints."""
    decision, found = answer.decision, [*remedies]
    single = [each for each in decision.remedies if each.code != TWO]
    is_enough = not single or any(each.capacity >= decision.wanted for each in single)
    if found:
        title = f'What would help{whom}{"" if is_enough else " (no single change is enough)"}'
        yield from ('', *lines(title, width))
    unsure = 'if Nova finds no host'
    if answer.is_explained or decision.fits is False:
        unsure = '(whether it helps is not known)'
    yield from section(f'What you could change {unsure}', answer.suggestions, width)
    advice = () if found or decision.fits is not False else _advice(decision)
    yield from section('What the constraints advise', advice, width)
    if decision.fits is False and not (found or answer.suggestions or advice):
        yield from ('', 'No known change would help.')
    for words, commands in found:
        yield from lines(words, width, '  ', '    ')
        for command in commands if all(map(str.isprintable, commands)) else ():
            yield from (f'      {line}' for line in command_lines(command, width - 6))
    if note := view_notes.of_remedies(answer):
        yield from lines(note, width, '  ', '  ')


def _advice(decision: Decision) -> Sequence[str]:
    """Return the advice of the constraints, or only that for an action that nova-api rejects."""
    obstacle = decision.request.get(OBSTACLE)
    if obstacle is None:
        return decision.advice()
    advice = decision.reasons[obstacle.code].advice
    return (advice,) if advice else ()


def _plan_sentences(answer: Answer) -> Iterator[str]:
    """Yield whether the servers fit, and what is special about their server group."""
    decision, group = answer.decision, answer.request.server_group
    if answer.action is not None:
        yield from _of_action(answer.action, decision)
        return
    yield fit(decision)
    if decision.fits and decision.wanted and (limit := _limiting_quota(decision)):
        yield f'The limit is {limit}.'
    if group is not None and decision.violated:
        yield f'{servers_view.violation(group, decision.violated)}.'
    if group is not None and group.policy in FILTERS and enforced_policy(answer.request) is None:
        yield f'{why_not_enforced(group.policy)}.'


def _of_action(asked: ServerAction, decision: Decision) -> Iterator[str]:
    """Yield whether Nova finds a host for the action, and what it does not consider."""
    server, noun = asked.server, asked.action.noun
    what = f'the {noun} of {server.name}'
    if decision.fits is None:
        yield f'It is not known whether Nova finds a host for {what}.'
    elif decision.fits is False and not decision.request.get(QUOTA, True):
        yield from _of_quotas(what, decision)
    elif decision.fits is False and OBSTACLE not in decision.request:
        yield f'Nova finds no host for {what}: {limiting_reason(decision)}.'
    elif decision.fits is False:
        yield f'Nova rejects {what}: {limiting_reason(decision)}.'
    else:
        number = sum(bool(each.placed) or each.code is None for each in decision.hosts)
        hosts = f'{number:,} of {counted(len(decision.hosts), "host")}'
        sure = 'probably accepts' if decision.fits_by_upper_bound else 'accepts'
        yield f'Nova {sure} {hosts} for {what}.'
        if decision.fits_by_upper_bound:
            yield f'Not known: {"; ".join(decision.not_known)}.'


def _of_quotas(what: str, decision: Decision) -> Iterator[str]:
    """Yield that quotas reject an action, and what else does, such as the hosts."""
    said = rejections(decision, QUOTA)
    yield f'nova-api rejects {what} with 403, before Nova chooses a host: {"; ".join(said)}.'
    others = '; '.join(each.words for each in limits(decision) if each.words not in said)
    if others:
        yield f'With a larger quota, it would still fail: {others}.'


def fit(decision: Decision) -> str:
    """Return in a sentence whether the servers fit, and what limits their number."""
    wanted, capacity = decision.wanted, decision.capacity
    servers, verb = counted(wanted, 'server'), 'fits' if wanted == 1 else 'fit'
    most = 'at most ' if decision.capacity_is_upper_bound else ''
    if decision.fits is False:
        head = f'{"At most" if most else "Only"} {capacity:,} of {wanted:,} fit'
        if not capacity:
            head = 'The server does not fit' if wanted == 1 else f'None of the {servers} fits'
        return f'{head}: {limiting_reason(decision)}.'
    if decision.fits is None:
        known = '; '.join(_known(decision))
        return f'It is not known whether {servers} {verb}{": " if known else ""}{known}.'
    if decision.fits_by_upper_bound:
        sure = decision.capacity_certain
        certain = f', {sure:,} certainly' if sure else ''
        unknown = '; '.join(decision.not_known)
        return f'{servers} probably {verb} (at most {capacity:,}{certain}). Not known: {unknown}.'
    head = {1: 'The server', 2: 'Both servers'}.get(wanted, f'All {servers}')
    if capacity is None:
        return f'{head} {verb}; how many more would fit is not known.'
    if not wanted and (limit := _limiting_quota(decision)):
        return f'{most}{capacity:,} fit, limited by {limit}.'.capitalize()
    if not wanted:
        return f'{most}{counted(capacity, "server")} would fit.'.capitalize()
    more = f'{capacity - wanted:,}' if capacity > wanted else 'no'
    return f'{head} {verb}; {most}{more} more would fit.'


def _limiting_quota(decision: Decision) -> str:
    """Return "the project's quota of ram; the hosts have room for 160"; '' if none limits more."""
    verdict, hosts = decision.request.get(QUOTA), decision.of_hosts.upper
    is_limit = verdict is not None and verdict.room == decision.capacity
    if verdict is None or not is_limit or hosts == decision.capacity:
        return ''
    most = '' if decision.of_hosts.is_exact else 'at most '
    room = 'are not known' if hosts is None else f'have room for {most}{hosts:,}'
    # The only one that rejects a request for no server is that of metadata items.
    return f'{IN_WORDS[verdict.facts.get("quota", METADATA_ITEMS)]}; the hosts {room}'


def _known(decision: Decision) -> Iterator[str]:
    """Yield what is known of the number of servers."""
    if not decision.is_hosts_known:
        yield 'the hosts are not known'
    if decision.capacity_certain:
        yield f'{decision.capacity_certain:,} certainly fit'
    if decision.capacity is not None:
        # The section "What is not known" has the rest.
        found = [each for each in decision.not_known if each != 'parts of the snapshot']
        why = f' (not known: {", ".join(found)})' if found else ''
        yield f'at most {decision.capacity:,} fit{why}'
