"""Ask the preflight where the nodes of a cluster go.

Raises: BindingError from :func:`place` for a cluster without a binding; :func:`fetch` returns any
error.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from oslo_config import cfg

from senlin_affinity.answers import disclosure, hook
from senlin_affinity.answers.hook import CloudOrError
from senlin_affinity.cloud import fetch as cloud_fetch
from senlin_affinity.cloud import whole_cloud
from senlin_affinity.cloud.clients import Clients
from senlin_affinity.cloud.connection import ports
from senlin_affinity.conf import nova_conf, opts
from senlin_affinity.conf.constraint_plugins import load_constraints
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.constraints.drs import PATTERN
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import AffinityError, CloudError, TooLarge
from senlin_affinity.plugins.senlin import group_registry as registry
from senlin_affinity.plugins.senlin.clients import OPERATORS, of_owner, warn_of_fallback
from senlin_affinity.policy.properties import PolicySpec
from senlin_affinity.policy.senlin_data import Binding, Placement, Refusal, is_planned
from senlin_affinity.preflight.question import Question

opts.register(cfg.CONF)
# Import the constraints now, so that an upgrade of the files on disk does not mix two versions in a
# running engine.
with contextlib.suppress(AffinityError):
    load_constraints()


#: The constraints, or why they do not load.
Constraints: TypeAlias = Sequence[Constraint] | AffinityError
_EXPECTED = 'the preflight expects nodes to fail, but the policy only warns: {}'
_NOT_CHOSEN = 'Nova does not let the owner of the cluster choose the hosts of its nodes'


def constraints_for(count: int, wanted: PolicySpec) -> Constraints:
    """Return the constraints on so many new nodes; the error if one does not load.

    () without a plan.
    """
    try:
        return load_constraints() if count and is_planned(wanted) else ()
    except AffinityError as error:
        return error


def question_of(
    entity: Any, count: int, wanted: PolicySpec, bound: Binding | None, constraints: Constraints
) -> Question:
    """Return the question for ``count`` nodes of a cluster or a node."""
    usable = _usable(constraints)
    read = nova_conf.with_nova_conf if usable else opts.settings
    settings = read(cfg.CONF, usable)
    return Question(
        count,
        server_group=None if bound is None else bound.servergroup_id,
        group_rules=None if bound is None else bound.rules,
        policy=wanted,
        profile=entity.rt['profile'].spec,
        project_id=entity.project,
        enabled_filters=settings.filters,
        options=settings.values,
        explicit_options=settings.keys,
    )


def _usable(constraints: Constraints) -> Sequence[Constraint]:
    return () if isinstance(constraints, AffinityError) else constraints


def fetch(
    asked: Question,
    constraints: Constraints,
    open_clients: Callable[[], Clients],
    *,
    is_lasting: bool = False,
) -> CloudOrError:
    """Return the required parts of the cloud, or the error in a form that the owner may read.

    ``Cloud()`` if nothing must be fetched.

    :param is_lasting: the answer must not depend on today's free capacity.
    """
    clients = None
    try:
        if not hook.is_cloud_needed(asked):
            return Cloud()
        clients = open_clients()
        return _fetch(clients, asked, _usable(constraints), is_lasting=is_lasting)
    except CloudError as error:  # of the owner's own requests, or redacted
        return error
    except Exception as error:
        if registry.is_defect(error):
            OPERATORS.exception('affinity policy: the cloud could not be read')
        if clients is not None and clients.has_operator:
            return disclosure.redacted(error)
        return error if isinstance(error, AffinityError) else CloudError(registry.in_words(error))


def _fetch(
    clients: Clients, asked: Question, constraints: Sequence[Constraint], *, is_lasting: bool
) -> Cloud:
    """Return what both clients read; if that fails, what the owner's client reads alone.

    Raise CloudError if that fails, too, and if Nova does not let the owner choose hosts.
    """
    owners = of_owner(clients.owner.connection)

    def read(clients: Clients) -> Cloud:
        if is_planned(cast(PolicySpec, asked.policy)):
            return cloud_fetch.fetch(asked, constraints, clients, is_lasting=is_lasting)
        return whole_cloud.fetch_drs_hosts(clients, asked.settings.value(PATTERN))

    try:
        cloud = read(clients)
    except CloudError as error:
        if not clients.has_operator:
            raise
        if isinstance(error, TooLarge):  # the owner's credentials would not help
            OPERATORS.warning('affinity policy: the cloud could not be read: %s', error)
            raise disclosure.redacted(error) from error
        warn_of_fallback(error)
        return read(owners)
    is_chosen_for_owner = asked.chooses_hosts and not cloud.owner_sees_hosts
    if is_chosen_for_owner and not ports(owners).inventory.lets_choose_hosts():
        raise CloudError(_NOT_CHOSEN)
    return cloud


def place(
    log_prefix: str,
    asked: Question,
    constraints: Constraints,
    fetched: CloudOrError,
    advise: Callable[[str], None],
) -> Placement | Refusal:
    """Decide the placement of the nodes.

    A defect of code rejects no request for which Nova chooses the hosts and zones.

    :param log_prefix: the beginning of a log line.
    :param advise: informs the owner of nodes that do not fit, but are not rejected.
    """
    try:
        outcome = hook.place_nodes(asked, _usable(constraints), _first(constraints, fetched))
    except Exception as error:
        if registry.is_defect(error) and not hook.must_choose(asked):
            OPERATORS.exception('%s: the preflight failed', log_prefix)
            return hook.scheduler_chooses(asked)
        if not isinstance(fetched, Cloud) or fetched.owner_sees_hosts:
            raise
        OPERATORS.warning('%s: rejected', log_prefix, exc_info=error)
        raise disclosure.redacted(error) from None
    line = '%s: preflight: %s'
    if outcome.warning is not None:
        OPERATORS.warning(line, log_prefix, outcome.warning)
    if outcome.refusal is not None:
        OPERATORS.info(line, log_prefix, outcome.refusal)
    if outcome.note is not None:
        OPERATORS.debug(line, log_prefix, outcome.note)
    if outcome.advice is not None:
        advise(_EXPECTED.format(outcome.advice))
    return outcome.answer


def _first(constraints: Constraints, fetched: CloudOrError) -> CloudOrError:
    """Return the error of constraints that did not load, else what was fetched."""
    return constraints if isinstance(constraints, AffinityError) else fetched


def warn_if_unenforced(log_prefix: str, cluster: Any, wanted: PolicySpec, bound: Binding) -> None:
    """Log a warning if nothing enforces the policy of the cluster's server group."""
    asked = question_of(cluster, 1, wanted, bound, constraints_for(1, wanted))
    if why := hook.unenforced(asked, bound.policy):
        OPERATORS.warning('%s: %s', log_prefix, why)


UNCHECKED = (
    'the preflight does not check whether the nodes of this cluster fit: its owner cannot list '
    'hosts, and the policy has no operator credentials'
)


def is_unchecked(wanted: PolicySpec, open_clients: Callable[[], Clients]) -> bool:
    """Check with at most one request whether the preflight needs hosts that it may not list."""
    if not is_planned(wanted):
        return False
    try:
        clients = open_clients()
        return not clients.has_operator and not ports(clients).inventory.shows_hosts()
    except AffinityError:
        return False  # the note must not make an attach fail


def warn_if_limited(
    log_prefix: str,
    cluster: Any,
    wanted: PolicySpec,
    bound: Binding,
    open_clients: Callable[[], Clients],
) -> str | None:
    """Log a warning if the cluster cannot grow to its max_size, or if a zone is not a domain.

    Never raises. If the cloud cannot be read, the line has level INFO.

    :returns: the sentence for the owner, if the cluster cannot grow to that size.
    """
    line = '%s: growth to its max_size of %s: %s'
    try:
        more = cluster.max_size - len(cluster.nodes)  # max_size -1: no limit
        constraints = constraints_for(max(more, 1), wanted)
        asked = question_of(cluster, max(more, 1), wanted, bound, constraints)
        if not is_planned(wanted) or (more < 1 and asked.zone_spread is None):
            return None
        fetched = fetch(asked, constraints, open_clients, is_lasting=True)
        if (zone := hook.default_zone(asked, fetched)) is not None:
            reason = 'no aggregate carries it, so Nova may use a host of any zone for it'
            spread = '%s: the spread sends no node to zone %s: %s'
            OPERATORS.warning(spread, log_prefix, zone, reason)
        if more < 1:
            return None
        why = hook.max_size_shortfall(asked, _usable(constraints), _first(constraints, fetched))
        owner_sees_hosts = (
            not open_clients().has_operator
            and isinstance(fetched, Cloud)
            and fetched.owner_sees_hosts
        )
    except Exception as error:
        if registry.is_defect(error):
            OPERATORS.exception('%s: the preflight failed', log_prefix)
        unknown = f'could not be determined: {registry.in_words(error)}'
        OPERATORS.info(line, log_prefix, cluster.max_size, unknown)
        return None
    if why is not None:
        OPERATORS.warning(line, log_prefix, cluster.max_size, why)
    message = (
        why
        if owner_sees_hosts
        else _for_owner(log_prefix, asked, _usable(constraints), open_clients)
    )
    return message and f'the cluster cannot grow to its max_size of {cluster.max_size}: {message}'


def _for_owner(
    log_prefix: str,
    asked: Question,
    constraints: Sequence[Constraint],
    open_clients: Callable[[], Clients],
) -> str | None:
    """Return why a scale-out to the max_size would be rejected now; None if it would not be.

    A reason that also holds for an empty cloud would reveal the number of hosts to a tenant.
    """
    try:
        fetched = fetch(asked, constraints, open_clients)
        answer = hook.place_nodes(asked, constraints, fetched).answer
    except Exception as error:
        if registry.is_defect(error):
            OPERATORS.exception('%s: the preflight failed', log_prefix)
        return None
    return answer.reason if isinstance(answer, Refusal) else None
