"""Find the cause of each of many failures, and group them by it.

Example::

    found = [cause_of_failure(each, settings, view, constraints) for each in failed]
    [each.sentence() for each in grouped(found)]
    # 14 servers: too little VGPU left (all 4 hosts) (first 2026-11-24 09:12 UTC, last 11:40 UTC;
    # projects a, b)

A cause is what :mod:`~senlin_affinity.answers.explanation` says about a single failure, as codes:
the kind of the failure, and of one that the preflight models, the reason code that limits the
number of servers, with its detail (the resource class, the trait). Quotas are not read: nova-api
rejects a request that exceeds one before there is a server.

``cli/failures.py`` and the exporter call it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from senlin_affinity.answers.explanation import Explanation
from senlin_affinity.answers.headline import limits
from senlin_affinity.answers.repetition import explain
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.numbers import counted, listed
from senlin_affinity.preflight.failed_server import (
    HEADLINES,
    MODELLED,
    Cause,
    FailedServer,
    question_of,
)
from senlin_affinity.preflight.question import Question

CREATE = 'create'
#: The codes of failures that no constraint explains. They are public (JSON, metrics).
NOT_MODELLED, FITS_NOW, NOT_KNOWN = 'failure.not_modelled', 'failure.fits_now', 'failure.not_known'
NO_HOSTS = 'failure.no_hosts'
_FITS_NOW = 'a host takes it now'
_NOT_KNOWN = 'whether a host takes it is not known'
_NAMED = 5


@dataclass(frozen=True)
class FailureCause:
    """Why a server or an action failed.

    Failures of one cause have equal ``key``. ``code`` is '' for a failure that has nothing to do
    with the hosts; its ``words`` are then what Nova's message means.
    """

    failed: FailedServer
    code: str
    detail: str
    words: str
    short: str
    explanation: Explanation | None = None

    @property
    def cause(self) -> Cause:
        """The kind of the failure."""
        return self.failed.failure.origin

    @property
    def key(self) -> tuple[str, ...]:
        """The codes of the cause; without one, the words that stand for Nova's message."""
        return (self.cause.value, self.code, self.detail, '' if self.code else self.short)

    @property
    def label(self) -> str:
        """The cause in one word, for metrics: the reason code, or else the kind of the failure."""
        return self.code or self.cause.value

    @property
    def action(self) -> str:
        """The name of the action: 'create', 'live-migrate'; 'other' if it is not known."""
        attempt = self.failed.attempt
        if attempt is not None:
            return attempt.action.value
        return CREATE if self.failed.flavor_name is not None else 'other'


def cause_of_failure(
    failed: FailedServer, settings: Question, view: Cloud, constraints: Sequence[Constraint]
) -> FailureCause:
    """Return the cause, as ``server explain`` finds it.

    :param settings: has the settings of the cloud, and no more.
    """
    failure = failed.failure
    if failure.origin not in MODELLED or failure.origin is Cause.QUOTA:
        words = failure.meaning or HEADLINES.get(failure.origin, 'failed for another reason')
        return FailureCause(failed, '', '', words, words)
    try:
        asked = question_of(failed, replace(settings, count=0))
        asked = replace(asked, are_quotas_ignored=True)
        explained = explain(failed, asked, view, constraints, failed.host, remedies=False)
    except InvalidSpec as error:
        return FailureCause(failed, NOT_KNOWN, '', f'{_NOT_KNOWN}: {error}', _NOT_KNOWN)
    return FailureCause(failed, *_of_plan(explained), explained)


def _of_plan(explained: Explanation) -> tuple[str, str, str, str]:
    """Return the code, the detail, and the words with and without numbers of hosts."""
    decision = explained.of_hosts
    if decision.fits is False:
        first = limits(decision)[0]
        return first.code or NO_HOSTS, first.detail, first.words, first.short
    if explained.likely_cause is not None:
        return NOT_MODELLED, '', explained.likely_cause, 'a filter or rule that is not modelled'
    if decision.fits is None:
        return NOT_KNOWN, '', _NOT_KNOWN, _NOT_KNOWN
    return FITS_NOW, '', _FITS_NOW, _FITS_NOW


@dataclass(frozen=True)
class FailureGroup:
    """Failures of one cause, the newest first."""

    failures: tuple[FailureCause, ...]

    @property
    def words(self) -> str:
        """The cause in words, with numbers of hosts if these are the same for all failures."""
        every = {each.words for each in self.failures}
        return every.pop() if len(every) == 1 else self.failures[0].short

    @property
    def times(self) -> tuple[str, str] | None:
        """The first and the last time; None if Nova shows none."""
        known = sorted(filter(None, (each.failed.failure.at for each in self.failures)))
        return (known[0], known[-1]) if known else None

    @property
    def projects(self) -> tuple[str, ...]:
        """The ids of the projects of the servers."""
        return (*sorted({each.failed.project_id or '' for each in self.failures} - {''}),)

    @property
    def actions(self) -> dict[str, int]:
        """The number of failures by action, the most frequent first."""
        return dict(Counter(each.action for each in self.failures).most_common())

    def sentence(self) -> str:
        """Return "14 servers: CAUSE (first 2026-11-24 09:12 UTC, last 11:40 UTC; project a; web)".

        The names of a few servers, the newest failure first, come last.
        """
        servers = [*dict.fromkeys(each.failed.name for each in self.failures)]
        parts = self._when(), _named('project ', self.projects), _named('', servers)
        facts = '; '.join(filter(None, parts))
        return f'{self.number()}: {self.words}{f" ({facts})" if facts else ""}'

    def number(self) -> str:
        """Return '14 servers', '1 resize', or '3 failures (2 creations, 1 resize)'."""
        nouns = {
            each.action: 'failure' if each.failed.attempt is None else each.failed.what
            for each in self.failures
        }
        nouns[CREATE] = 'server' if len(nouns) == 1 else 'creation'
        parts = [counted(number, nouns[name]) for name, number in self.actions.items()]
        if len(parts) == 1:
            return parts[0]
        return f'{counted(len(self.failures), "failure")} ({", ".join(parts)})'

    def _when(self) -> str:
        if self.times is None:
            return ''
        first, last = (each[:16].replace('T', ' ') for each in self.times)
        if first == last:
            return f'at {first} UTC'
        is_same_day = first[:10] == last[:10]
        return f'first {first} UTC, last {last[11:] if is_same_day else last} UTC'

    def as_dict(self) -> dict[str, Any]:
        """Return the group for JSON."""
        newest = self.failures[0]
        first, last = self.times or (None, None)
        return {
            'cause': newest.cause.value,
            'code': newest.code or None,
            'detail': newest.detail or None,
            'reason': self.words,
            'number': len(self.failures),
            'first': first,
            'last': last,
            'actions': self.actions,
            'projects': list(self.projects),
            'changes': [] if newest.explanation is None else list(newest.explanation.changes),
            'failures': [
                {
                    'id': each.failed.id,
                    'name': each.failed.name,
                    'project_id': each.failed.project_id,
                    'action': each.action,
                    'at': each.failed.failure.at,
                    'message': each.failed.failure.message,
                }
                for each in self.failures
            ],
        }


def grouped(found: Iterable[FailureCause]) -> tuple[FailureGroup, ...]:
    """Return the failures by cause, the largest group first."""
    groups: defaultdict[tuple[str, ...], list[FailureCause]] = defaultdict(list)
    for each in found:
        groups[each.key].append(each)
    made = [
        FailureGroup(tuple(sorted(each, key=lambda one: one.failed.failure.at or '', reverse=True)))
        for each in groups.values()
    ]
    return (*sorted(made, key=lambda group: len(group.failures), reverse=True),)


def _named(noun: str, names: Sequence[str]) -> str:
    """Return 'project a', 'projects a, b and 3 more'; '' without any."""
    plural = f'{noun[:-1]}s ' if noun and len(names) > 1 else noun
    return f'{plural}{listed(names, _NAMED)}' if names else ''
