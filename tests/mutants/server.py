"""Run tests on mutants, each in a forked process.

pytest collects the tests once. A first child runs all of them, and records their lines and their
duration. For each mutant, a child replaces the code of the function and runs the tests that execute
the mutated lines, the fastest first, until one fails. The parent never runs a test: every child
starts with the same state.

Units: seconds. A mutant is *killed* by the first test that fails or exceeds its time; it *survives*
if all tests within its budget pass.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import select
import signal
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import coverage
import pytest
from _pytest.runner import runtestprotocol

from tests.mutants.exchange import Name, exchange, functions
from tests.mutants.operators import Mutant

#: The time of the tests of one mutant.
BUDGET = 20.0


@dataclass(frozen=True)
class Result:
    """The outcome of a mutant: ``killed`` (by a test), ``survived``, ``uncovered``, ``unfit``."""

    mutant: Mutant
    outcome: str
    by: str = ''


@dataclass
class Coverage:
    """The tests that execute each line of a file, and their durations."""

    tests: dict[str, dict[int, list[str]]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    def of(self, path: Path, lines: range) -> list[str]:
        """Return the tests that execute one of these lines, the fastest first."""
        known = self.tests.get(str(path), {})
        found = {test for line in lines for test in known.get(line, ())}
        return sorted(found, key=lambda test: (self.seconds[test], test))


class Server:
    """A pytest plugin that runs mutants instead of the tests.

    :param package: the folder of the mutated code.
    :param budget: seconds of tests for each mutant; its process is killed after twice the time.
    """

    def __init__(self, package: Path, workers: int, budget: float = BUDGET) -> None:
        self._package = package
        self._workers = workers
        self._budget = budget
        self._work: Callable[[Server], None] = lambda _server: None
        self._known: Mapping[Name, list[types.FunctionType]] = {}
        self.items: dict[str, pytest.Item] = {}
        self.coverage = Coverage()

    def run(self, arguments: Sequence[str], work: Callable[[Server], None]) -> None:
        """Collect the tests, run them all once, and call ``work`` with this server."""
        self._work = work
        chosen = ('-m', 'not long and not nightly', '-q', '-p', 'no:cacheprovider')
        status = pytest.main([*arguments, *chosen], plugins=[self])
        if status != pytest.ExitCode.OK:
            raise SystemExit(f'the tests fail without a mutant: {status!r}')

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Replace pytest's own loop."""
        if session.testsfailed:
            raise session.Interrupted(f'{session.testsfailed} errors during collection')
        self.items = {item.nodeid: item for item in session.items}
        self.coverage = self._cover(session.items)
        if self.coverage.failed:
            session.testsfailed = len(self.coverage.failed)
            tell('tests that fail without a mutant:', *self.coverage.failed)
            return True
        tell(f'{len(self.items)} tests in {sum(self.coverage.seconds.values()):.0f} s')
        self._known = functions(self._package)
        # The children share these objects without copying them.
        gc.collect()
        gc.freeze()
        self._work(self)
        return True

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Return the tests that execute the mutant's lines, the fastest first."""
        return self.coverage.of(Path(mutant.path).resolve(), mutant.lines)

    # -- the first child

    def _cover(self, items: Sequence[pytest.Item]) -> Coverage:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, 'coverage')
            child = os.fork()
            if child == 0:
                with contextlib.suppress(BaseException):
                    path.write_bytes(pickle.dumps(self._calls(items)))
                os._exit(0)
            os.waitpid(child, 0)
            return pickle.loads(path.read_bytes())

    def _calls(self, items: Sequence[pytest.Item]) -> Coverage:
        found = Coverage()
        measured = coverage.Coverage(data_file=None, source=[str(self._package)], config_file=False)
        measured.start()
        for item, following in _with_next(items):
            measured.switch_context(item.nodeid)
            begun = time.monotonic()
            reports = runtestprotocol(item, log=False, nextitem=following)
            found.seconds[item.nodeid] = time.monotonic() - begun
            if any(report.failed for report in reports):
                found.failed.append(item.nodeid)
        measured.stop()
        data = measured.get_data()
        for path in data.measured_files():
            lines = data.contexts_by_lineno(path).items()
            found.tests[path] = {line: [test for test in tests if test] for line, tests in lines}
        return found

    # -- the children with mutants

    def kill(self, jobs: Iterable[tuple[Mutant, Sequence[str]]]) -> Iterator[Result]:
        """Run each mutant on its tests, in as many processes as there are workers.

        The results are in the order in which the processes end. If the caller stops iterating, the
        remaining processes are killed.
        """
        running: dict[int, tuple[int, float, Mutant]] = {}
        try:
            for mutant, tests in jobs:
                if not tests:
                    yield Result(mutant, 'uncovered')
                    continue
                while len(running) >= self._workers:
                    yield from self._ended(running)
                report, news = os.pipe()
                child = os.fork()
                if child == 0:
                    os.close(report)
                    self._be_a_mutant(mutant, tests, news)
                os.close(news)
                running[report] = (child, time.monotonic(), mutant)
            while running:
                yield from self._ended(running)
        finally:
            for report, (child, _begun, _mutant) in running.items():
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                os.close(report)

    def _ended(self, running: dict[int, tuple[int, float, Mutant]]) -> Iterator[Result]:
        ready, _, _ = select.select(list(running), [], [], 1.0)
        for report in list(running):
            child, begun, mutant = running[report]
            is_late = time.monotonic() - begun > 2 * self._budget
            if report not in ready and not is_late:
                continue
            if is_late and report not in ready:
                os.kill(child, signal.SIGKILL)
            with os.fdopen(report) as news:
                said = news.read()
            os.waitpid(child, 0)
            del running[report]
            outcome, _, by = said.partition(' ')
            # A child that ends without a result was killed by its mutation.
            yield Result(mutant, outcome or 'killed', by or ('' if outcome else '(exit)'))

    def _within_budget(self, tests: Sequence[str]) -> Iterator[str]:
        left = self._budget
        for test in tests:
            left -= self.coverage.seconds[test]
            if left < 0 and test is not tests[0]:
                return
            yield test

    def _be_a_mutant(self, mutant: Mutant, tests: Sequence[str], news: int) -> None:
        # This process must never continue with the parent's work.
        said = 'survived'
        try:
            path = Path(mutant.path).resolve()
            if not exchange(self._known, path, mutant.function, mutant.source):
                said = 'unfit'
                return
            items = [self.items[test] for test in self._within_budget(tests)]
            for item, following in _with_next(items):
                reports = runtestprotocol(item, log=False, nextitem=following)
                if any(report.failed for report in reports):
                    said = f'killed {item.nodeid}'
                    # End the services of the remaining tests.
                    item.session._setupstate.teardown_exact(None)
                    return
        except BaseException as error:  # noqa: BLE001 - caused by the mutant
            said = f'killed ({type(error).__name__})'
        finally:
            os.write(news, said.encode())
            os._exit(0)


def tell(*lines: str) -> None:
    """Print immediately, although pytest captures the output."""
    sys.__stdout__.write(''.join(f'{line}\n' for line in lines))
    sys.__stdout__.flush()


def _with_next(items: Sequence[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    following: list[pytest.Item | None] = [*items[1:], None]
    return zip(items, following, strict=True)
