"""Write the notes beside a decision: what it is based on, and what is not known."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from senlin_affinity import api
from senlin_affinity.answers.explanation import Explanation
from senlin_affinity.engine.scheduler_filters import KNOWN
from senlin_affinity.model.cloud import DENIED, Cloud
from senlin_affinity.model.request import Request
from senlin_affinity.model.spread import ZONE
from senlin_affinity.model.suggestion import typo_of
from senlin_affinity.model.verdict import sentence
from senlin_affinity.nova.actions import ServerAction
from senlin_affinity.nova.quotas import quotas_of

#: The right that a user lacks, in Nova's message.
_RIGHT = re.compile(r"Policy doesn't allow ([\w:-]+)")
_ADMINS = 'Nova shows them to administrators only'
_FORCED = 'only {}: the request names this host, so Nova runs no scheduler filter'
_NEW_GROUP_NEEDED = (
    'Nova cannot change the rules of an existing group. Create a new group, which counts only its '
    'own servers. With Senlin, use another policy or cluster.'
)


@dataclass(frozen=True)
class Answer:
    """A decision, and what it is based on.

    ``options`` are the effective options by the file that sets them. ``is_file``: the snapshot
    comes from a file. ``is_explained``: the project is that of a server.
    ``suggestions``: what the requester could change. ``action``: the decision is about this action.
    """

    decision: api.Decision
    request: Request
    cloud: Cloud
    view: Cloud
    question: api.Question | None = None
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)
    is_file: bool = False
    is_explained: bool = False
    suggestions: Sequence[str] = ()
    action: ServerAction | None = None


def of_explanation(
    explained: Explanation, view: Cloud, options: Mapping[str, Sequence[str]]
) -> Answer:
    """Return the decision about the same request today, with the options of each file."""
    decision = explained.decision
    return Answer(
        decision,
        explained.request,
        explained.cloud,
        view,
        options=options,
        is_explained=True,
        suggestions=() if decision.fits else explained.suggestions,
    )


def of_remedies(answer: Answer) -> str:
    """Return a note if a remedy needs a new server group; '' otherwise."""
    is_named = any(remedy.data.get('server_group') for remedy in answer.decision.remedies)
    group, known = answer.request.server_group, answer.view.server_groups or ()
    # An attach would create a group that is not in the snapshot.
    is_there = group is not None and any(each.id == group.id for each in known)
    return _NEW_GROUP_NEEDED if is_named and is_there else ''


def basis(answer: Answer) -> Iterator[str]:
    """Yield project, user, named host, the assumptions that count, and the options of each file."""
    if answer.request.is_forced and answer.decision.is_hosts_known:
        names = {host.host for host in answer.cloud.hosts or ()}
        yield _FORCED.format(', '.join(sorted(names)))
    elif answer.request.is_host_named and not answer.is_explained:
        yield 'only one host, which --host names'
    if (found := project(answer)) and not answer.is_explained:
        yield f'project: {found}'
        if requester := user(answer):
            yield f'user: {requester}'
    if answer.request.are_quotas_ignored and answer.action is None:
        yield 'quotas are ignored'
    if assumptions := answer.decision.decisive_assumptions:
        yield f'assuming {", ".join(item.text for item in assumptions)}'
    for file, options in answer.options.items():
        if options:
            yield f'{file}: {", ".join(options)}'


def unknown(answer: Answer, *, is_long: bool = False) -> Iterator[str]:
    """Yield a phrase for each unknown part, and for each constraint on the request."""
    decision, view = answer.decision, answer.view
    if decision.fits is False and decision.is_hosts_known:
        return
    yield from unavailable(view, is_long=is_long)
    if decision.fits is not None:
        return
    yield from missing(answer.request, answer.cloud, view)
    for name, verdict in decision.request.items():
        if not verdict.bounds.is_known:
            yield f'{name}: {sentence(verdict, decision.reasons)}'


def unavailable(view: Cloud, *, is_long: bool = False) -> Iterator[str]:
    """Yield each part that could not be read, with the reason."""
    for part, why in view.unavailable.items():
        if DENIED in why and not is_long:
            right = _RIGHT.search(why)
            why = f'{_ADMINS} ({right[1]})' if right else _ADMINS
        yield f'the {part.replace("_", " ")}: {why}'


def project(answer: Answer) -> str:
    """Return the project of the servers and its origin; '' if it or the hosts are unknown."""
    request, asked, own = answer.request, answer.question, answer.cloud.project_id
    group, is_named = request.server_group, asked is not None and asked.project_id is not None
    if request.project_id is None or not answer.decision.is_hosts_known:
        return ''
    if is_named:
        why = 'from --project'
    elif group is not None and group.project_id is not None:
        why = f'that of server group {group.name}'
    else:
        why = 'your own; --project selects another'
    if answer.is_file and request.project_id == own:
        why = f'that of the snapshot{"" if is_named else "; --project selects another"}'
    is_open = quotas_of(request, answer.cloud) or request.are_quotas_ignored
    quotas = '' if is_open else '; its quotas are not known'
    return f'{request.project_id} ({why}{quotas})'


def user(answer: Answer) -> str:
    """Return the user whose quotas apply, and its origin; '' for the caller, and without quotas."""
    request, group = answer.request, answer.request.server_group
    if not quotas_of(request, answer.cloud) or request.user_id is None:
        return ''
    if answer.question is not None and answer.question.user_id is not None:
        return f'{request.user_id} (from --user)'
    if group is None or group.user_id != request.user_id:
        return ''
    return f'{request.user_id} (the creator of server group {group.name}; --user selects another)'


def missing(request: Request, cloud: Cloud, view: Cloud) -> Iterator[str]:
    """Yield a phrase for each relevant part that the snapshot lacks without a reported reason."""
    keys = ', '.join(item.by for item in request.spread if item.by != ZONE)
    of_keys = f'the domains by {keys} are not known'
    lacking = {
        'hosts': (view.hosts, _ADMINS),
        'aggregates': (
            cloud.aggregates if request.member_of or keys else (),
            'the names in member_of cannot be looked up' if request.member_of else of_keys,
        ),
        'flavors': (cloud.flavors, f'{request.unknown_flavor!r} is not checked'),
        'server_groups': (
            cloud.server_groups if request.unknown_group is not None else (),
            f'{request.unknown_group!r} is not checked',
        ),
        'quotas': (
            () if request.are_quotas_ignored else cloud.quotas,
            'quotas are not checked',
        ),
    }
    for part, (value, why) in lacking.items():
        if value is None and part not in view.unavailable:
            yield f'{part.replace("_", " ")}: not in the snapshot ({why})'


def misspelt(names: Iterable[str], modelled: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield each unknown filter that resembles a known one, with the known name."""
    known = {name.lower(): name for name in sorted({*KNOWN, *modelled})}
    for name in names:
        near = typo_of(name.lower(), known)
        if near and name not in known.values():
            yield name, known[near]
