"""What the rules about aggregates share: which of a host's are known, and how they are called."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from senlin_affinity.core.member_of import MemberOf
from senlin_affinity.core.objects import Host, Question


def is_known(question: Question, host: Host) -> bool:
    """Is it known which aggregates the host is in? A list of some is; an empty one may not be."""
    return question.snapshot.aggregates is not None or bool(host.aggregates)


def shape(question: Question, host: Host, *asked: MemberOf) -> Hashable:
    """What such a rule looks at: which forbidden aggregates, and whether in each required set."""
    here = host.aggregates
    forbidden = [here & member_of.forbidden for member_of in asked]
    required = [here.isdisjoint(any_of) for member_of in asked for any_of in member_of.required]
    return (is_known(question, host), *forbidden, *required)


def unmet(member_of: MemberOf, host: Host) -> frozenset[str] | None:
    """The first required set that the host is not in; None where it is in all of them."""
    return next(
        (any_of for any_of in member_of.required if any_of.isdisjoint(host.aggregates)), None
    )


def names(question: Question, uuids: Iterable[str], joined: str = ', ') -> str:
    """The names of aggregates, sorted; the UUID of one that is not known."""
    known = question.snapshot.aggregates_by_uuid
    return joined.join(sorted(known[uuid].name if uuid in known else uuid for uuid in uuids))
