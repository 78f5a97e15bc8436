"""Document 001: which resource providers a ``member_of`` leaves, in trees and with sharing ones.

Shapes::

    forest = [Provider('cn1', aggregates=frozenset({A})), Provider('numa1', parent='cn1')]
    admitted(forest, MemberOf.parse([f'!{A}'])) == frozenset()
    admitted(forest, MemberOf.parse([f'!{A}']), suffixed=True) == {'numa1'}

A provider is left exactly when Placement answers with it to ``GET /allocation_candidates`` for a
resource class that only this provider has:

* In a group with a suffix (``member_of1``) each provider answers for its own aggregates.
* In the group without one, the aggregates of a root span its tree. What is forbidden touches
  neither the provider nor its root; what is required is met by one of the two alone.
* A sharing provider is judged like the others, also where the trees that it shares with are not
  left.

Errors: InvalidSpec where the providers are no forest.

Source: document 001 and its picture; the real Placement is the judge. Only where a sharing provider
is nested below a forbidden root, and shares with a tree whose root is not, does Placement 16 answer
500: here it is left out, as the document has it for children.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.member_of import MemberOf, Spelt, spelt


@dataclass(frozen=True)
class Provider:
    """A resource provider; ``parent`` is None at the root of a tree.

    ``aggregates`` of None are none. ``sharing``: has the trait ``MISC_SHARES_VIA_AGGREGATE``.
    """

    uuid: str
    parent: str | None = None
    aggregates: frozenset[str] = Spelt()
    sharing: bool = False

    def __post_init__(self) -> None:
        if type(self.aggregates) is not Spelt:
            object.__setattr__(self, 'aggregates', Spelt(map(spelt, self.aggregates or ())))


def admitted(
    providers: Sequence[Provider], member_of: MemberOf, *, suffixed: bool = False
) -> frozenset[str]:
    """The UUIDs of the providers that are left.

    :param suffixed: judge as a group with a suffix does, without spanning.
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
    """The root of each provider's tree, by the provider's UUID."""
    known = {each.uuid: each for each in providers}
    if len(known) < len(providers):
        ((twice, _),) = Counter(each.uuid for each in providers).most_common(1)
        raise InvalidSpec(f'the provider {twice} is there twice: give each of them once')
    roots = {each.uuid: each for each in providers if each.parent is None}
    for each in providers:
        branch: dict[str, Provider] = {}
        step = each
        while step.uuid not in roots:
            branch[step.uuid] = step
            parent = known.get(step.parent or '')
            if parent is None:
                raise InvalidSpec(
                    f'the parent {step.parent} of the provider {step.uuid} is not there: '
                    'give all providers of a tree'
                )
            if parent.uuid in branch:
                raise InvalidSpec(f'the provider {parent.uuid} is an ancestor of its own')
            step = parent
        roots.update(dict.fromkeys(branch, roots[step.uuid]))
    return roots
