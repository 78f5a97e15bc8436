"""Compare the verdicts of ``resilience`` with the exact search of :mod:`exact_drain`.

The clouds are those of the drains. Each host is lost in turn, and each zone; losses of more than
five servers are not compared. The search tries every order and every target. It also checks that
the servers that are said to fit on any host have one in every state, and that new hosts are enough.

Run: ``python -m tests.property.exact_loss 2000`` prints a table by kind; ``--write FILE`` writes
it. The exit status is 1 for a wrong verdict, or if more than 5 % of the losses of a kind are
neither.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from senlin_affinity import api
from senlin_affinity.engine.resilience import Loss
from tests.property import exact_drain
from tests.property.exact_drain import EXPLICIT, KINDS, MOST_NOT_FOUND, World, accepts, held

_MOST = 5
#: A new host multiplies the number of states.
_MOST_WITH_HOSTS = 4
COLUMNS = ('losses', 'any host', 'in order', 'cannot', 'no order exists', 'not found', 'wrong')


def losses_of(world: World) -> Iterator[tuple[World, Loss]]:
    """Yield the losses of a few servers, each with its cloud."""
    view = exact_drain.snapshot(world)
    question = api.Question(0, enabled_filters=world.filters, explicit_options=EXPLICIT)
    for by in ('host', 'zone'):
        for loss in api.resilience(view, by, question=question).losses:
            lost = replace(world, drained=loss.hosts, targets=None)
            if 0 < len(lost.leaving) <= _MOST:
                yield lost, loss


def mistakes(world: World, loss: Loss, states: set[tuple[str, ...]]) -> Iterator[str]:
    """Yield a sentence for each wrong promise about a loss."""
    leaving = world.leaving
    ids = [each.id for each in leaving]
    every = [each.server.id for each in (*loss.plan.moves, *loss.plan.stuck)]
    every += [each.id for each in loss.plan.not_found]
    if len(every) + loss.anywhere != len(leaving) or not {*every} <= {*ids}:
        yield f'the verdict is about {len(every)} servers and {loss.anywhere}'
    fits = exact_drain.all_move(world, states)
    if loss.fits and not fits:
        yield f'it does not fit ({loss.verdict})'
    if loss.fits is False and fits:
        yield f'it fits ({loss.line()})'
    for stuck in loss.plan.stuck:
        if any(state[ids.index(stuck.server.id)] not in world.drained for state in states):
            yield f'{stuck.server.id} is not stuck ({stuck.code})'
    by_id = {each.id: each for each in leaving}
    by_name = {each.name: each for each in world.places}
    where = {each.id: each.host for each in world.guests}
    for move in loss.plan.moves:
        guest = by_id[move.server.id]
        if not loss.caveats and not accepts(
            world, where, held(world, where), guest, by_name[move.target]
        ):
            yield f'{move.server.id} to {move.target} is rejected'
        where[move.server.id] = move.target
    if loss.fits:
        start = tuple(where[name] for name in ids)
        yield from _closed(world, start)
    yield from _too_few(world, loss)


def _closed(world: World, start: tuple[str, ...]) -> Iterator[str]:
    """Yield the servers that have no host in a state after the first evacuations."""
    fixed = {each.id: each.host for each in world.guests}
    for state in exact_drain.reachable(world, start, is_loss=True):
        where = {**fixed, **dict(zip((each.id for each in world.leaving), state, strict=True))}
        for guest, host in zip(world.leaving, state, strict=True):
            if host == guest.host and not any(
                accepts(world, where, held(world, where), guest, at) for at in world.places
            ):
                yield f'{guest.id} has no host after {state}'
                return


def _too_few(world: World, loss: Loss) -> Iterator[str]:
    """Yield the number of new hosts that is not enough, or that are lost, too."""
    unpinned = {name for each in loss.missing for name in each.data.get('servers', ())}
    guests = (replace(each, zone=None) if each.id in unpinned else each for each in world.guests)
    world = replace(world, guests=(*guests,))
    is_hosts_missing = any(each.code == 'more_hosts' for each in loss.missing)
    if unpinned and not is_hosts_missing:
        states = exact_drain.reachable(world, is_loss=True)
        if not exact_drain.all_move(world, states):
            yield f'{loss.lacks()} is not enough'
    for each in loss.missing:
        if each.code != 'more_hosts' or len(world.leaving) > _MOST_WITH_HOSTS:
            continue
        if each.data['like'] in world.drained and loss.name not in world.drained:
            yield f'{each.text} are lost, too'
        (like,) = (place for place in world.places if place.name == each.data['like'])
        new = (
            replace(like, name=f'new-{number}', enabled=True)
            for number in range(each.data['number'])
        )
        larger = replace(world, places=(*world.places, *new))
        if not exact_drain.all_move(larger, exact_drain.reachable(larger, is_loss=True)):
            yield f'{each.text} is not enough'


def outcome(world: World, loss: Loss, states: set[tuple[str, ...]]) -> str:
    """Return the column of the table."""
    if loss.fits is None:
        return 'not found' if exact_drain.all_move(world, states) else 'no order exists'
    return loss.verdict.replace('_', ' ')


def compare(seed: int) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the kind, the outcome and the mistakes of each loss of a cloud."""
    for world, loss in losses_of(exact_drain.random_world(seed)):
        states = exact_drain.reachable(world, is_loss=True)
        yield world.kind, outcome(world, loss, states), [*mistakes(world, loss, states)]


def main(arguments: Sequence[str] | None = None) -> int:
    given = exact_drain.parse(arguments)
    counts: Mapping[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    for seed in range(given.first, given.first + given.number):
        if given.until is not None and time.time() > given.until:
            break
        for kind, column, wrong in compare(seed):
            counts[kind].update(('losses', column, *(['wrong'] if wrong else [])))
            for mistake in wrong:
                print(f'cloud {seed} ({kind}): {mistake}', file=sys.stderr, flush=True)
    table = [*exact_drain.lines(counts, COLUMNS)]
    print('\n'.join(table))
    if given.write is not None:
        given.write.write_text('\n'.join(table) + '\n', encoding='utf-8')
    most = max(count['not found'] / (count['losses'] or 1) for count in counts.values())
    return int(most > MOST_NOT_FOUND or any(count['wrong'] for count in counts.values()))


if __name__ == '__main__':
    sys.exit(main())
