"""Translate metadata keys of reservations into required and forbidden aggregates.

A metadata key of a request (of its flavor's extra specs, its image's properties) that begins with
the *required prefix* is a reservation: it requires an aggregate with exactly this key. A *forbidden
prefix* closes the aggregates that have a key with that prefix to all requests except for those that
have such a key themselves. The two are evaluated independently.

Example::

    constrain([], [pool], required_prefix='reservation:', forbidden_prefixes=['reservation:'])
        -> !in:<pool>

A prefix of None or '' is not set; keys that are not strings are ignored.

Raises: InvalidSpec for malformed keys or prefixes, and for a reservation that no aggregate has.
Such a request would otherwise run unrestricted, on the hosts of other reservations.

Source: https://blueprints.launchpad.net/nova/+spec/negative-aggregate-membership, "Developer
impact", steps 0 to 4. Deviations: its pseudocode accepts an unknown reservation; only its text
reads the image.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.errors import InvalidSpec, quoted
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.model.option import Option

#: The prefix of trait keys: nova-scheduler drops every other key of an image.
TRAIT = 'trait:'

_GROUP = 'scheduler'
REQUIRED_PREFIX = Option(
    'required_member_prefix',
    None,
    'The prefix of the metadata keys of reservations. A server with such a key in its flavor or '
    'image can use only hosts of an aggregate with the same key.',
    'placement_req_required_member_prefix',
    _GROUP,
)
FORBIDDEN_PREFIXES = Option(
    'forbidden_member_prefixes',
    (),
    'The prefixes of the metadata keys that reserve an aggregate for servers with a key of the '
    'same prefix in their flavor or image.',
    'placement_req_default_forbidden_member_prefix',
    _GROUP,
)
FLAVORS_ONLY = Option(
    'are_flavor_keys_only',
    False,
    'Whether reservation keys count only in flavors, not in images. Any user may create an image '
    'that requires a trait, so if a prefix matches traits and this option is off, servers of such '
    'an image can use reserved hosts.',
    'placement_req_member_keys_from_flavors_only',
    _GROUP,
)
PINNING, NOVA = 'pinning', 'nova'
ENFORCED_BY = Option(
    'reservations_enforced_by',
    PINNING,
    'What enforces reservations. pinning: the policy, which chooses the host of every node. '
    'nova: nova-scheduler, for every server of the cloud, by the request filter of '
    'senlin-affinity or by isolated aggregates.',
    pattern=f'^({PINNING}|{NOVA})$',
)
REQUEST_FILTER_OPTIONS = (REQUIRED_PREFIX, FORBIDDEN_PREFIXES, FLAVORS_ONLY)
#: The keys of the options that the request filter implements.
REQUEST_FILTER_KEYS = frozenset(each.key for each in (*REQUEST_FILTER_OPTIONS, ENFORCED_BY))


def constrain(
    keys: Iterable[str],
    aggregates: Sequence[Aggregate],
    *,
    required_prefix: str | None,
    forbidden_prefixes: Sequence[str] | str | None,
) -> MemberOf:
    """Return the required and forbidden aggregates of a request with these metadata keys."""
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
    """Return the reservations among the keys, sorted and without duplicates."""
    prefix = _prefix(required_prefix)
    return tuple(key for key in _texts(keys) if prefix and key.startswith(prefix))


def carriers(key: str, aggregates: Sequence[Aggregate]) -> frozenset[str]:
    """Return the aggregates with exactly this metadata key, with any value."""
    return frozenset(aggregate.uuid for aggregate in aggregates if key in aggregate.metadata)


def _required(reservation: str, aggregates: Sequence[Aggregate]) -> frozenset[str]:
    found = carriers(reservation, aggregates)
    if not found:
        raise InvalidSpec(
            f'no aggregate carries the reservation {reservation!r}: give an aggregate this '
            'metadata key, or remove the key from the flavor and the image'
        )
    return found


def _texts(keys: Iterable[str]) -> list[str]:
    """Return the keys that are strings, sorted and without duplicates."""
    if isinstance(keys, str | bytes) or not isinstance(keys, Iterable):
        raise InvalidSpec(f'must be a list of metadata keys, not {quoted(keys)}', 'keys')
    return sorted({key for key in keys if isinstance(key, str)})


def _prefix(prefix: str | None) -> str:
    if prefix is not None and not isinstance(prefix, str):
        raise InvalidSpec(f'a prefix must be a string such as "reservation:", not {quoted(prefix)}')
    return prefix or ''
