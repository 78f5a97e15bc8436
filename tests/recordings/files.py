"""Where the records are, and their text.

Shapes: ``nova.json`` has each answer once, with the microversions at which it is given::

    {"microversions": {"2.63": "2.63", "newest": "2.104"},
     "answers": {"get": [{"at": ["2.63", "newest"], "request": {...}, "status": 200, ...}]}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NOVA = HERE / 'nova.json'
SNAPSHOT = HERE / 'snapshot.json'
LONGEST_LINE = 100


def load() -> dict[str, dict[str, Any]]:
    """What Nova answered at each microversion, as :func:`exchanges.exchange_all` gives it."""
    loaded = json.loads(NOVA.read_text(encoding='utf-8'))
    records: dict[str, dict[str, Any]] = {
        recorded: {'microversion': asked, 'answers': {}}
        for recorded, asked in loaded['microversions'].items()
    }
    for name, variants in loaded['answers'].items():
        for variant in variants:
            for recorded in variant.pop('at'):
                records[recorded]['answers'][name] = variant
    return records


def merge(records: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What is written: the records with each answer once. The last record has every name."""
    answers: dict[str, list[Any]] = {name: [] for name in [*records.values()][-1]['answers']}
    for recorded, record in records.items():
        for name, answer in record['answers'].items():
            variants = answers[name]
            if variants and {'at': variants[-1]['at'], **answer} == variants[-1]:
                variants[-1]['at'].append(recorded)
            else:
                variants.append({'at': [recorded], **answer})
    return {
        'microversions': {name: record['microversion'] for name, record in records.items()},
        'answers': answers,
    }


def render(value: Any, indent: int = 0, before: str = '') -> str:
    """JSON that has as much on a line as fits, beside what needs lines of its own."""
    text = before + json.dumps(value, ensure_ascii=False)
    if indent + len(text) < LONGEST_LINE or not value or not isinstance(value, dict | list):
        return text
    start, end = f'{before}{"{" if isinstance(value, dict) else "["}', text[-1]
    items = (
        [(f'"{key}": ', item) for key, item in value.items()]
        if isinstance(value, dict)
        else [('', item) for item in value]
    )
    if len(items) == 1:
        return render(items[0][1], indent, start + items[0][0]) + end
    lines = ['']
    for key, item in items:
        part = render(item, indent + 1, key)
        is_short = '\n' not in lines[-1] + part
        if is_short and indent + len(f'{lines[-1]}, {part}') < LONGEST_LINE:
            lines[-1] += f', {part}' if lines[-1] else part
        else:
            lines[-1] += ',' if lines[-1] else ''
            lines.append(part)
    inner = '\n'.join(' ' * (indent + 1) + line for line in lines if line)
    return f'{start}\n{inner}\n{" " * indent}{end}'
