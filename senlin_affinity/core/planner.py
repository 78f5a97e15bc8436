"""Will N more servers fit, where would they go, and what is against it?

The way of the data: a request is looked up in a snapshot (``question``), and every constraint is
asked (``evaluation``), which says how many servers fit. They are placed one by one (``choice``),
and the hosts are reported as they stand after that, which is when their room is used up
(``standing``). Where the request does not fit, what would help is looked for (``remedies``). What
comes of it all is a Decision, a plain value.

Affinity: all servers go to one host, that of the members if there are any. If there are none, Nova
chooses the host, and the capacity is that of the host with the most room: "at most". A host is a
service host here, which may have several hypervisors.

Units: numbers of servers. The cost follows the number of hosts that differ, and N log hosts.

Errors: InvalidSpec for a name that the snapshot does not hold. That nothing fits is no error.

Source: document 002 for the rules of a group.
"""

from __future__ import annotations

from collections.abc import Sequence

from senlin_affinity.core import remedies as changes
from senlin_affinity.core.constraint import Constraint
from senlin_affinity.core.decision import Decision, PlacedServer
from senlin_affinity.core.evaluation import evaluate
from senlin_affinity.core.objects import CloudSnapshot, PlacementRequest, Question, Rules
from senlin_affinity.core.question import ask
from senlin_affinity.core.standing import stand


def plan(
    request: PlacementRequest,
    snapshot: CloudSnapshot,
    constraints: Sequence[Constraint],
    rules: Rules | None = None,
    *,
    remedies: bool = True,
) -> Decision:
    """The decision about a request."""
    return decide(ask(request, snapshot, rules), constraints, remedies=remedies)


def decide(
    question: Question, constraints: Sequence[Constraint], *, remedies: bool = True
) -> Decision:
    """The decision about a question, whose names are looked up.

    :param remedies: whether to look for what would help, where the request does not fit.
    """
    now = evaluate(question, constraints)
    chosen = now.chosen()
    standing = None if question.snapshot.hosts is None else stand(now, chosen)
    group = None if question.server_group is None else question.server_group.id
    return Decision(
        fits=now.fits,
        wanted=question.request.count,
        capacity=now.capacity,
        at_most=now.room.at_most,
        placements=tuple(
            PlacedServer(host.host, host.availability_zone, group)
            for host in map(now.hosts.__getitem__, chosen)
        ),
        request=now.request,
        reasons={code: reason for item in constraints for code, reason in item.reasons.items()},
        standing=standing,
        remedies=changes.find(now, standing) if remedies and now.fits is False else (),
    )
