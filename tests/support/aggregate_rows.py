"""Read the rule tables about aggregate metadata, and complete their rows with defaults.

Shapes::

    {extra_specs: {key: "2"}, forcing: [{"scope:key": "1"}], code: forced_mismatch}
    {force: "yes", code: forced_missing_key}

``forcing`` are aggregates that force their keys. ``force`` is the reserved key of an aggregate with
``{key: "1"}``. ``scope:`` before a key is the escape scope. ``matches`` and ``nothing_asked`` pass,
all other codes reject. The default ``facts`` are those of one key and at most one aggregate: the
required value of the flavor or of the forcing aggregate, and the value of the other one; with
``where``, the invalid value there. An invalid value is a warning, unless it is an operator.
"""

from typing import Any

import pytest

from tests.support import tables

FORCE = 'force_metadata_check'
SCOPE = 'aggregate_instance_extra_specs:'
PASSING = ('matches', 'nothing_asked', 'nova_matches')
WARNS = {'illegal': ['no other value is allowed'], 'unreadable': ['which is not a string']}


def read(table: str) -> list[dict[str, Any]]:
    """Return the rows with aggregates, outcome, complete code and facts."""
    return [_whole(row) for row in tables.read(table)]


def rows(*names: str) -> list[Any]:
    """Return all rows of some tables for ``pytest.mark.parametrize('row', rows(...))``."""
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
