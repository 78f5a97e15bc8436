"""What a cluster or a node of Senlin's asks for, and what is seen of the cloud it is in.

The way of the data: a cluster or a node comes in with its profile and its binding, and a
:class:`~senlin_affinity.policy.planned.Growth` goes out; :func:`look` answers what that needs, by
the owner's connection. What is decided by it, ``policy.planned`` decides.

Errors: none out of :func:`look`: why nothing was seen is a part of what it answers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from senlin_affinity.conf import opts
from senlin_affinity.conf.installed import load_constraints
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.core.errors import AffinityError, CloudError, in_words, is_mistake
from senlin_affinity.core.flavor import PCPU
from senlin_affinity.core.objects import CloudSnapshot
from senlin_affinity.policy import planned
from senlin_affinity.policy.binding import Binding
from senlin_affinity.policy.placement import Placement, Refusal, is_planned
from senlin_affinity.policy.planned import Growth, Needs, Sight
from senlin_affinity.policy.properties import Properties
from senlin_affinity.policy.request import Asked

LOG = logging.getLogger(__name__)

opts.register(cfg.CONF)


def growth(entity: Any, count: int, wanted: Properties, bound: Binding | None) -> Growth:
    """What a cluster or a node asks for."""
    constraints: Sequence[Constraint] = ()
    error = None
    if count and is_planned(wanted):
        try:
            constraints = load_constraints()
        except AffinityError as failure:
            error = failure
    asked = Asked(
        count,
        profile=entity.rt['profile'].spec,
        project_id=entity.project,
        enabled_filters=tuple(cfg.CONF.affinity.enabled_filters),
        rules=opts.rules(cfg.CONF, constraints),
    )
    return Growth(asked, wanted, bound, constraints, error)


def look(needs: Needs | None, connect: Callable[[], Any]) -> Sight:
    """What is needed of the cloud behind the owner's connection."""
    if needs is None:
        return Sight()
    from senlin_affinity.cloud import snapshot  # with openstacksdk: not before it is needed
    from senlin_affinity.cloud.connection import ports

    timeout = cfg.CONF.affinity.request_timeout
    try:
        if needs.drs_pattern is not None:
            inventory = ports(connect(), timeout).inventory
            return Sight(drs_hosts=tuple(inventory.hosts_named_like(needs.drs_pattern)))
        groups = () if needs.server_group is None else (needs.server_group,)
        taken = snapshot.take(connect(), server_groups=groups, timeout=timeout)
        image = _image(needs, taken.snapshot, connect, timeout)
        return Sight(taken.snapshot, taken.unknown, image)
    except AffinityError as error:
        return Sight(error=error)
    except Exception as error:
        LOG.exception('affinity policy: the look at the cloud failed')
        return Sight(error=CloudError(in_words(error)))


def _image(
    needs: Needs, cloud: CloudSnapshot, connect: Callable[[], Any], timeout: float
) -> Mapping[str, str] | None:
    from senlin_affinity.cloud import images

    if needs.image is None:
        return None
    if needs.is_image_needed:
        return images.properties(connect(), needs.image, timeout)
    if any(PCPU in (host.resources or {}) for host in cloud.hosts or ()):
        with contextlib.suppress(CloudError):  # then it is not known which CPUs it asks for
            return images.properties(connect(), needs.image, timeout)
    return None


def place(policy: str, name: str, asks: Growth, seen: Sight) -> Placement | Refusal:
    """Where the nodes go, with words for the log.

    A mistake in code refuses nothing that Nova can place.
    """
    try:
        outcome = planned.decide(asks, seen)
    except Exception as error:
        if not is_mistake(error) or asks.is_pinned:
            raise
        LOG.exception('affinity policy %s: the preflight failed', policy)
        return planned.unpinned(asks)
    if outcome.warning is not None:
        LOG.warning('affinity policy %s, %s: preflight: %s', policy, name, outcome.warning)
    if outcome.note is not None:
        LOG.debug('affinity policy %s, %s: preflight: %s', policy, name, outcome.note)
    return outcome.answer


def warn_of_ceiling(
    policy: str, cluster: Any, wanted: Properties, bound: Binding, connect: Callable[[], Any]
) -> None:
    """Say in the log where the cluster can not have its largest size. Never raises."""
    try:
        more = cluster.max_size - len(cluster.nodes)  # max_size -1: no limit
        if more < 1 or not is_planned(wanted):
            return
        asks = growth(cluster, more, wanted, bound)
        seen = look(planned.needs(asks), connect)
        why = planned.ceiling(asks, seen)
    except Exception as error:
        if is_mistake(error):
            LOG.exception('affinity policy %s: the preflight failed', policy)
        why = f'could not be found out: {in_words(error)}'
    if why is not None:
        LOG.warning(
            'affinity policy %s, cluster %s: whether it can grow to its max_size of %s: %s',
            policy,
            cluster.id,
            cluster.max_size,
            why,
        )
