"""Choose a ``member_of`` for Placement that approximates which hosts a constraint accepts.

The input: whether each set of aggregates that hosts are in is accepted. ``excluding`` matches
accepted hosts only, ``covering`` matches all accepted hosts.

Example::

    excluding({{ssd}: True, {hdd}: False, {}: False})   ==   in:ssd and !hdd
"""

from __future__ import annotations

from collections.abc import Mapping

from senlin_affinity.model.member_of import MemberOf

#: The length of a URL is limited.
_MOST = 100


def excluding(is_accepted: Mapping[frozenset[str], bool]) -> MemberOf | None:
    """Return an expression that matches some accepted sets and no rejected set, or None.

    The first that works of these: forbid the aggregates that only rejected hosts have; also require
    an aggregate that no other rejected host has; only require an aggregate without rejected hosts.
    """
    good = [each for each, is_good in is_accepted.items() if is_good]
    bad = is_accepted.keys() - good
    used, others = frozenset().union(*good), frozenset().union(*bad)
    forbidden = others - used
    left = frozenset().union(*filter(forbidden.isdisjoint, bad))
    for required, without in (None, forbidden), (used - left, forbidden), (used - others, ()):
        if required == frozenset() or len(without) > _MOST:
            continue
        some = () if required is None else (frozenset(sorted(required)[:_MOST]),)
        asked = MemberOf(some, frozenset(without))
        if any(map(asked.admits, good)) and not any(map(asked.admits, bad)):
            return asked
    return None


def covering(is_accepted: Mapping[frozenset[str], bool]) -> frozenset[str] | None:
    """Return aggregates such that every accepted host is in one, and few rejected hosts are.

    None: no host is accepted. Empty: some accepted host is in no aggregate, or there are too many.
    """
    good = [each for each, is_good in is_accepted.items() if is_good]
    bad = is_accepted.keys() - good
    if not good:
        return None
    used, others = frozenset().union(*good), frozenset().union(*bad)
    for required in (used - others, used):
        if len(required) <= _MOST and not any(map(required.isdisjoint, good)):
            return required
    return frozenset()
