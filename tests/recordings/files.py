"""Read and write the records; each response is a line.

Example: ``nova.json`` has each response once, with its microversions::

    [{"name": "get", "at": ["2.63", "newest"], "request": {...}, "status": 200, "body": {...}}]
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NOVA = HERE / 'nova.json'
SNAPSHOT = HERE / 'snapshot.json'


def load() -> dict[str, dict[str, Any]]:
    """Return the records by microversion, as :func:`exchanges.exchange_all` does."""
    answers: dict[str, dict[str, Any]] = {}
    for answer in json.loads(NOVA.read_text(encoding='utf-8')):
        name = answer.pop('name')
        for recorded in answer.pop('at'):
            answers.setdefault(recorded, {})[name] = answer
    newest = answers['newest']['version']['body']['version']['version']
    return {
        recorded: {'microversion': newest if recorded == 'newest' else recorded, 'answers': those}
        for recorded, those in answers.items()
    }


def merge(records: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the content of the file: each response once. The last record has every name."""
    merged: list[dict[str, Any]] = []
    for name in [*records.values()][-1]['answers']:
        for recorded, record in records.items():
            answer = {'name': name, 'at': [recorded], **record['answers'].get(name, {})}
            if merged and {**answer, 'at': merged[-1]['at']} == merged[-1]:
                merged[-1]['at'].append(recorded)
            elif name in record['answers']:
                merged.append(answer)
    return merged


def render(content: list[Any] | Mapping[str, Any]) -> str:
    """Return JSON with a line for each item."""
    if isinstance(content, list):
        return (
            '[\n' + ',\n'.join(json.dumps(item, ensure_ascii=False) for item in content) + '\n]\n'
        )
    lines = (f'{json.dumps(key)}: {json.dumps(item)}' for key, item in content.items())
    return '{\n' + ',\n'.join(lines) + '\n}\n'
