"""Lose hosts of random clouds in a real Nova, and evacuate their servers as ``resilience`` says.

The clouds are those of :mod:`drains`. One host after the other is forced down:

* Nova must reject each server that is called stuck.
* The servers of the order are evacuated to their targets, and then the others to any host, in a
  random order. If the loss fits, Nova must accept all of them; if sums or all orders prove that it
  does not, Nova must reject one.

Run: ``python -m tests.accuracy.losses 20`` for the hosts of 20 clouds. The exit status is 1 if a
verdict was wrong.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from senlin_affinity import api
from senlin_affinity.engine.resilience import Loss
from senlin_affinity.nova.moves import EVACUATE
from tests.accuracy.asking import optional_input
from tests.accuracy.case import Ask
from tests.accuracy.drains import Drain, clouds
from tests.accuracy.moving import move, set_service
from tests.accuracy.stage import Stage

#: Losses of one cloud, one after the other.
_MOST = 3


@dataclass(frozen=True)
class Outcome:
    """A verdict, the numbers of accepted and rejected evacuations, and what was wrong."""

    seed: int
    host: str
    verdict: str
    line: str
    accepted: int
    rejected: int
    wrong: tuple[str, ...]


def judged(stage: Stage, drain: Drain) -> Iterator[Outcome]:
    """Lose hosts with servers, one after the other; yield an outcome for each."""
    rng = random.Random(drain.case.seed)
    given = optional_input(stage, drain.case, Ask(1))
    given.pop('image')
    question = api.Question(0, **given)
    lost: list[str] = []
    while len(lost) < _MOST:
        view = api.fetch(stage.admin.connection, question, servers_on=['*'])
        found = api.resilience(view, 'host', question=question)
        left = [each for each in found.losses if each.servers and each.name not in lost]
        left = [each for each in left if each.name in drain.case.hosts]
        if not left:
            break
        loss = rng.choice(left)
        lost.append(loss.name)
        yield _lose(stage, drain, view, loss, rng)
        stage.put('servers', {})
    _restore(stage, lost)


def _lose(
    stage: Stage, drain: Drain, view: api.CloudView, loss: Loss, rng: random.Random
) -> Outcome:
    """Force a host down, evacuate its servers, and compare with the verdict."""
    nova, wrong, refusals = stage.admin, list[str](), list[str]()
    set_service(nova, loss.name, forced_down=True)
    stuck = {each.server.id for each in loss.plan.stuck}
    moves = {each.server.id: each.target for each in loss.plan.moves}
    for each in loss.plan.stuck:
        if not move(nova, each.server.id, EVACUATE, None):
            wrong.append(f'{each.server.name} is stuck by {each.code}, and Nova evacuates it')
    servers = view.snapshot.servers_by_host[loss.name]
    others = [each.id for each in servers if each.id not in stuck | moves.keys()]
    rng.shuffle(others)
    for server, target in (*moves.items(), *((each, None) for each in others)):
        refusal = move(nova, server, EVACUATE, target)
        if refusal:
            refusals.append(f'Nova rejects {server} on {target or "any host"}: {refusal}')
    is_sum = bool(loss.obstacles or loss.plan.is_proven)
    if is_sum and not refusals and not stuck:
        wrong.append('Nova evacuates all servers')
    if not is_sum and not loss.plan.not_found and not loss.caveats:
        wrong += refusals
    return Outcome(
        drain.case.seed,
        loss.name,
        loss.verdict,
        loss.line(),
        len(servers) - len(stuck) - len(refusals),
        len(stuck) + len(refusals),
        (*wrong,),
    )


def _restore(stage: Stage, hosts: Sequence[str]) -> None:
    """Let the hosts be up again, as a restart of nova-compute does after evacuations."""
    with sqlite3.connect(stage.cloud.log_dir / 'cell1.sqlite', timeout=30) as database:
        query = "update migrations set status = 'completed' where migration_type = 'evacuation'"
        database.execute(query)
    for host in hosts:
        set_service(stage.admin, host, forced_down=False)


def outcomes(seeds: Sequence[int]) -> Iterator[Outcome]:
    """Yield the outcomes of the clouds of these seeds."""
    for stage, drain in clouds(seeds):
        yield from judged(stage, drain)


def main(arguments: Sequence[str] | None = None) -> int:
    """Lose the hosts, and print the sums."""
    parser = argparse.ArgumentParser(prog='python -m tests.accuracy.losses')
    parser.add_argument('number', type=int)
    parser.add_argument('--first', type=int, default=1, metavar='SEED')
    given = parser.parse_args(arguments)
    begin, known = time.monotonic(), list[Outcome]()
    for each in outcomes(range(given.first, given.first + given.number)):
        known.append(each)
        print(f'{each.seed} {each.host}: {each.line}', *each.wrong, sep='\n    ', flush=True)
    accepted, rejected = (sum(getattr(each, name) for each in known) for name in _NUMBERS)
    wrong = sum(bool(each.wrong) for each in known)
    print(
        f'{len(known)} losses of {len({each.seed for each in known})} clouds: {accepted} servers '
        f'evacuated, {rejected} rejected; {wrong} wrong; {time.monotonic() - begin:.0f} s'
    )
    verdicts = Counter(each.verdict for each in known)
    print(*(f'  {name}: {number}' for name, number in verdicts.most_common()), sep='\n')
    return int(wrong > 0)


_NUMBERS = ('accepted', 'rejected')

if __name__ == '__main__':
    sys.exit(main())
