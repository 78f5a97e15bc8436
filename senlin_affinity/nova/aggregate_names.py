"""Resolve the aggregate names in a policy's ``member_of`` to UUIDs.

An aggregate whose name contains a comma, has blanks around it, or begins with ``!``, ``in:`` or
``not:`` (in any case) can only be given by its UUID.

Raises: InvalidSpec for an unknown or ambiguous name, and for an unknown UUID. (Placement accepts an
unknown UUID, which would silently forbid nothing or match no host.)
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence

from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.errors import InvalidSpec, quoted
from senlin_affinity.model.member_of import MemberOf, canonical, hint, read, spelt


def resolve(
    expressions: Sequence[str],
    aggregates: Iterable[Aggregate],
    path: str = 'member_of',
    *,
    nameless: Collection[str] = (),
) -> MemberOf:
    """Resolve an expression of names and UUIDs: ``['in:agg-a,agg-b', '!agg-licensed']``.

    :param nameless: the UUIDs of aggregates that exist in Placement only.
    """
    uuids = {spelt(uuid) for uuid in nameless}
    names: dict[str, set[str]] = {}
    for aggregate in aggregates:
        uuids.add(aggregate.uuid)
        names.setdefault(aggregate.name, set()).add(aggregate.uuid)

    def look_up(part: str) -> str:
        uuid = canonical(part)
        found = names.get(part, set()) | ({uuid} & uuids if uuid else set())
        if not found:
            kind = 'UUID' if uuid else 'name'
            raise InvalidSpec(f'no aggregate has the {kind} {quoted(part)}{_nearest(part, names)}')
        if len(found) > 1:
            listed = ', '.join(sorted(found))
            raise InvalidSpec(
                f'{quoted(part)} matches {len(found)} aggregates: write a UUID ({listed})'
            )
        return found.pop()

    try:
        return read(expressions, path, look_up)
    except InvalidSpec as error:
        *others, last = error.mistakes
        last = InvalidSpec(f'{last.message}{_odd(expressions, names)}', last.path)
        raise InvalidSpec.joined([*others, last]) from error


def _nearest(part: str, names: Collection[str]) -> str:
    """Return a hint with similar names, in any case, or ''."""
    folded: dict[str, list[str]] = {}
    for name in sorted(names):
        folded.setdefault(name.casefold(), []).append(name)
    close = difflib.get_close_matches(part.casefold(), folded, cutoff=0.7)
    listed = ', '.join(quoted(name) for match in close for name in folded[match])
    return f'; the nearest are {listed}' if listed else ''


def _odd(expressions: Sequence[str], names: Mapping[str, set[str]]) -> str:
    """Return a hint about an aggregate in the expression that can only be given by UUID, or ''."""
    for name in sorted(names):
        is_odd = ',' in name or name != name.strip() or name.startswith('!') or hint(name)
        if is_odd and any(isinstance(value, str) and name in value for value in expressions):
            uuids = ' or '.join(sorted(names[name]))
            return f'; write the aggregate named {quoted(name)} as its UUID, {uuids}'
    return ''
