"""Compare the engine's answers with what Nova has done, in the operator's own cloud.

A failure that found no host, and a server that Nova has placed, are judged on two snapshots, one
before and one after: only an answer that both give counts, because the cloud has changed between
them. A server that was placed is removed from the snapshot that has it.

Example::

    engine = agreed(of_failure(before), of_failure(after))         'rejects'
    engine = agreed(*(of_placed(server, settings, view, constraints) for view in views))

The exporter (``cli/refresh.py``) calls it, and counts the answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from msgspec import structs

from senlin_affinity.answers.failure_groups import FailureCause
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.engine.decision import Decision
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.server import Server
from senlin_affinity.nova.actions import Action, ServerAction
from senlin_affinity.nova.demand import demand
from senlin_affinity.preflight.failed_server import Cause
from senlin_affinity.preflight.question import Question
from senlin_affinity.preflight.server_action import asking, question_of

#: What the engine says, and what Nova did. They are public (metrics).
FITS, REJECTS, UNSURE = 'fits', 'rejects', 'unsure'
PLACED, REJECTED = 'placed', 'rejected'
#: Every cell, the false rejections first.
CELLS = (
    *((REJECTS, PLACED), (FITS, REJECTED), (REJECTS, REJECTED), (FITS, PLACED)),
    *((UNSURE, PLACED), (UNSURE, REJECTED)),
)
_OFFLOADED = 'SHELVED_OFFLOADED'


def agreed(*answers: str) -> str:
    """Return the answer that all are; otherwise UNSURE."""
    return answers[0] if len({*answers}) == 1 else UNSURE


def of_failure(found: FailureCause) -> str | None:
    """Return what the engine says of a request for which Nova found no host.

    None for another failure, which tells nothing about the hosts.
    """
    if found.cause is not Cause.NO_HOST:
        return None
    return UNSURE if found.explanation is None else _answer(found.explanation.of_hosts)


def of_placed(
    server: Server,
    settings: Question,
    view: Cloud,
    constraints: Sequence[Constraint],
    *,
    is_counted: bool,
) -> str:
    """Return what the engine says of a server that Nova has placed, as if it had no host yet.

    An unshelved server is requested as a new one, and its group does not count it.

    :param is_counted: the snapshot has the server on its host.
    """
    cloud = without(server, view) if is_counted else view
    flavor, known = server.flavor, cloud.flavors
    if flavor is not None and known is not None:  # that of this name may differ by now
        others = (each for each in known if each.name != flavor.name)
        cloud = structs.replace(cloud, flavors=(flavor, *others))
    offloaded = structs.replace(server, status=_OFFLOADED, host=None, task_state=None)
    asked = ServerAction(Action.UNSHELVE, offloaded)
    try:
        question = replace(question_of(asked, settings), are_quotas_ignored=True)
        request = asking(asked, question, cloud)
    except InvalidSpec:  # its flavor or zone no longer exists
        return UNSURE
    return _answer(request.decide(constraints, remedies=False))


def without(server: Server, cloud: Cloud) -> Cloud:
    """Return the cloud without what the server uses on its host and of shared providers."""
    named = server.host, server.hypervisor_hostname
    own = next(
        (each for each in cloud.hosts or () if (each.host, each.hypervisor_hostname) == named), None
    )
    if own is None or server.flavor is None:
        return cloud
    amounts = _amounts(server, server.flavor, own)
    shared = {
        (has.pool, name): amounts[name]
        for name, has in (own.resources or {}).items()
        if has.pool is not None and name in amounts
    }

    def freed(host: Host) -> Host:
        is_own = host is own
        resources = {
            name: _freed(
                has, amounts.get(name, 0) if is_own else shared.get((has.pool or '', name), 0)
            )
            for name, has in (host.resources or {}).items()
        }
        if not is_own and resources == host.resources:
            return host
        number = None if host.servers is None else max(0, host.servers - is_own)
        return host.but(resources=resources, servers=number)

    pools = {
        uuid: {name: _freed(has, shared.get((uuid, name), 0)) for name, has in each.items()}
        for uuid, each in cloud.pools.items()
    }
    return structs.replace(cloud, hosts=(*map(freed, cloud.hosts or ()),), pools=pools)


def _amounts(server: Server, flavor: Flavor, host: Host) -> Mapping[str, int]:
    """Return what the server uses on its host, where its CPUs may be pinned or not."""
    asked = demand(flavor, server.image_properties, is_volume_booted=server.is_volume_booted)
    has = host.resources or {}
    is_first = all(name in has for group in asked.groups for name in group.amounts)
    found: Counter[str] = Counter()
    for group in asked.groups if is_first or not asked.fallback else asked.fallback:
        found.update(group.amounts)
    return found


def _freed(has: Resource, amount: int) -> Resource:
    return structs.replace(has, used=max(0, has.used - amount)) if amount else has


def _answer(decision: Decision) -> str:
    if decision.fits is None or decision.fits_by_upper_bound:
        return UNSURE
    return FITS if decision.fits else REJECTS
