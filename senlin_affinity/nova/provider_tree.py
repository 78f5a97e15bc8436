"""Compute which resource providers satisfy a ``member_of``, in trees and with sharing providers.

Example::

    forest = [Provider('cn1', aggregates=frozenset({A})), Provider('numa1', parent='cn1')]
    admitted(forest, MemberOf.parse([f'!{A}'])) == frozenset()
    admitted(forest, MemberOf.parse([f'!{A}']), suffixed=True) == {'numa1'}

A provider satisfies it if Placement returns it from ``GET /allocation_candidates`` for a resource
class that only this provider has:

* In a group with a suffix (``member_of1``), only the provider's own aggregates count.
* In the group without a suffix, the aggregates of a root span its tree. Neither the provider nor
  its root may be in a forbidden aggregate; one of the two alone must satisfy the required sets.
* A sharing provider is evaluated like the others, regardless of the trees that it shares with.

Raises: InvalidSpec if the providers do not form trees.

Deviation: Placement 16 answers 500 if a sharing provider is nested below a forbidden root and
shares with a tree whose root is not forbidden; here it is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.member_of import CanonicalUuids, MemberOf


@dataclass(frozen=True)
class Provider:
    """A resource provider; ``parent`` is None for the root of a tree.

    ``aggregates`` of None is empty. ``sharing``: it has the trait ``MISC_SHARES_VIA_AGGREGATE``.
    """

    uuid: str
    parent: str | None = None
    aggregates: frozenset[str] = CanonicalUuids()
    sharing: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, 'aggregates', CanonicalUuids(self.aggregates or ()))


def admitted(
    providers: Sequence[Provider], member_of: MemberOf, *, suffixed: bool = False
) -> frozenset[str]:
    """Return the UUIDs of the providers that satisfy the expression.

    :param suffixed: evaluate as in a group with a suffix.
    """
    roots = _roots(providers)
    if suffixed:
        return frozenset(each.uuid for each in providers if member_of.admits(each.aggregates))
    required = MemberOf(member_of.required)
    allowed = MemberOf(forbidden=member_of.forbidden)

    def is_left(each: Provider) -> bool:
        root = roots[each.uuid]
        if root is each:
            return member_of.admits(each.aggregates)
        own, spanning = each.aggregates, root.aggregates
        is_required = required.admits(own) or required.admits(spanning)
        return is_required and allowed.admits(own) and allowed.admits(spanning)

    return frozenset(each.uuid for each in providers if is_left(each))


def _roots(providers: Sequence[Provider]) -> Mapping[str, Provider]:
    """Return the root of each provider's tree, by the provider's UUID."""
    known = {each.uuid: each for each in providers}
    if len(known) < len(providers):
        ((twice, _),) = Counter(each.uuid for each in providers).most_common(1)
        raise InvalidSpec(f'the provider {twice} occurs twice: pass each provider once')
    roots = {each.uuid: each for each in providers if each.parent is None}
    for each in providers:
        branch: dict[str, Provider] = {}
        step = each
        while step.uuid not in roots:
            branch[step.uuid] = step
            parent = known.get(step.parent or '')
            if parent is None:
                raise InvalidSpec(
                    f'the parent {step.parent} of the provider {step.uuid} is missing: pass all '
                    'providers of a tree'
                )
            if parent.uuid in branch:
                raise InvalidSpec(f'the provider {parent.uuid} is its own ancestor')
            step = parent
        roots.update(dict.fromkeys(branch, roots[step.uuid]))
    return roots
