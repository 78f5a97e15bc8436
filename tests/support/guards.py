"""Compare measured numbers with the limits of ``tests/unit/guards.yaml``."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.support.tables import Loader, yaml

PATH = Path(__file__).parents[1] / 'unit/guards.yaml'
GUARDS: dict[str, Any] = yaml.load(PATH.read_text(encoding='utf-8'), Loader)
_SHOWN = 40


def hold(section: str, name: str, found: int | Iterable[object], advice: str) -> None:
    """Fail if the number is above its limit.

    :param found: the number, or the counted objects, which the failure lists.
    """
    things = () if isinstance(found, int) else tuple(found)
    number = found if isinstance(found, int) else len(things)
    limit = GUARDS[section].get(name, 0)
    if number < limit and os.environ.get('GUARDS') == 'lower':
        PATH.write_text(lowered(PATH.read_text(encoding='utf-8'), section, name, number))
    listed = ''.join(f'\n  {each}' for each in things[:_SHOWN])
    more = f'\n  and {len(things) - _SHOWN} more' * (len(things) > _SHOWN)
    assert number <= limit, (
        f'{section}, {name}: {number}, and at most {limit} are allowed. {advice} If the number '
        'must rise, change it in tests/unit/guards.yaml in the same commit, and give the reason '
        f'in the message.{listed}{more}'
    )


def lowered(text: str, section: str, name: str, number: int) -> str:
    """Return the text of the data file with another number in a section."""
    before, heading, after = text.partition(f'\n{section}:\n')
    entry = re.compile(rf'^  {re.escape(name)}: \d+$', re.MULTILINE)
    return before + heading + entry.sub(f'  {name}: {number}', after, count=1)
