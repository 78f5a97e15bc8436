"""Look up aggregates: those of a host, those of a name, and those that a ``member_of`` asks for.

An aggregate whose name contains a comma, has blanks around it, or begins with ``!``, ``in:`` or
``not:`` (in any case) can only be given by its UUID.

Raises: InvalidSpec for an unknown or ambiguous name, and for an unknown UUID. (Placement accepts an
unknown UUID, which would silently forbid nothing or match no host.)
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence

from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import InvalidSpec, quoted
from senlin_affinity.model.host import Host
from senlin_affinity.model.member_of import MemberOf, canonical, hint, read, spelt
from senlin_affinity.model.verdict import Verdict


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


def aggregates_of(cloud: Cloud, host: Host) -> Sequence[Aggregate]:
    """Return the known aggregates of the host in Nova, sorted by UUID."""
    known = cloud.aggregates_by_uuid
    return [known[uuid] for uuid in sorted(host.aggregates) if uuid in known]


def values(text: str) -> frozenset[str]:
    """Split a metadata value at commas, as Nova's filters do."""
    return frozenset(map(str.strip, text.split(',')))


def named(aggregates: Sequence[Aggregate], key: str) -> str:
    """Return the names of the aggregates with a metadata key that begins with ``key``."""
    found = (each.name for each in aggregates if any(k.startswith(key) for k in each.metadata))
    return ', '.join(sorted(found))


def check(
    cloud: Cloud,
    uuids: frozenset[str],
    asked: MemberOf,
    codes: tuple[str, str, str],
    **facts: str,
) -> Verdict:
    """Check whether a host in the aggregates ``uuids`` satisfies an expression.

    :param codes: the reason codes for a host that does, for one in a forbidden aggregate, and for
        one that misses a required set; only the last verdict has ``facts``.
    """
    admitted, forbidden, required = codes
    if found := asked.forbidden & uuids:
        return Verdict.rejected(forbidden, aggregates=names(cloud, found))
    for any_of in asked.required:
        if any_of.isdisjoint(uuids):
            listed = names(cloud, any_of, ' or ')
            return Verdict.rejected(required, aggregates=listed, **facts)
    return Verdict.passed(admitted)


def unmirrored(host: Host, any_of: frozenset[str]) -> frozenset[str]:
    """Return which of these aggregates the host is in, if Placement lists it in none of them."""
    here = host.aggregates & any_of
    return here if here <= host.unmirrored else frozenset()


def unmirrored_in_zone(cloud: Cloud, host: Host, zone: str | None) -> frozenset[str]:
    """Return the host's aggregates that carry the zone, if Placement has it in none of them."""
    if zone is None or not host.unmirrored:
        return frozenset()
    of_host = aggregates_of(cloud, host)
    return unmirrored(host, frozenset(e.uuid for e in of_host if e.availability_zone == zone))


def in_placement(host: Host) -> frozenset[str]:
    """Return the aggregates of the host in Placement, as far as these are known."""
    return host.aggregates - host.unmirrored | host.stale_aggregates


def names(cloud: Cloud, uuids: Iterable[str], joined: str = ', ') -> str:
    """Return the sorted names of aggregates; an unknown aggregate is named by its UUID."""
    known = cloud.aggregates_by_uuid
    return joined.join(sorted(known[uuid].name if uuid in known else uuid for uuid in uuids))
