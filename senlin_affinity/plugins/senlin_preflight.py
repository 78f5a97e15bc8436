"""What a cluster or a node of Senlin's asks for, and what is seen of the cloud it is in.

Data flow: a cluster or a node, with its profile and its binding, becomes a ``Growth``, which
``policy.hook`` decides; :func:`look` answers what that needs, by the owner's connection.

Errors: none out of :func:`look`: why nothing was seen is what it answers then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oslo_config import cfg

from senlin_affinity import api
from senlin_affinity.cloud.eyes import Eyes
from senlin_affinity.conf import nova_conf, opts
from senlin_affinity.conf.installed import load_constraints
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.core.errors import AffinityError, CloudError, in_words, is_mistake
from senlin_affinity.plugins import senlin_cloud
from senlin_affinity.plugins.senlin_cloud import OPERATORS
from senlin_affinity.policy import hook, trial
from senlin_affinity.policy.binding import Binding
from senlin_affinity.policy.hook import Growth, Seen
from senlin_affinity.policy.placement import Placement, Refusal, is_planned
from senlin_affinity.policy.properties import Properties

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
    told = nova_conf.followed(cfg.CONF, constraints) if constraints else opts.told(cfg.CONF)
    question = api.Question(
        count,
        server_group=None if bound is None else bound.servergroup_id,
        policy=wanted,
        profile=entity.rt['profile'].spec,
        project_id=entity.project,
        enabled_filters=told.filters,
        options=told.values,
        told=told.keys,
    )
    return Growth(question, bound, constraints, error)


def look(needs: api.Needs | None, open_eyes: Callable[[], Eyes]) -> Seen:
    """What is needed of the cloud, or why it was not seen, as the owner may read it."""
    timeout = cfg.CONF.affinity.request_timeout
    eyes = None
    try:
        if needs is None:
            return api.Look()
        eyes = open_eyes()
        return _see(eyes, needs, timeout)
    except CloudError as error:  # of the owner's own eyes
        return error
    except Exception as error:
        if is_mistake(error):
            OPERATORS.exception('affinity policy: the look at the cloud failed')
        if eyes is not None and not eyes.are_one:
            return trial.hidden(error)
        return error if isinstance(error, AffinityError) else CloudError(in_words(error))


def _see(eyes: Eyes, needs: api.Needs, timeout: float) -> api.Look:
    """What both eyes see, or where the cloud's do not see, the owner's alone."""
    from senlin_affinity.cloud import narrow  # with openstacksdk

    try:
        few = narrow.see(eyes, needs, timeout)
        seen = few.look or api.see(eyes, needs, timeout, few.read)
    except CloudError as error:
        if eyes.are_one:
            raise
        senlin_cloud.warn(error)
        return api.see(api.eyes_of(eyes.owner.connection), needs, timeout)
    asked = needs.question
    is_chosen = needs.drs_pattern is not None or (asked is not None and asked.chooses_hosts)
    if is_chosen and not seen.is_owners and not api.lets_choose_hosts(eyes.owner, timeout):
        raise CloudError('Nova does not let the owner of the cluster choose the hosts of its nodes')
    return seen


def place(policy: str, name: str, asks: Growth, seen: Seen) -> Placement | Refusal:
    """Where the nodes go; a mistake in code refuses nothing that Nova can place."""
    try:
        outcome = hook.decide(asks, seen)
    except Exception as error:
        if is_mistake(error) and not asks.question.is_pinned:
            OPERATORS.exception('affinity policy %s: the preflight failed', policy)
            return hook.unpinned(asks)
        if not isinstance(seen, api.Look) or seen.is_owners:
            raise
        OPERATORS.warning('affinity policy %s, %s: refused', policy, name, exc_info=error)
        raise trial.hidden(error) from None
    line = 'affinity policy %s, %s: preflight: %s'
    if outcome.warning is not None:
        OPERATORS.warning(line, policy, name, outcome.warning)
    if outcome.refusal is not None:
        OPERATORS.info(line, policy, name, outcome.refusal)
    if outcome.note is not None:
        OPERATORS.debug(line, policy, name, outcome.note)
    return outcome.answer


def warn_of_ceiling(
    policy: str, cluster: Any, wanted: Properties, bound: Binding, open_eyes: Callable[[], Eyes]
) -> None:
    """Say in the log where the cluster can not have its largest size. Never raises."""
    try:
        more = cluster.max_size - len(cluster.nodes)  # max_size -1: no limit
        if more < 1 or not is_planned(wanted):
            return
        asks = growth(cluster, more, wanted, bound)
        needs = hook.needs(asks)
        seen = look(needs and needs.lasting(), open_eyes)
        why = hook.ceiling(asks, seen)
    except Exception as error:
        if is_mistake(error):
            OPERATORS.exception('affinity policy %s: the preflight failed', policy)
        why = f'could not be found out: {in_words(error)}'
    if why is not None:
        OPERATORS.warning(
            'affinity policy %s, cluster %s: whether it can grow to its max_size of %s: %s',
            policy,
            cluster.id,
            cluster.max_size,
            why,
        )
