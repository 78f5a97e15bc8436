"""A ``member_of`` of a policy, in which aggregates have names: looked up before Placement is asked.

Shapes: ``resolve(['in:agg-a,agg-b', '!agg-licensed'], aggregates)`` is a
:class:`~senlin_affinity.core.member_of.MemberOf` of UUIDs. An aggregate whose name has a comma,
blanks around it, or ``!``, ``in:`` or ``not:`` (in any case) at its beginning is named by its UUID.

Errors: InvalidSpec for a name or a UUID that no aggregate has, and for one that means two.

Source: the grammar of document 001. We differ on purpose: Placement takes an unknown UUID. Here no
aggregate may be forbidden in vain, and no required one lost.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence

from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.member_of import MemberOf, canonical, hint, read, shown, spelt
from senlin_affinity.core.objects import Aggregate


def resolve(
    expressions: Sequence[str],
    aggregates: Iterable[Aggregate],
    path: str = 'member_of',
    *,
    nameless: Collection[str] = (),
) -> MemberOf:
    """Read an expression of names and UUIDs.

    :param aggregates: those of the cloud.
    :param nameless: the UUIDs of further aggregates, which Placement has and Nova has not.
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
            raise InvalidSpec(f'no aggregate has the {kind} {shown(part)}{_nearest(part, names)}')
        if len(found) > 1:
            listed = ', '.join(sorted(found))
            raise InvalidSpec(
                f'{shown(part)} means {len(found)} aggregates: write the UUID of one, {listed}'
            )
        return found.pop()

    try:
        return read(expressions, path, look_up)
    except InvalidSpec as error:
        raise InvalidSpec(f'{error.message}{_odd(expressions, names)}', error.path) from error


def _nearest(part: str, names: Collection[str]) -> str:
    """The names that look like it, whatever their case."""
    folded: dict[str, list[str]] = {}
    for name in sorted(names):
        folded.setdefault(name.casefold(), []).append(name)
    close = difflib.get_close_matches(part.casefold(), folded, cutoff=0.7)
    listed = ', '.join(shown(name) for match in close for name in folded[match])
    return f'; the nearest are {listed}' if listed else ''


def _odd(expressions: Sequence[str], names: Mapping[str, set[str]]) -> str:
    """A word on aggregates whose names can not be written in an expression, but were."""
    for name in sorted(names):
        is_odd = ',' in name or name != name.strip() or name.startswith('!') or hint(name)
        if is_odd and any(isinstance(value, str) and name in value for value in expressions):
            uuids = ' or '.join(sorted(names[name]))
            return f'; the aggregate named {shown(name)} can only be written as its UUID, {uuids}'
    return ''
