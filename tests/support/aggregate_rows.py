"""Reads the rule tables about the metadata of aggregates, and fills in what most of their rows say.

Shapes::

    {extra_specs: {key: "2"}, forcing: [{"scope:key": "1"}], code: forced_mismatch}
    {force: "yes", code: forced_missing_key}

``forcing`` are aggregates that force their keys; ``force`` is the reserved key of one that has
``{key: "1"}``; ``scope:`` before a key is the escape scope. ``matches`` and ``nothing_asked`` pass,
all other codes reject. Without ``facts`` a row has those of one key and at most one aggregate: what
the flavor or, if it forces, the aggregate asks for, and what the other one has; with ``where``, the
value that is wrong there. What is wrong is warned of, unless it is an operator.
"""

from typing import Any

import pytest

from tests.support import tables

FORCE = 'force_metadata_check'
SCOPE = 'aggregate_instance_extra_specs:'
PASSING = ('matches', 'nothing_asked', 'nova_matches')
WARNS = {'illegal': ['stand beside it'], 'unreadable': ['which is no text']}


def read(table: str) -> list[dict[str, Any]]:
    """The rows, with aggregates, outcome, whole code and facts."""
    return [_whole(row) for row in tables.read(table)]


def rows(*names: str) -> list[Any]:
    """All rows of some tables, for ``pytest.mark.parametrize('row', rows(...))``."""
    return [pytest.param(row, id=row['name']) for table in names for row in read(table)]


def _whole(row: dict[str, Any]) -> dict[str, Any]:
    code, aggregates = row['code'], row.get('aggregates', [])
    if 'forcing' in row:
        aggregates = [{**each, FORCE: 'True'} for each in row['forcing']]
    elif 'force' in row:
        aggregates = [{'key': '1', FORCE: row['force']}]
    made = {
        **row,
        'extra_specs': _scoped(row.get('extra_specs', {})),
        'aggregates': list(map(_scoped, aggregates)),
        'outcome': 'PASS' if code in PASSING else 'REJECT',
        'code': f'aggregate_metadata.{code}',
    }
    facts = {} if 'facts' in row else {'facts': _facts(made, code)}
    return {'warns': WARNS.get(code, []), **made, **facts}


def _scoped(mapping: dict[str, Any]) -> dict[str, Any]:
    return {key.replace('scope:', SCOPE): value for key, value in mapping.items()}


def _facts(row: dict[str, Any], code: str) -> dict[str, str]:
    aggregates, extra_specs = row['aggregates'], row['extra_specs']
    if code == 'matches':
        is_forced = any(each.get(FORCE) == 'True' for each in aggregates)
        return {'mode': 'forced' if is_forced else 'normal'}
    if code in PASSING:
        return {}
    (metadata,) = aggregates or ({},)
    (name,) = extra_specs or metadata.keys() - {FORCE}
    key, asked = name.removeprefix(SCOPE), extra_specs.get(name, '')
    found = metadata.get(key, metadata.get(SCOPE + key, ''))
    named = ', '.join(row.get('names', ['aggregate 1']) if aggregates else ['none'])
    if 'where' in row:
        value = asked if row['where'] == 'the flavor' else found
        value = value if isinstance(value, str) else repr(value)
        return {'key': key, 'value': value, 'where': row['where'], 'aggregates': named}
    if code.startswith('forced'):
        asked, found = found, asked
    return {'key': key, 'asked': asked, 'found': found, 'aggregates': named}
