"""Keep servers on, or off, the hosts of servers that scheduler hints name.

A server that does not exist, or that has no host, matches no host. A server that was not read, that
is being moved, or that was moved a short time ago may be on a host.

Source: Nova's SameHostFilter and DifferentHostFilter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple

from senlin_affinity.constraints.base import Constraint, Reason, Request, Verdict
from senlin_affinity.model import scheduler_hints
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.scheduler_hints import DIFFERENT_HOST, OF_SERVERS, SAME_HOST
from senlin_affinity.model.server_group import Member
from senlin_affinity.nova.group_policy import may_count
from senlin_affinity.scenario.column import Column
from senlin_affinity.scenario.scenario import Scenario

#: One sentence for both hints: naming the one that rejects a host would reveal hosts.
_FOR_OWNER = 'the servers must satisfy the scheduler hints {scheduler_hints}'


class _Hint(NamedTuple):
    """A scheduler hint, with the hosts of the servers that it names.

    ``hosts`` certainly have one of the servers, and ``possible`` may have one. ``is_any_lost``: any
    host may have one, because its host is unknown.
    """

    name: str
    servers: tuple[str, ...]
    hosts: frozenset[str]
    possible: frozenset[str]
    is_any_lost: bool


class SchedulerHintsConstraint(Constraint):
    """The scheduler hints that name servers."""

    name = 'scheduler_hints'
    order = 90
    summary = 'the host satisfies the scheduler hints that name servers'
    needs = ('hosts',)
    reads_flavor = ()
    filters = (*OF_SERVERS.values(),)
    is_waivable = True
    reasons: ClassVar[Mapping[str, Reason]] = {
        'scheduler_hints.none': Reason('no scheduler hint names servers'),
        'scheduler_hints.satisfied': Reason('the scheduler hints {hints} allow it'),
        'scheduler_hints.same_host': Reason(
            'has none of the servers in the scheduler hint same_host ({servers})',
            advice='free capacity on the host of these servers, or leave out the hint',
            for_owner=_FOR_OWNER,
        ),
        'scheduler_hints.different_host': Reason(
            'has a server in the scheduler hint different_host ({servers})',
            advice='add a host, or leave out the hint',
            for_owner=_FOR_OWNER,
        ),
        'scheduler_hints.unknown': Reason(
            'the hosts of the servers in the scheduler hint {hint} ({servers}) are not known'
        ),
        'scheduler_hints.not_enforced': Reason(
            'not enforced here: the scheduler does not run {filters}'
        ),
    }

    def column(self, request: Request, scenario: Scenario) -> Column:
        """Reject each host that ``same_host`` or ``different_host`` excludes, with that code.

        SKIP ``none`` without these hints, ``not_enforced`` without their filters; else ``unknown``
        if a server may be on the host; else PASS ``satisfied``.
        """
        hints = request.memo(_hints, scenario.cloud)
        if not hints:
            return Column.by_name(scenario.columns, Verdict.skipped('scheduler_hints.none'), {})
        enforced = scheduler_hints.enforced(request)
        read = [hint for hint in hints if hint.name in enforced]
        if not read:
            filters = ', '.join(OF_SERVERS[hint.name] for hint in hints)
            skipped = Verdict.skipped('scheduler_hints.not_enforced', filters=filters)
            return Column.by_name(scenario.columns, skipped, {})
        named = frozenset().union(*(hint.hosts | hint.possible for hint in read))
        verdict_of = {host: _verdict(read, host) for host in named}
        return Column.by_name(scenario.columns, _verdict(read, None), verdict_of)

    def assumptions(self, request: Request, cloud: Cloud) -> Iterator[str]:
        """Yield the filter of each hint that names servers."""
        return (OF_SERVERS[hint.name] for hint in request.memo(_hints, cloud))

    def caveats(self, request: Request, cloud: Cloud) -> Iterator[str]:
        """Yield a phrase for each other hint that may reject hosts."""
        return scheduler_hints.unmodelled(request)


def _verdict(hints: Sequence[_Hint], host: str | None) -> Verdict:
    """Return the verdict of all hints on a host; None: a host that no hint names."""
    verdicts = [verdict for hint in hints if (verdict := _against(hint, host)) is not None]
    verdicts.sort(key=bool)
    names = ', '.join(hint.name for hint in hints)
    return next(iter(verdicts), Verdict.passed('scheduler_hints.satisfied', hints=names))


def _against(hint: _Hint, host: str | None) -> Verdict | None:
    """Return the REJECT or ``unknown`` of one hint on a host; None if it allows the host."""
    is_here, servers = host in hint.hosts, ', '.join(hint.servers)
    may_be_here = hint.is_any_lost or host in hint.possible
    if is_here == (hint.name == SAME_HOST) and (is_here or not may_be_here):
        return None
    if not is_here and may_be_here:
        return Verdict.unknown('scheduler_hints.unknown', hint=hint.name, servers=servers)
    return Verdict.rejected(f'scheduler_hints.{hint.name}', servers=servers)


def _hints(request: Request, cloud: Cloud) -> tuple[_Hint, ...]:
    """Return the hints that name servers, ``same_host`` first."""
    return tuple(
        _hint(request, cloud, name, servers)
        for name in (SAME_HOST, DIFFERENT_HOST)
        if (servers := scheduler_hints.servers(request.scheduler_hints, name))
    )


def _hint(request: Request, cloud: Cloud, name: str, servers: tuple[str, ...]) -> _Hint:
    """Return the hint with the hosts of these servers.

    Servers that cannot exist or have no host are skipped. Both hosts of a migration, and one that
    was left a short time ago, are ``possible``.
    """
    known = cloud.located
    hosts: set[str] = set()
    possible: set[str] = set()
    is_any_lost = False
    for server in filter(scheduler_hints.may_exist, servers):
        member = known.get(server, Member(server))
        places = {*member.also_on, *filter(None, (member.host,))}
        if member.is_nowhere:
            continue
        if not places or member.is_half_known:
            is_any_lost = True
        elif member.also_on:
            possible |= places
        else:
            hosts |= places
            left = (host for host, since in member.left.items() if may_count(request, since))
            possible.update(() if request.is_pinned else left)
    return _Hint(name, servers, frozenset(hosts), frozenset(possible), is_any_lost)
