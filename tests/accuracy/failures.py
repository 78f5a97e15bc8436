"""Explain random failures, and compare each rejection of a host with Nova.

Run: ``python -m tests.accuracy.failures 300 --write doc/source/trust/failures-table.rst``.

The stage becomes the cloud of a case; servers are requested until one fails, and its failure is
explained like ``server explain`` does. The scheduler's log has the hosts that each filter left, and
Placement answers the same query. A :class:`Difference` is a host about which both disagree.

If the explanation says instead that the request fits by an upper bound, its likely cause must name
a filter that removed hosts; without such a filter, it must name none.

Units: hosts. A failure counts if the explanation predicts that the same request would fail, or has
a likely cause. A host without OWNER_NOVA is not compared with Placement: no API reveals whether
Nova requires this trait, and the constraint only sets an upper bound.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import requests

from senlin_affinity import api
from senlin_affinity.answers.explanation import Explanation
from senlin_affinity.answers.repetition import explain
from senlin_affinity.cloud import failed_servers
from senlin_affinity.conf.constraint_plugins import load_constraints
from senlin_affinity.preflight.failed_server import Cause, question_of
from tests.accuracy import asking, table
from tests.accuracy.case import Ask, Case
from tests.accuracy.comparison import MOST_TRIED
from tests.accuracy.kinds import KINDS
from tests.accuracy.run import BATCH
from tests.accuracy.stage import Stage
from tests.support import scheduler_log
from tests.support.scheduler_log import DEBUG

#: The constraint of each filter that Nova always runs, and that no constraint declares.
FILTERS = {
    'ComputeFilter': 'host_state',
    'ServerGroupAntiAffinityFilter': 'server_group',
    'ServerGroupAffinityFilter': 'server_group',
}
#: The constraints that Placement enforces, by itself or by a query of Nova's request filters.
BY_PLACEMENT = ('resources', 'traits', 'availability_zone', 'reservations', 'host_state')
#: Codes of these constraints that Placement does not enforce.
NOT_BY_PLACEMENT = ('host_state.down',)
#: The constraint that rejects the query itself.
QUERY = 'candidates'
UNCERTAIN = 'traits.no_owner'
_DISABLED = 'host_state.disabled'
COLUMNS = (
    'Clouds',
    'Failures',
    'Hosts that a filter removed',
    "Hosts compared with Placement's answer",
    'Likely causes',
    'Differences',
    'Not compared',
)


@dataclass(frozen=True)
class Difference:
    """A host that Nova and the explanation reject for different reasons."""

    kind: str
    seed: int
    host: str
    nova: str
    ours: tuple[str, ...]


@dataclass
class Tally:
    """Failures by kind, the compared hosts, and the differences."""

    failures: Counter[str] = field(default_factory=Counter)
    open: Counter[str] = field(default_factory=Counter)
    by_filter: Counter[str] = field(default_factory=Counter)
    by_placement: Counter[str] = field(default_factory=Counter)
    likely: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)

    @property
    def number(self) -> int:
        """Return the number of compared failures."""
        return sum(self.failures.values())

    def table(self) -> str:
        """Return the numbers by kind as a list-table."""
        differing = Counter(each.kind for each in self.differences)
        compared = (self.failures, self.by_filter, self.by_placement, self.likely)
        counts = (*compared, differing, self.open)
        rows = [[kind, *(each[kind] for each in counts)] for kind in sorted(self.failures)]
        rows += [['all', *(sum(each.values()) for each in counts)]]
        return table.listed(f'{self.number} failures', COLUMNS, rows)


def compare(stage: Stage, case: Case, tally: Tally) -> None:
    """Create the cloud of a case, let each of its requests fail, and compare."""
    stage.set_up(case)
    done = set()
    for asked in case.asks:
        server = (asked.flavor, asked.group, asked.zone, asked.image, asked.user, str(asked.hints))
        server = (*server, asked.host)
        if asked.is_complete and not asked.spread and server not in done:
            done.add(server)
            _compare_one(stage, case, asked, tally)
    stage.clear()


def _compare_one(stage: Stage, case: Case, asked: Ask, tally: Tally) -> None:
    clear_requests(stage)
    made, is_failed = _until_failed(stage, asked)
    if is_failed:
        found = _explained(stage, case, asked, made[-1])
        if found.failed.failure.cause is Cause.NO_HOST and found.decision.fits is False:
            tally.failures[case.kind] += 1
            tally.differences += differences(stage, case, found, tally)
        elif found.failed.failure.cause is Cause.NO_HOST and found.would_fail_again:
            tally.failures[case.kind] += 1
            tally.likely[case.kind] += 1
            tally.differences += _of_likely_cause(stage, case, found)
        else:
            tally.open[case.kind] += 1
    stage.delete(made)


def _until_failed(stage: Stage, asked: Ask) -> tuple[list[str], bool]:
    """Request servers until one is in ERROR, the last one in the returned list."""
    made, status = [], 'ACTIVE'
    while status == 'ACTIVE' and len(made) < MOST_TRIED:
        server, status = stage.boot(asked)
        made += [server] if server is not None else []
    return made, status == 'ERROR'


def _explained(stage: Stage, case: Case, asked: Ask, server: str) -> Explanation:
    connection, constraints = stage.admin.connection, load_constraints()
    failed = failed_servers.find(api.clients_of(connection), server)
    known = asking.optional_input(stage, case, asked)
    del known['image']
    # Nova does not return a host that the request named.
    known['host'] = asked.host
    if ':' in (asked.zone or ''):
        known['availability_zone'] = asked.zone
    question = question_of(failed, api.Question(0, **known))
    view = api.fetch(connection, question)
    return explain(failed, question, view, constraints)


def differences(
    stage: Stage,
    case: Case,
    found: Explanation,
    tally: Tally,
    since: int = 0,
    own: str | None = None,
) -> Iterator[Difference]:
    """Yield the hosts about which Nova and the explanation of the last request disagree.

    :param since: the size of the log before the request.
    :param own: the host of a rebuilt server, for which Nova asks Placement nothing.
    """
    left = offered(stage) if own is None else {own}
    removed = scheduler_log.removed(stage.cloud, found.failed.id, left, since)
    if own is not None and not removed:  # nova-conductor rejects the traits
        left = set()
    filters = {name: each.name for each in load_constraints() for name in each.filters} | FILTERS
    verdict = found.decision.request.get(QUERY)
    of_query = [] if verdict is None or verdict else [verdict.code]
    for report in found.decision.hosts:
        against = {name: verdict.code for name, verdict in report.verdicts.items() if not verdict}
        ours = (*against.values(),)
        placements = of_query + [
            code
            for constraint, code in against.items()
            if constraint in BY_PLACEMENT
            and code not in NOT_BY_PLACEMENT
            # Placement offers a disabled host without the trait.
            and (code, report.host) not in {(_DISABLED, host) for host in case.stale.offered}
        ]
        is_certain = all(verdict.code != UNCERTAIN for verdict in report.verdicts.values())
        tally.by_placement[case.kind] += is_certain
        if is_certain and bool(placements) is (report.host in left):
            words = 'offered by Placement' if report.host in left else 'not offered'
            yield Difference(case.kind, case.seed, report.host, words, ours)
        filtered = removed.get(report.host)
        if filtered is not None:
            tally.by_filter[case.kind] += 1
            if filters.get(filtered) not in against:
                yield Difference(case.kind, case.seed, report.host, filtered, ours)


def _of_likely_cause(stage: Stage, case: Case, found: Explanation) -> Iterator[Difference]:
    removed = _removed(stage, found.failed.id)
    accepted = {each.host for each in found.decision.hosts if each.placed or each.code is None}
    names = sorted({name for host, name in removed.items() if host in accepted})
    said = found.likely_cause or ''
    is_named = any(f'filter {name}' in said for name in names)
    if not is_named if names else 'filter ' in said:
        yield Difference(case.kind, case.seed, '(all)', ', '.join(names), (said,))


def offered(stage: Stage) -> set[str]:
    """Return the hosts in Placement's answer to Nova's last query."""
    names = {uuid: name for name, uuid in stage.uuids.items()}
    return scheduler_log.offered(stage.cloud, stage.admin.connection.placement, names)


def _removed(stage: Stage, server: str) -> Mapping[str, str]:
    """Return the filter that removed each host, from the log of nova-scheduler."""
    return scheduler_log.removed(stage.cloud, server, offered(stage))


def clear_requests(stage: Stage) -> None:
    """Forget the recorded requests."""
    with requests.Session() as session:
        session.trust_env = False
        assert session.delete(f'{stage.cloud.base_url}/_sandbox/requests').ok


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare this number of failures of random kinds; return 1 if one differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('number', type=int, help='the minimum number of compared failures')
    parser.add_argument('--first', type=int, default=1000, help='the seed of the first cloud')
    parser.add_argument(
        '--write', metavar='FILE', type=Path, help='write the table of the manual here'
    )
    given = parser.parse_args(arguments)
    tally, seeds, dice = Tally(), itertools.count(given.first), random.Random(given.first)
    while tally.number < given.number:
        with Stage(nova_options=DEBUG) as stage:
            for _ in range(BATCH):
                kind = dice.choice(sorted(set(KINDS) - {'spread'}))
                compare(stage, KINDS[kind](next(seeds)), tally)
        print(tally.table(), *tally.differences, sep='\n', flush=True)
        # After each batch, in case the run is interrupted.
        if given.write is not None and not tally.differences:
            given.write.write_text(tally.table(), encoding='utf-8')
    return bool(tally.differences)


if __name__ == '__main__':
    sys.exit(main())
