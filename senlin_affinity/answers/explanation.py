"""Why a server failed, and the decision about its request today, in sentences.

The failed servers still count in their server group and in the quotas. A second decision, which
counts them, shows whether they must be deleted first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from senlin_affinity.answers.headline import candidates_of, limiting_reason, limits, rejections
from senlin_affinity.answers.likely_cause import of_request
from senlin_affinity.constraints.quota import DRIVER, USAGE
from senlin_affinity.engine.decision import Decision
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.numbers import counted, listed
from senlin_affinity.model.proposal import Kind
from senlin_affinity.model.request import Request
from senlin_affinity.nova.actions import Action
from senlin_affinity.nova.quota_charges import ways_of
from senlin_affinity.nova.quotas import CORES, INSTANCES, RAM, SERVER_GROUP_MEMBERS, Counting
from senlin_affinity.preflight.failed_server import (
    CREATED,
    ENDED,
    HEADLINES,
    MODELLED,
    Cause,
    Change,
    FailedServer,
)

_NOT_PLACEMENT = 'This is not a placement failure. The rest is about hosts and quotas only.'
_NOT_SHOWN = 'Nova shows the message of a deleted server to administrators only.'
_ADMINS_ONLY = 'Nova shows the message of a failed action to administrators only.'
_NO_MESSAGE = 'Nova has no message for this failure.'
_CHECKED_LATE = (
    'Nova checks quotas twice; between the checks, servers were created or a limit was lowered.'
)
_RACE = 'Nova used up its attempts, because of a race for capacity or failed starts.'
_AGAIN = 'Request the server again.'
_SAME_TIME = 'Perhaps another server of the group was started at the same time'
_PASS = 'Pass --nova-conf.'
_OTHER_REASON = 'Perhaps another reason was decisive then.'
_MOST_HOSTS = 3
#: The quotas whose names are not the words for their units.
_UNITS = {RAM: 'MiB of ram', SERVER_GROUP_MEMBERS: 'group members'}
_NO_RECORD = 'Nova keeps no record of changes to hosts, traits or quotas.'


@dataclass(frozen=True)
class Explanation:
    """Why a server failed, and the decision about its request today.

    ``decision`` does not count the failed servers; ``counted`` does, and is None if they are all
    deleted. ``notes`` are sentences, such as on parts of the request that no longer exist or are
    not modelled. ``requirements`` are those of the request that its owner may read.

    ``scheduled`` is the decision without what nova-api checks before it accepts a request, such as
    quotas; None for a failure that these may explain. ``likely_cause`` is a phrase, if Nova's
    message or the failure itself names a cause that the decision does not. ``suggestions`` are
    changes that the requester could make: if the hosts are not known, nothing says whether they
    help; if the request would probably fail again, it certainly fits with each.
    """

    failed: FailedServer
    request: Request
    cloud: Cloud
    decision: Decision
    counted: Decision | None = None
    notes: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    scheduled: Decision | None = None
    likely_cause: str | None = None
    is_nova_conf_read: bool = False
    suggestions: tuple[str, ...] = ()

    @property
    def of_hosts(self) -> Decision:
        """The decision about the hosts, without quotas if these cannot be the cause."""
        return self.scheduled or self.decision

    @property
    def would_fail_again(self) -> bool:
        """Whether the request fits by the plan, but would probably fail again."""
        failure = self.failed.failure
        lasting = Cause.CLAIM, Cause.GROUP_FILTER
        is_evidence = failure.cause is Cause.NO_HOST or failure.origin in lasting
        return bool(self.decision.fits and self.likely_cause and is_evidence)

    @property
    def must_delete_first(self) -> bool:
        """Whether the request fits only after the failed servers are deleted."""
        return bool(self.decision.fits and self.counted and self.counted.fits is False)

    @property
    def are_failed_counted(self) -> bool:
        """Whether a quota rejects the request only because it still counts the failed servers."""
        if self.counted is None or not all(self.decision.request.values()):
            return False
        return not all(self.counted.request.values())

    def sentences(self) -> Iterator[str]:
        """Yield :meth:`why`, then :meth:`now`.

        Example::

            web-4 found no host at 2026-11-24 09:14 UTC (one of 4 servers requested together).
            Nova: No valid host was found. There are not enough hosts available.
            Nova places such a request as a whole. 3 of 4 fit: server group web allows 1 per host,
            and 3 of 5 hosts are full.
            The same request would fail today. web-1 to web-4 still count: 4 of 10 instances.
        """
        yield from self.why()
        yield from self.now()

    def why(self) -> Iterator[str]:
        """Yield why the server failed, and how many servers of its request fit."""
        action, failure = self.failed.action, self.failed.failure
        if action is not None and action.nodes:
            nodes = ', '.join(action.nodes)
            yield f'Nodes that failed in {action.name} of {action.target}: {nodes}.'
        yield self.headline()
        if failure.message is not None:
            yield f'{failure.source}: {failure.message.strip()}'
        if failure.tried:
            yield f'Nova tried {", ".join(failure.tried)}.'
        if self.likely_cause is not None:
            yield self._named(self.likely_cause)
        if failure.origin not in MODELLED:
            yield _NOT_PLACEMENT
        elif failure.cause is Cause.QUOTA:
            yield _CHECKED_LATE
        elif failure.cause is Cause.NOT_SHOWN:  # Nova shows the hosts to administrators, too
            hidden = _NOT_SHOWN if self.failed.attempt is None else _ADMINS_ONLY
            yield _NO_MESSAGE if self.decision.is_hosts_known else hidden
        if failure.is_by_filters is not None and not self.decision.is_hosts_known:
            is_by_filters = failure.is_by_filters
            yield of_request(self.request, is_by_filters=is_by_filters)
        yield from self._fit()

    def now(self) -> Iterator[str]:
        """Yield :meth:`today`, :meth:`why_different` and the notes."""
        yield self.today()
        yield from self.why_different()
        yield from self.notes

    def headline(self) -> str:
        """Return a sentence like the first one in the example of :meth:`sentences`."""
        failed, failure = self.failed, self.failed.failure
        what = HEADLINES.get(failure.cause, 'failed')
        at = f' at {failure.at[:16].replace("T", " ")} UTC' if failure.at else ''
        least = 'at least ' if failed.is_number_at_least else ''
        together = f' (one of {least}{failed.number} servers requested together)'
        deleted = ', and is deleted' if failed.status == 'DELETED' else ''
        who = failed.name if failed.attempt is None else f'The {_attempt(failed)}'
        return f'{who} {what}{at}{together if failed.number > 1 else ""}{deleted}.'

    def _named(self, cause: str) -> str:
        """Return the likely cause as a sentence, and whether nova.conf would tell."""
        is_open = self.would_fail_again and not self.is_nova_conf_read
        words = f'{cause[0].upper()}{cause[1:].removesuffix(".")}.'
        return f'{words} {_PASS}' if is_open else words

    def _fit(self) -> Iterator[str]:
        """Yield "2 of 3 fit: <reason>." (for one, "No host takes it: ...") if ``fits`` is False.

        "Nova places such a request as a whole." precedes it if Nova found no host, unless an action
        of Senlin created the servers.
        """
        decision, failed = self.of_hosts, self.failed
        is_whole = failed.failure.cause is Cause.NO_HOST and failed.action is None
        if decision.wanted == 1 and decision.fits is False:
            reason = limiting_reason(decision, self.decision.remedies)
            is_said = reason.startswith('no ')
            yield f'N{reason[1:]}.' if is_said else f'No host takes it: {reason}.'
        elif decision.fits is False:
            whole = 'Nova places such a request as a whole. ' if is_whole else ''
            number = min(decision.capacity or 0, decision.wanted) or 'None'
            reason = limiting_reason(decision, self.decision.remedies)
            yield f'{whole}{number} of {decision.wanted} fit: {reason}.'

    def today(self) -> str:
        """Return whether the same request would fit today, perhaps after the failed are deleted.

        If :meth:`why` names only the reasons of the hosts, the rejections of the request, such as
        by quotas, are named here. Then follows what the failed servers count in limited quotas
        (:meth:`_counts`), if anything.
        """
        decision, same = self.decision, f'same {self.failed.what}'
        fits, fit = ('fits', 'fit') if self.failed.attempt is None else ('works', 'work')
        said = {each.words for each in limits(self.of_hosts)}
        others = '; '.join(each for each in rejections(decision) if each not in said)
        words = f'The {same} would fail today{f", also because {others}" if others else ""}.'
        if decision.fits is None:
            words = f'Whether the {same} would {fit} today is not known.'
        elif self.would_fail_again:
            words = f'The {same} would probably fail again.'
        elif decision.fits is False and self.of_hosts.fits is not False:
            words = f'The {same} would fail today: {limiting_reason(decision)}.'
        elif decision.fits_by_upper_bound:
            words = f'It probably {fits} today. Not known: {"; ".join(decision.not_known)}.'
        elif decision.fits:
            after = ', after the failed servers are deleted' if self.must_delete_first else ''
            words = f'It {fits} today{after}.'
        counts = ', '.join(self._counts())
        still = 'still counts' if len(self.failed.remaining) == 1 else 'still count'
        return f'{words} {_failed_names(self.failed)} {still}: {counts}.' if counts else words

    @property
    def _again(self) -> str:
        return _AGAIN if self.failed.attempt is None else f'Repeat the {self.failed.what}.'

    def _counts(self) -> Iterator[str]:
        """Yield what the failed servers take of limited quotas.

        "4 of 10 instances", "8 of 20 cores", and with a server group "4 of 10 group members".
        """
        quotas, usage = self.cloud.quotas or {}, usage_of_failed(self.request, self.failed)
        if self.request.server_group is not None:
            usage[SERVER_GROUP_MEMBERS] = len(self.failed.remaining)
        is_sure = ways_of(self.request) == {Counting.DATABASE}
        for kind, number in usage.items():
            if kind in (CORES, RAM) and not is_sure:
                continue  # Placement has no allocations of failed servers
            limit = quotas[kind].limit if kind in quotas else None
            if number and limit is not None:
                yield f'{number} of {limit} {_UNITS.get(kind, kind)}'

    def why_different(self) -> Iterator[str]:
        """Yield why Nova found no host although the planner finds one now.

        Nothing if the hosts do not suffice now, or if the request failed for another cause. Without
        a likely cause, first parts of the request that Nova does not return, then what has changed.
        """
        failure, changes = self.failed.failure, self.changes
        if not self.of_hosts.fits:
            if changes and self.of_hosts.fits is False and failure.cause is Cause.NO_HOST:
                yield f'The cloud has changed since: {"; ".join(changes)}. {_OTHER_REASON}'
            return
        if failure.origin is Cause.RETRIES and self.likely_cause is None:
            yield f'{_RACE} {self._again}'
        elif failure.origin is Cause.GROUP_CHECK and not self.request.is_host_named:
            named = ', or the request named the host, which Nova does not return'
            is_hidden = bool(self.failed.hidden)
            yield f'{_SAME_TIME}{named if is_hidden else ""}. {self._again}'
        if failure.origin not in (Cause.NO_HOST, Cause.NOT_SHOWN):
            return
        hidden = assumed = ''
        if self.likely_cause is None:
            hidden = ', '.join(self.failed.hidden.values())
            assumed = ', '.join(item.text for item in self.decision.assumptions)
        unseen = f'Nova does not return a decisive part of the request ({hidden})'
        if changes:
            yield from [f'Perhaps {unseen}.'] if hidden else ()
            yield f'The cloud has changed since: {"; ".join(changes)}. {_NO_RECORD}'
        elif self.likely_cause is None:
            wrong = f'an assumption is wrong on this cloud: {assumed}'
            why = ', or '.join(text for part, text in ((hidden, unseen), (assumed, wrong)) if part)
            conf = f' {_PASS}' if assumed and not self.is_nova_conf_read else ''
            perhaps = f' Perhaps {why}.{conf}' if why else ''
            yield f'Nothing visible has changed since.{perhaps} {_NO_RECORD}'

    @property
    def changes(self) -> tuple[str, ...]:
        """What has changed since the failure on the hosts that matter, as phrases.

        If the request fits now, servers that were deleted from hosts that take it; if it does not,
        servers that were created on suitable hosts. Those whose host is not known, and changed
        aggregates, count in both cases.

        ``('2 servers were deleted, the last at 2026-11-24 09:14 UTC (on cmp-1, cmp-2)',)``
        """
        decision, irrelevant = self.of_hosts, {None: (), True: (CREATED,), False: (ENDED,)}
        candidates = {*candidates_of(decision)} if decision.is_hosts_known else None
        found: dict[tuple[str, str], list[Change]] = {}
        for each in self.failed.changes:
            is_there = each.host is None or candidates is None or each.host in candidates
            if is_there and each.what not in irrelevant[decision.fits]:
                found.setdefault((each.noun, each.what), []).append(each)
        return tuple(_phrase(every) for every in found.values())

    def remedies(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield what would help, each with its commands or (): a deletion, then the remedies.

        Example: ``('delete the 2 servers, then request 3', ())``, or if all fit then, ``('delete
        the 2 servers, then repeat the request', ['openstack server delete a b'])``. Each remedy
        begins with the deletion if :attr:`are_failed_counted`.
        """
        decision, failed = self.decision, self.failed
        fits_some = decision.fits is False and bool(decision.capacity)
        number = len(failed.remaining)
        delete = f'delete the {f"{number} servers" if number > 1 else "server"}, then '
        deletion = f'openstack server delete {" ".join(each.id for each in failed.remaining)}'
        if self.must_delete_first:
            yield f'{delete}repeat the request', [deletion]
        elif fits_some:
            yield f'{delete if number else ""}request {decision.capacity}', ()
        if decision.fits:
            yield from ((each, ()) for each in self.suggestions)
        is_deleted_first = self.are_failed_counted
        for remedy in decision.remedies:
            # A cluster has the flavor of its profile, and the group of its policy.
            is_enough = failed.action is None or remedy.kind is Kind.OPERATORS
            commands = remedy.commands if is_enough else ()
            if is_deleted_first and commands:
                commands = (deletion, *commands)
            yield f'{delete if is_deleted_first else ""}{remedy}', commands

    def as_dict(self, *, skipped: bool = True) -> dict[str, Any]:
        """Return the explanation for JSON: its own keys, and those of the decision.

        :param skipped: include verdicts with the outcome SKIP.
        """
        failed, failure = self.failed, self.failed.failure
        named = ('id', 'name', 'status')
        cause = {
            'cause': failure.cause.value,
            'origin': failure.origin.value,
            'last_exception': failure.last_exception,
            'is_placement': failure.origin in MODELLED,
        }
        own = {
            'server': {key: getattr(failed, key) for key in named},
            'failure': {**asdict(failure), **cause},
            'requested': failed.number,
            'requested_is_lower_bound': failed.is_number_at_least,
            'siblings': [{key: getattr(each, key) for key in named} for each in failed.siblings],
            'explanation': list(self.sentences()),
            'must_delete_first': self.must_delete_first,
            'likely_cause': self.likely_cause,
            'changes': list(self.changes),
            'hidden': dict(failed.hidden),
            'requirements': list(self.requirements),
            'suggestions': list(self.suggestions),
        }
        if (action := failed.action) is not None:
            own['action'] = {**asdict(action), 'cause': action.cause.value}
        if failed.attempt is not None:
            own['attempt'] = {
                'action': failed.attempt.action.value,
                'flavor': self.request.flavor and self.request.flavor.name,
                'host': failed.host,
            }
        return own | self.decision.as_dict(skipped=skipped)


def usage_of_failed(request: Request, failed: FailedServer) -> dict[str, int]:
    """Return what the failed servers that are not deleted use of the quotas, by quota.

    Only ``instances`` if nova.conf says that Nova counts cores and ram in Placement, where failed
    servers have no allocation.
    """
    flavor, number = request.flavor, len(failed.remaining)
    is_by_placement = request.option(USAGE) or request.option(DRIVER) != DRIVER.default
    if flavor is None or is_by_placement:
        return {INSTANCES: number}
    return {INSTANCES: number, CORES: number * flavor.vcpus, RAM: number * flavor.ram}


def _phrase(changes: Sequence[Change]) -> str:
    """Return '2 servers were deleted, the last at 2026-11-24 09:14 UTC (on cmp-1, cmp-2)'."""
    noun, number = changes[0].noun, len(changes)
    are = f'{counted(number, noun)} {"was" if number == 1 else "were"}'
    hosts = sorted({each.host for each in changes if each.host is not None})
    where = f' (on {listed(hosts, _MOST_HOSTS)})' if hosts else ''
    last = max(each.at for each in changes)[:16].replace('T', ' ')
    return f'{are} {changes[0].what}, the last at {last} UTC{where}'


def _attempt(failed: FailedServer) -> str:
    """Return 'resize of web-1 to big', 'live migration of web-1 to cmp-2'."""
    attempt, target = failed.attempt, failed.host
    if attempt is not None and attempt.action is Action.RESIZE:
        target = failed.flavor_name
    return f'{failed.what} of {failed.name}{f" to {target}" if target else ""}'


def _failed_names(failed: FailedServer) -> str:
    """Return the names of the failed servers: 'web-1', 'web-1 and web-2', 'web-1 to web-4'."""
    names = [each.name for each in failed.remaining]
    return ' and '.join(names) if len(names) < 3 else f'{names[0]} to {names[-1]}'
