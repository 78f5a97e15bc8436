"""Hostile input: each door gets much of what is nearly right; only our errors come out."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import hypothesis
from senlin import conf as _senlin  # noqa: F401 - declares its limits

from tests.reliability import promises, quiet
from tests.reliability.doors import DOORS, Door
from tests.reliability.report import Part

NAME = 'hostile input'
TAKEN, REFUSED = 'taken', 'refused'


def run(examples: int, seed: int, tell: Callable[[str], object] = str) -> Part:
    """Bring so many values to each door."""
    quiet.down()
    begun = time.monotonic()
    counts: Counter[str] = Counter()
    broken = []
    for door in DOORS:
        ended, why = knock(door, examples, seed)
        counts += ended
        if why:
            tell(f'{door.name}: {why}')
            broken.append((door.name, promises.EXCEPTION, why))
    return Part(
        NAME,
        counts.total(),
        counts,
        tuple(broken),
        seconds=time.monotonic() - begun,
    )


def knock(door: Door, examples: int, seed: int | None = None) -> tuple[Counter[str], str]:
    """How often a door took what was brought, and the exception that came out of it, if any.

    :param seed: None: the same values each time.
    """
    ended: Counter[str] = Counter()

    @hypothesis.settings(
        max_examples=examples,
        derandomize=seed is None,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(door.brought)
    def attempt(value: object) -> None:
        ended[TAKEN if door.takes(value) else REFUSED] += 1

    try:
        (attempt if seed is None else hypothesis.seed(seed)(attempt))()
    except Exception as error:  # noqa: BLE001 - that it comes out is what is looked for
        notes = ' '.join(getattr(error, '__notes__', ()))
        return ended, ' '.join(f'{type(error).__name__}: {error} {notes}'.split())
    return ended, ''
