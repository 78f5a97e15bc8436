"""Document 001: host reservations, by prefixes of metadata keys.

A metadata key of a request (of its flavor's extra specs, its image's properties) that begins with
the *required prefix* is a reservation: each requires the aggregates that carry exactly this key. A
*forbidden prefix* keeps everybody out of the aggregates that carry a key which begins with it, but
for a request that has such a key itself. The two are evaluated apart from each other.

Shapes::

    constrain([], [pool], required_prefix='reservation:', forbidden_prefixes=['reservation:'])
        -> !in:<pool>

Units: a prefix of None or '' is not set; what is no text is no key.

Errors: InvalidSpec for keys or a prefix that are none, and for a reservation that no aggregate
carries: the request would be constrained by nothing, and take the hosts of others.

Source: document 001, "Developer impact", steps 0 to 4. We differ on purpose where its pseudo code
lets an unknown reservation pass, and read the image, too, which only its text names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.member_of import MemberOf, shown
from senlin_affinity.core.objects import Aggregate


def constrain(
    keys: Iterable[str],
    aggregates: Sequence[Aggregate],
    *,
    required_prefix: str | None,
    forbidden_prefixes: Sequence[str] | str | None,
) -> MemberOf:
    """The aggregates that a request with these metadata keys must, and must not, be in."""
    asked = _texts(keys)
    if forbidden_prefixes is None or isinstance(forbidden_prefixes, str):
        forbidden_prefixes = (forbidden_prefixes or '',)
    prefixes = [_prefix(each) for each in forbidden_prefixes]
    closed = tuple(
        each for each in prefixes if each and not any(key.startswith(each) for key in asked)
    )
    return MemberOf(
        tuple(_required(key, aggregates) for key in reservations(asked, required_prefix)),
        frozenset(
            aggregate.uuid
            for aggregate in aggregates
            if any(key.startswith(closed) for key in _texts(aggregate.metadata))
        ),
    )


def reservations(keys: Iterable[str], required_prefix: str | None) -> tuple[str, ...]:
    """The reservations among the keys, sorted, each of them once."""
    prefix = _prefix(required_prefix)
    return tuple(key for key in _texts(keys) if prefix and key.startswith(prefix))


def carriers(key: str, aggregates: Sequence[Aggregate]) -> frozenset[str]:
    """The aggregates with exactly this metadata key, whatever its value."""
    return frozenset(aggregate.uuid for aggregate in aggregates if key in aggregate.metadata)


def _required(reservation: str, aggregates: Sequence[Aggregate]) -> frozenset[str]:
    found = carriers(reservation, aggregates)
    if not found:
        raise InvalidSpec(
            f'no aggregate carries the reservation {reservation!r}: give an aggregate this '
            'metadata key, or take the key out of the flavor and the image'
        )
    return found


def _texts(keys: Iterable[str]) -> list[str]:
    """The keys, sorted, each of them once, without what is no text."""
    if isinstance(keys, str | bytes) or not isinstance(keys, Iterable):
        raise InvalidSpec(f'must be a list of metadata keys, not {shown(keys)}', 'keys')
    return sorted({key for key in keys if isinstance(key, str)})


def _prefix(prefix: str | None) -> str:
    if prefix is not None and not isinstance(prefix, str):
        raise InvalidSpec(f'a prefix must be a text such as "reservation:", not {shown(prefix)}')
    return prefix or ''
