"""Read a cloud again and again, and keep the metrics of the last time that it answered.

Example::

    wanted = Wanted(question, ('*',), constraints)
    refresher = Refresher('prod', wanted, interval=300)
    refresher.refresh()
    refresher.families          those of capacity, snapshot, groups and checks, and of the refreshes

After a refresh, what Nova has done since the last poll is counted: the failures by cause, and
whether the engine would have answered as Nova did, about these and a sample of the servers that
became ACTIVE. The two snapshots around the period judge together. A poll lists the changed servers
and the migrations, and sends at most two requests a minute.

If a service stops answering, ``families`` keep the last numbers with their timestamp, and ``up`` is
0. The connection is then made anew, which also reads changed credentials in clouds.yaml. While it
works, keystoneauth renews its token.

Raises: nothing. Each error is one warning in the log.
"""

from __future__ import annotations

import logging
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from senlin_affinity import api
from senlin_affinity.answers import judgements
from senlin_affinity.answers.failure_groups import cause_of_failure
from senlin_affinity.cli import base, metrics, prometheus, status
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.engine.parts import HOST, ZONE
from senlin_affinity.groups import audit
from senlin_affinity.groups.attachment import GROUP_NAME_PREFIX
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import AffinityError, CloudError

if TYPE_CHECKING:
    from senlin_affinity.cloud.request_count import RequestCount

LOG = logging.getLogger(__name__)
ALL = ('*',)
#: A pause is at least this number of times as long as the refresh before it.
_PAUSES = 9
#: The parts of a snapshot without which metrics are missing.
_NEEDED = {'resources', 'aggregates', 'availability_zones', 'server_groups', 'members'}
#: Seconds between two checks.
_BETWEEN_CHECKS = 3600.0
#: The largest change of the interval, as a part of it.
_JITTER = 0.1
#: Seconds between two polls, at least, and the requests of each minute.
_BETWEEN_POLLS, _A_MINUTE = 60.0, 2
#: The listings of servers, migrations and, for a resize, flavors.
_LISTINGS = 3
#: The failures and the placed servers that a poll judges, and the objects of each of its listings.
_MOST_FAILURES, _MOST_PLACED, _MOST_LISTED = 25, 10, 1000
_NOT_EXPLAINED = 'not_explained'
_SUCCESS, _FAILURE = 'success', 'failure'
_SERVICES = ('identity', 'compute', 'placement')
#: The checks of ``status`` that need no configuration files, and nothing of each server.
_CHECKS = {'engines': status.engines, 'aggregates': status.aggregates, 'actions': status.actions}


@dataclass(frozen=True)
class Wanted:
    """What to read of each cloud.

    ``question`` has the settings, ``flavors`` are names, ids or globs. ``timeout`` is in seconds,
    ``largest`` the size of a response in MiB; None: the defaults of the connection. ``resilience``
    is the key of the domains whose loss is judged, with that of each host; None: no loss is.
    """

    question: api.Question
    flavors: tuple[str, ...]
    constraints: Sequence[Constraint]
    is_by_host: bool = False
    prefix: str = GROUP_NAME_PREFIX
    timeout: float | None = None
    largest: int | None = None
    resilience: str | None = None


class Refresher:
    """The metrics of one cloud. ``families`` is replaced as a whole, so that any thread reads it.

    :param name: the cloud in clouds.yaml; '' for that of the environment.
    :param interval: seconds from the start of a refresh to that of the next one.

    Raise CloudError if clouds.yaml lacks the cloud, or an option of it is invalid.
    """

    def __init__(self, name: str, wanted: Wanted, interval: float) -> None:
        self.name = name
        self.families: Sequence[metrics.Family] = ()
        self._wanted, self._interval = wanted, interval
        self._read: Sequence[metrics.Family] = ()
        self._requests: Counter[tuple[str, str]] = Counter()
        self._refreshes = Counter({_SUCCESS: 0, _FAILURE: 0})
        self._up: dict[str, bool] = dict.fromkeys(_SERVICES, False)
        self._checks: Sequence[metrics.Family] = ()
        self._next_checks = 0.0
        self._polled: Cloud | None = None
        self._failures: Counter[str] = Counter()
        self._judged: Counter[tuple[str, str]] = Counter(dict.fromkeys(judgements.CELLS, 0))
        self._connection: Any = None
        self._counted, self._connection = self._connect()

    def run(self) -> None:
        """Refresh until the process ends."""
        while True:
            time.sleep(pause(self._interval, self.refresh()))

    def refresh(self) -> float:
        """Read the cloud, and replace ``families``; return the seconds that it took."""
        began = time.monotonic()
        is_logged_in, result = False, _FAILURE
        try:
            if self._connection is None:
                self._counted, self._connection = self._connect()
            self._log_in()
            is_logged_in = True
            self._read = self._fetch()
            result = _SUCCESS
        except Exception as error:
            self._warn(error)
        taken = time.monotonic() - began
        self._refreshes[result] += 1
        answers = self._counted.answers if is_logged_in else dict.fromkeys(self._up, False)
        self._up.update(answers)
        if result is _FAILURE:
            self._connection = None
        own = metrics.of_refreshes(
            self.name,
            up=self._up,
            requests={**self._requests},
            refreshes=self._refreshes,
            seconds=taken,
        )
        own += metrics.of_judgements(self.name, self._failures, self._judged)
        self.families = (*self._read, *own)
        return taken

    def _connect(self) -> tuple[RequestCount, Any]:
        """Return a new connection, and its observer.

        Requests of an earlier connection that end late do not change what is up.
        """
        from senlin_affinity.cloud import connection, transport
        from senlin_affinity.cloud.request_count import RequestCount

        counted = RequestCount(self._requests)
        made = connection.connect(self.name or None, self._wanted.timeout)
        largest = self._wanted.largest or transport.LARGEST
        transport.bound(made.session, largest)
        counted.watch(made.session)
        return counted, made

    def _log_in(self) -> None:
        from senlin_affinity.cloud import login, transport
        from senlin_affinity.cloud.request_count import endpoints

        timeout = self._timeout()
        with transport.operation(timeout):
            login.log_in(self._connection, timeout)
            self._counted.endpoints = endpoints(self._connection)

    def _fetch(self) -> Sequence[metrics.Family]:
        """Read the cloud; the checks keep their last result if they fail."""
        from senlin_affinity.cloud import transport

        with transport.operation(self._timeout()):
            view = read_view(self._connection, self._wanted, self.name)
            found = families(view, self._wanted, self.name)
            found += resilience(self._connection, view, self._wanted, self.name)
        try:
            with transport.operation(self._timeout()):
                self._poll(view)
        except Exception as error:
            self._warn(error)
        if time.monotonic() >= self._next_checks:
            try:
                with transport.operation(self._timeout()):
                    self._checks = checks(self._connection, self._wanted, self.name)
                self._next_checks = time.monotonic() + _BETWEEN_CHECKS
            except Exception as error:
                self._warn(error)
        return [*found, *self._checks]

    def _poll(self, view: Cloud) -> None:
        """Count what Nova has done between the last polled snapshot and this one."""
        before = self._polled
        seconds = _BETWEEN_POLLS if before is None else seconds_between(before, view)
        if seconds < _BETWEEN_POLLS:
            return
        if before is not None:
            most = max(0, int(seconds / 60 * _A_MINUTE) - _LISTINGS)
            clients = api.clients_of(self._connection)
            failures, judged = judge(clients, (before, view), self._wanted, most)
            self._failures.update(failures)
            self._judged.update(judged)
        self._polled = view

    def _warn(self, error: Exception) -> None:
        LOG.warning('cloud %s: %s', self.name or '(environment)', base.one_line(error))
        LOG.debug('the refresh failed', exc_info=True)

    def _timeout(self) -> float:
        from senlin_affinity.cloud import transport

        known: float | None = self._connection.session.timeout
        return self._wanted.timeout or known or transport.REQUEST_TIMEOUT


def pause(interval: float, seconds: float) -> float:
    """Return the seconds to wait after a refresh that took ``seconds``.

    The interval with jitter is measured from start to start. Refreshes take at most a tenth of the
    time.
    """
    changed = interval * random.uniform(1 - _JITTER, 1 + _JITTER)
    return max(changed - seconds, _PAUSES * seconds)


def seconds_between(before: Cloud, after: Cloud) -> float:
    """Return the seconds between two snapshots; 0 if a time is not known."""
    times = before.taken_at, after.taken_at
    first, last = (datetime.fromisoformat((each or '1970-01-01')[:19]) for each in times)
    return (last - first).total_seconds() if all(times) else 0.0


def judge(
    clients: Any, views: tuple[Cloud, Cloud], wanted: Wanted, most_requests: int
) -> tuple[Counter[str], Counter[tuple[str, str]]]:
    """Return the failures between two snapshots by cause, and the judgements by cell.

    :param most_requests: those for the messages of single failures. The others are counted as
        ``not_explained``, and not judged.
    """
    from senlin_affinity.cloud import failures

    settings, constraints = wanted.question, wanted.constraints
    since, until = (str(each.taken_at) for each in views)
    period = failures.listed(clients, since, most=_MOST_LISTED)
    period = period.before(until)
    cloud = views[-1]
    read = failures.read(clients, period, cloud, most=_MOST_FAILURES, most_requests=most_requests)
    causes, judged = Counter[str](), Counter[tuple[str, str]]()
    causes[_NOT_EXPLAINED] += len(period.failures) - len(read)
    for failed in read:
        found = [cause_of_failure(failed, settings, view, constraints) for view in views]
        causes[found[-1].label] += 1
        answers = [*filter(None, map(judgements.of_failure, found))]
        if answers:
            judged[judgements.agreed(*answers), judgements.REJECTED] += 1
    placed = failures.started(period, cloud, until)
    for server in random.sample(placed, min(len(placed), _MOST_PLACED)):
        each_answer = (
            judgements.of_placed(server, settings, view, constraints, is_counted=view is views[-1])
            for view in views
        )
        judged[judgements.agreed(*each_answer), judgements.PLACED] += 1
    return causes, judged


def read_view(connection: Any, wanted: Wanted, cloud: str = '') -> Cloud:
    """Read a cloud once. Raise CloudError and InvalidSpec, as api.fetch."""
    clients = api.clients_of(connection)
    view = view_of(clients, wanted.question, wanted.flavors)
    for part in _NEEDED & view.unavailable.keys():
        LOG.warning('cloud %s: %s: %s', cloud, part, view.unavailable[part])
    if view.hosts is None:
        raise CloudError(f'the hosts are not known: {view.unavailable.get("hosts", "")}')
    return view


def families(view: Cloud, wanted: Wanted, cloud: str = '') -> list[metrics.Family]:
    """Return the metrics of a view."""
    found = api.capacity(
        view,
        None if wanted.flavors == ALL else wanted.flavors,
        HOST if wanted.is_by_host else ZONE,
        wanted.question.project_id,
        question=wanted.question,
        constraints=wanted.constraints,
    )
    return [*metrics.of_capacity(found, cloud), *metrics.of_snapshot(view, cloud)]


def resilience(
    connection: Any, view: Cloud, wanted: Wanted, cloud: str = ''
) -> list[metrics.Family]:
    """Read the servers of all hosts, and return which losses they survive; [] if that fails."""
    from senlin_affinity.cloud import drained

    if wanted.resilience is None:
        return []
    try:
        view = drained.with_every_server(api.clients_of(connection), view)
        found = [
            api.resilience(view, by, question=wanted.question, constraints=wanted.constraints)
            for by in dict.fromkeys((HOST, wanted.resilience))
        ]
    except AffinityError as error:
        LOG.warning('cloud %s: resilience: %s', cloud, base.one_line(error))
        return []
    return metrics.of_resilience(found, view, wanted.resilience, cloud)


def checks(connection: Any, wanted: Wanted, cloud: str = '') -> list[metrics.Family]:
    """Return the number of orphaned groups, and of the findings of each check.

    They need a request for each aggregate, and for each cluster with a policy.
    """
    clients = api.clients_of(connection).remembering()
    orphans = [*_orphans(clients, wanted, cloud)]
    rows = [
        row
        for name, check in _CHECKS.items()
        for row in status.rows_of(name, partial(check, clients))
    ]
    return [*orphans, metrics.of_findings(prometheus.counts(rows), cloud)]


def view_of(clients: Any, question: api.Question, flavors: Sequence[str]) -> Cloud:
    """Fetch what the capacity of the flavors depends on, and all server groups."""
    from senlin_affinity.cloud import flavor_answers, snapshot

    cloud = snapshot.take(clients, project_id=question.project_id)
    return flavor_answers.of_flavors(clients, cloud, question, flavors)


def _orphans(clients: Any, wanted: Wanted, cloud: str) -> Iterator[metrics.Family]:
    """Yield the number of orphaned groups; nothing without Senlin, or if it does not answer.

    Nova is read first, so that a group that is created and bound meanwhile is not an orphan.
    """
    from senlin_affinity.cloud import connection, senlin
    from senlin_affinity.cloud.server_groups import NovaServerGroups

    try:
        if not connection.has_clustering(clients.owner):
            return
        compute = connection.compute(clients.owner)
        groups = NovaServerGroups(compute).of_every_project()
        clustering = connection.clustering(clients.owner)
        found = senlin.fetch(clustering, None)
    except CloudError as error:
        LOG.warning('cloud %s: orphaned groups: %s', cloud, base.one_line(error))
        return
    statuses = audit.statuses(groups, found.uses, wanted.prefix)
    yield metrics.of_orphans(sum(each.is_orphan for each in statuses), cloud)
