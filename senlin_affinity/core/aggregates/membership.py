"""What the rules about aggregates share: how a host's are compared, and what they are called."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from senlin_affinity.core.host import Host
from senlin_affinity.core.member_of import MemberOf
from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.verdict import Verdict


def is_known(resolved: ResolvedRequest, host: Host) -> bool:
    """Is it known which aggregates the host is in? A list of some is; an empty one may not be."""
    return resolved.snapshot.aggregates is not None or bool(host.aggregates)


def shape(resolved: ResolvedRequest, host: Host, *asked: MemberOf) -> Hashable:
    """What such a rule looks at: which forbidden aggregates, and whether in each required set."""
    here = host.aggregates
    forbidden = [here & member_of.forbidden for member_of in asked]
    required = [here.isdisjoint(any_of) for member_of in asked for any_of in member_of.required]
    return (is_known(resolved, host), *forbidden, *required)


def check(
    resolved: ResolvedRequest,
    host: Host,
    asked: MemberOf,
    codes: tuple[str, str, str],
    **facts: str,
) -> Verdict:
    """Does the host keep to an expression?

    :param codes: of a host that does, of one in a forbidden aggregate, and of one that is not in a
        required set; the last has these facts, too.
    """
    admitted, forbidden, required = codes
    if found := asked.forbidden & host.aggregates:
        return Verdict.rejected(forbidden, aggregates=names(resolved, found, ', '))
    for any_of in asked.required:
        if any_of.isdisjoint(host.aggregates):
            return Verdict.rejected(required, aggregates=names(resolved, any_of, ' or '), **facts)
    return Verdict.passed(admitted)


def unmirrored(host: Host, any_of: frozenset[str]) -> frozenset[str]:
    """Those of these aggregates that the host is in, if Placement has it in none of them."""
    here = host.aggregates & any_of
    return here if here <= host.unmirrored else frozenset()


def names(resolved: ResolvedRequest, uuids: Iterable[str], joined: str = ', ') -> str:
    """The names of aggregates, sorted; the UUID of one that is not known."""
    known = resolved.snapshot.aggregates_by_uuid
    return joined.join(sorted(known[uuid].name if uuid in known else uuid for uuid in uuids))
