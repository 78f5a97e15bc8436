"""Maintain all hosts of random clouds in a real Nova, by the scripts of ``host drain --waves``.

The clouds are those of :mod:`drains`. While bash runs the script, Nova's database is read several
times a second: no group may be violated at any moment. The maintenance fails if a host of its batch
still has a server. nova-compute reports its servers every second, so the script waits for seconds
between batches.

Run: ``python -m tests.accuracy.rolling 20`` for 20 clouds. The exit status is 1 if a plan was
wrong.

Units: seconds.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from senlin_affinity import api
from tests.accuracy import loop
from tests.accuracy.asking import optional_input
from tests.accuracy.case import Ask
from tests.accuracy.drains import Drain, Watch, client, clouds, open_again, run
from tests.accuracy.stage import Stage

_OPTIONS = {'scheduler_instance_sync_interval': 1}
_SETTLE = '3'
#: Maintenance that fails if a server is on one of the hosts, which are its arguments.
_MAINTENANCE = """#!{python} -IS
import sqlite3, sys
database = sqlite3.connect({path!r}, timeout=30)
for host in sys.argv[1:]:
    query = 'select count(*) from instances where deleted = 0 and host = ?'
    (number,) = database.execute(query, (host,)).fetchone()
    if number:
        sys.exit(f'{{number}} servers are on {{host}}')
"""


@dataclass(frozen=True)
class Outcome:
    """The numbers of the maintenance of a cloud, and what was wrong."""

    seed: int
    line: str
    batches: int
    hosts: int
    moves: int
    left: int
    looks: int
    wrong: tuple[str, ...]

    def title(self) -> str:
        """Return the outcome as a line."""
        return f'{self.seed}: {self.line}'


def maintain(stage: Stage, drain: Drain, path: str) -> Outcome:
    """Plan the maintenance of all hosts, run the script, and compare."""
    given = optional_input(stage, drain.case, Ask(1))
    given.pop('image')
    question = api.Question(1, **given)
    hosts, most = [*drain.case.hosts], random.Random(drain.case.seed).choice((1, 2))
    view = api.fetch(stage.admin.connection, question, servers_on=hosts)
    plan = api.drain_in_batches(hosts, most, view, question=question)
    watch = Watch(stage.cloud.log_dir)
    watch.start()
    with tempfile.TemporaryDirectory() as folder:
        command = Path(folder) / 'maintain'
        database = str(stage.cloud.log_dir / 'cell1.sqlite')
        command.write_text(_MAINTENANCE.format(python=sys.executable, path=database))
        command.chmod(0o755)
        more = {'MAINTENANCE': str(command), 'SETTLE': _SETTLE}
        ended = run(stage, plan, view, path, more)
    watch.stop()
    wrong = [*watch.violations]
    if ended.returncode != (3 if plan.left else 0):
        said = f'{ended.stdout[-300:]}{ended.stderr[-300:]}'
        wrong.append(f'the script ended with {ended.returncode}: {said}')
    open_again(stage, drain, hosts)
    return Outcome(
        drain.case.seed,
        plan.line(),
        len(plan.batches),
        sum(len(each.hosts) for each in plan.batches),
        sum(len(each.moves) for each in plan.batches),
        len(plan.left),
        watch.looks,
        (*wrong,),
    )


def outcomes(seeds: Sequence[int]) -> Iterator[Outcome]:
    """Yield the outcomes of the clouds of these seeds."""
    with client() as path:
        for stage, drain in clouds(seeds, **_OPTIONS):
            yield maintain(stage, drain, path)


def sums(known: Sequence[loop.Row]) -> Iterator[str]:
    """Yield the sums of all clouds."""
    number = {
        name: sum(each[name] for each in known)
        for name in ('batches', 'hosts', 'moves', 'left', 'looks')
    }
    yield (
        f'{number["batches"]} batches of {len(known)} clouds: {number["hosts"]} hosts maintained, '
        f'{number["left"]} not emptied; {number["moves"]} servers moved; {number["looks"]} looks '
        'at the database'
    )


if __name__ == '__main__':
    sys.exit(loop.run('rolling', outcomes, sums))
