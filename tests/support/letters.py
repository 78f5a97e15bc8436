"""Abbreviate the UUIDs of aggregates in rows: U, V, W, X, Y, and aggA to aggF.

Shapes: ``expand('in:U,!aggA')`` replaces the letters by UUIDs, ``contract`` does the reverse.
"""

import re
from typing import Any

UUIDS = {
    'U': 'a0b1c2d3-e4f5-4061-8283-94a5b6c7d8e9',
    'V': 'b0000000-0000-4000-8000-000000000002',
    'W': 'c0000000-0000-4000-8000-000000000003',
    'X': 'd0000000-0000-4000-8000-000000000004',
    'Y': 'e0000000-0000-4000-8000-000000000005',
    **{
        f'agg{letter}': f'{letter.lower() * 8}-0000-4000-8000-00000000000{letter.lower()}'
        for letter in 'ABCDEF'
    },
}
_LETTER = re.compile('|'.join(UUIDS))


def expand(value: Any) -> Any:
    """Replace the letters in a string, or in the strings of a list or a mapping."""
    if isinstance(value, str):
        return _LETTER.sub(lambda found: UUIDS[found.group()], value)
    if isinstance(value, list):
        return [expand(each) for each in value]
    return {key: expand(each) for key, each in value.items()} if isinstance(value, dict) else value


def contract(text: str) -> str:
    """Replace the UUIDs in a text by letters."""
    for letter, uuid in UUIDS.items():
        text = text.replace(uuid, letter)
    return text
