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

import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from senlin_affinity import api
from senlin_affinity.engine.resilience import Loss
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.nova.moves import EVACUATE
from tests.accuracy import loop
from tests.accuracy.asking import optional_input
from tests.accuracy.case import Ask
from tests.accuracy.drains import Drain, clouds
from tests.accuracy.moving import let_up, move, set_service
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

    def title(self) -> str:
        """Return the outcome as a line."""
        return f'{self.seed} {self.host}: {self.line}'


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
    let_up(stage.cloud.log_dir, stage.admin, lost)


def _lose(stage: Stage, drain: Drain, view: Cloud, loss: Loss, rng: random.Random) -> Outcome:
    """Force a host down, evacuate its servers, and compare with the verdict."""
    nova, wrong, refusals = stage.admin, list[str](), list[str]()
    set_service(nova, loss.name, forced_down=True)
    stuck = {each.server.id for each in loss.plan.stuck}
    moves = {each.server.id: each.target for each in loss.plan.moves}
    for each in loss.plan.stuck:
        if not move(nova, each.server.id, EVACUATE, None):
            wrong.append(f'{each.server.name} is stuck by {each.code}, and Nova evacuates it')
    servers = view.servers_by_host[loss.name]
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


def outcomes(seeds: Sequence[int]) -> Iterator[Outcome]:
    """Yield the outcomes of the clouds of these seeds."""
    for stage, drain in clouds(seeds):
        yield from judged(stage, drain)


def sums(known: Sequence[loop.Row]) -> Iterator[str]:
    """Yield the sums of all losses, and the number of each verdict."""
    accepted, rejected = (sum(each[name] for each in known) for name in ('accepted', 'rejected'))
    yield (
        f'{len(known)} losses of {len({each["seed"] for each in known})} clouds: {accepted} '
        f'servers evacuated, {rejected} rejected'
    )
    verdicts = Counter(each['verdict'] for each in known)
    yield from (f'  {name}: {number}' for name, number in verdicts.most_common())


if __name__ == '__main__':
    sys.exit(loop.run('losses', outcomes, sums))
