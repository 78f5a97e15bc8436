"""Document 001: host reservations, by prefixes of metadata keys.

The way of the data: the metadata keys of a request (its flavor's extra specs, its image's
properties) and the aggregates come in; out comes one :class:`MemberOf`. A key that begins with the
*required prefix* is a reservation: the aggregates that carry exactly this key, whatever its value,
are required, one parameter for each such key. A *forbidden prefix* keeps everybody out of the
aggregates that carry a key which begins with it; a request that has a key with that prefix itself
is let in. The two are evaluated apart from each other, also where only one of them is set.

Shapes::

    constrain([], [pool], required_prefix='reservation:', forbidden_prefixes=['reservation:'])
        -> !in:<pool>
    constrain(['reservation:r1'], ...) -> <the aggregates that carry reservation:r1>

Units: a prefix of None or '' is not set.

Errors: InvalidSpec for a reservation that no aggregate carries: without its aggregate the request
would be constrained by nothing, and take the hosts of others (Q1-3).

Source: document 001, "Developer impact", steps 0 to 4 (R1-30 to R1-41). Nova never had these
options (D1-07); where the document's pseudo code lets an unknown reservation pass, we differ on
purpose (D1-09). It looks at the flavor only; its text names the image, too, and so do we.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.member_of import MemberOf
from senlin_affinity.core.objects import Aggregate


def constrain(
    keys: Iterable[str],
    aggregates: Sequence[Aggregate],
    *,
    required_prefix: str | None,
    forbidden_prefixes: Sequence[str],
) -> MemberOf:
    """The aggregates that a request with these metadata keys must, and must not, be in."""
    asked = sorted(set(keys))
    return MemberOf(
        tuple(_required(key, aggregates) for key in reservations(asked, required_prefix)),
        frozenset().union(
            *(
                _reserved(prefix, aggregates)
                for prefix in forbidden_prefixes
                if prefix and not any(key.startswith(prefix) for key in asked)
            )
        ),
    )


def reservations(keys: Iterable[str], required_prefix: str | None) -> tuple[str, ...]:
    """The reservations among the keys, sorted, each of them once."""
    if not required_prefix:
        return ()
    return tuple(sorted({key for key in keys if key.startswith(required_prefix)}))


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


def _reserved(prefix: str, aggregates: Sequence[Aggregate]) -> frozenset[str]:
    """The aggregates with a metadata key that begins with the prefix, or is the prefix."""
    return frozenset(
        aggregate.uuid
        for aggregate in aggregates
        if any(key.startswith(prefix) for key in aggregate.metadata)
    )
