"""Ask the preflight where the nodes of a cluster go.

Raises: BindingError for a cluster without a binding; :func:`fetch` returns any other error.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from oslo_config import cfg

from senlin_affinity import api
from senlin_affinity.cloud import fetch as cloud_fetch
from senlin_affinity.cloud import whole_cloud
from senlin_affinity.cloud.clients import Clients
from senlin_affinity.cloud.connection import ports
from senlin_affinity.conf import nova_conf, opts
from senlin_affinity.conf.constraint_plugins import load_constraints
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.model.errors import AffinityError, CloudError, TooLarge
from senlin_affinity.plugins.senlin import group_registry as registry
from senlin_affinity.plugins.senlin.clients import OPERATORS, warn_of_fallback
from senlin_affinity.policy.properties import PolicySpec
from senlin_affinity.policy.senlin_data import Binding, Placement, Refusal, is_planned
from senlin_affinity.preflight import disclosure, hook
from senlin_affinity.preflight.hook import ViewOrError
from senlin_affinity.preflight.scale_request import ScaleRequest, scope_of

opts.register(cfg.CONF)
# Import the constraints now, so that an upgrade of the files on disk does not mix two versions in a
# running engine.
with contextlib.suppress(AffinityError):
    load_constraints()


_EXPECTED = 'the preflight expects nodes to fail, but the policy only warns: {}'
_NOT_CHOSEN = 'Nova does not let the owner of the cluster choose the hosts of its nodes'


def scale_request(
    entity: Any, count: int, wanted: PolicySpec, bound: Binding | None
) -> ScaleRequest:
    """Return the request for ``count`` nodes of a cluster or a node."""
    constraints: Sequence[Constraint] = ()
    error = None
    if count and is_planned(wanted):
        try:
            constraints = load_constraints()
        except AffinityError as failure:
            error = failure
    read = nova_conf.with_nova_conf if constraints else opts.settings
    settings = read(cfg.CONF, constraints)
    question = api.Question(
        count,
        server_group=None if bound is None else bound.servergroup_id,
        policy=wanted,
        profile=entity.rt['profile'].spec,
        project_id=entity.project,
        enabled_filters=settings.filters,
        options=settings.values,
        explicit_options=settings.keys,
    )
    return ScaleRequest(question, bound, constraints, error)


def fetch(request: ScaleRequest, open_clients: Callable[[], Clients]) -> ViewOrError:
    """Return the required parts of the cloud, or the error in a form that the owner may read.

    Raise BindingError if the cluster has no binding.
    """
    timeout, clients = cfg.CONF.affinity.request_timeout, None
    scope = scope_of(request)
    try:
        if scope is None:
            return api.CloudView()
        clients = open_clients()
        return _fetch(clients, request, scope, timeout)
    except CloudError as error:  # of the owner's own requests, or redacted
        return error
    except Exception as error:
        if registry.is_defect(error):
            OPERATORS.exception('affinity policy: the cloud could not be read')
        if clients is not None and clients.has_operator:
            return disclosure.redacted(error)
        return error if isinstance(error, AffinityError) else CloudError(registry.in_words(error))


def _fetch(
    clients: Clients, request: ScaleRequest, scope: api.FetchScope, timeout: float
) -> api.CloudView:
    """Return the view of both clients, or the owner's alone if a request for the former fails.

    Raise CloudError if that is impossible, and if Nova does not let the owner choose hosts.
    """
    try:
        view = cloud_fetch.fetch(request, clients, timeout)
    except CloudError as error:
        if not clients.has_operator:
            raise
        if isinstance(error, TooLarge):  # the owner's credentials would not help
            OPERATORS.warning('affinity policy: the cloud could not be read: %s', error)
            raise disclosure.redacted(error) from error
        warn_of_fallback(error)
        return whole_cloud.fetch(api.clients_of(clients.owner.connection), scope, timeout)
    asked = scope.question
    is_chosen = scope.drs_pattern is not None or (asked is not None and asked.chooses_hosts)
    if is_chosen and not view.owner_sees_hosts:
        owner = ports(api.clients_of(clients.owner.connection), timeout)
        if not owner.inventory.lets_choose_hosts():
            raise CloudError(_NOT_CHOSEN)
    return view


def place(
    log_prefix: str, request: ScaleRequest, view: ViewOrError, advise: Callable[[str], None]
) -> Placement | Refusal:
    """Decide the placement of the nodes.

    A defect of code rejects no request for which Nova chooses the hosts and zones.

    :param log_prefix: the beginning of a log line.
    :param advise: informs the owner of nodes that do not fit, but are not rejected.
    """
    try:
        outcome = hook.place_nodes(request, view)
    except Exception as error:
        if registry.is_defect(error) and not request.must_choose:
            OPERATORS.exception('%s: the preflight failed', log_prefix)
            return hook.scheduler_chooses(request)
        if not isinstance(view, api.CloudView) or view.owner_sees_hosts:
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


def warn_if_unenforced(log_prefix: str, cluster: Any, wanted: PolicySpec, bound: Binding) -> None:
    """Log a warning if nothing enforces the policy of the cluster's server group."""
    if why := hook.unenforced(scale_request(cluster, 1, wanted, bound)):
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
        timeout = cfg.CONF.affinity.request_timeout
        return not clients.has_operator and not ports(clients, timeout).inventory.shows_hosts()
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
        request = scale_request(cluster, max(more, 1), wanted, bound)
        if not is_planned(wanted) or (more < 1 and request.zones is None):
            return None
        view = fetch(replace(request, ignores_current_usage=True), open_clients)
        if (zone := hook.default_zone(request, view)) is not None:
            reason = 'no aggregate carries it, so Nova may use a host of any zone for it'
            spread = '%s: the spread sends no node to zone %s: %s'
            OPERATORS.warning(spread, log_prefix, zone, reason)
        if more < 1:
            return None
        why = hook.max_size_shortfall(request, view)
        owner_sees_hosts = (
            not open_clients().has_operator
            and isinstance(view, api.CloudView)
            and view.owner_sees_hosts
        )
    except Exception as error:
        if registry.is_defect(error):
            OPERATORS.exception('%s: the preflight failed', log_prefix)
        unknown = f'could not be determined: {registry.in_words(error)}'
        OPERATORS.info(line, log_prefix, cluster.max_size, unknown)
        return None
    if why is not None:
        OPERATORS.warning(line, log_prefix, cluster.max_size, why)
    message = why if owner_sees_hosts else _for_owner(log_prefix, request, open_clients)
    return message and f'the cluster cannot grow to its max_size of {cluster.max_size}: {message}'


def _for_owner(
    log_prefix: str, request: ScaleRequest, open_clients: Callable[[], Clients]
) -> str | None:
    """Return why a scale-out to the max_size would be rejected now; None if it would not be.

    A reason that also holds for an empty cloud would reveal the number of hosts to a tenant.
    """
    try:
        answer = hook.place_nodes(request, fetch(request, open_clients)).answer
    except Exception as error:
        if registry.is_defect(error):
            OPERATORS.exception('%s: the preflight failed', log_prefix)
        return None
    return answer.reason if isinstance(answer, Refusal) else None
