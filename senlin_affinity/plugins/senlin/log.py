"""Write one line to the log of a Senlin engine for each decision of the policy.

Example::

    affinity policy web, cluster 7f0c..., action 51d2..., request req-90ab..., attach: created ...
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from senlin.common.context import get_admin_context
from senlin.objects import action as action_object

from senlin_affinity.plugins import plain_log
from senlin_affinity.plugins.senlin import group_registry as registry

LOG = plain_log.get('senlin_affinity.plugins.senlin_policy')


def prefix(policy: str, cluster: str, action: Any = None) -> str:
    """Return the beginning of a line: the policy, the cluster, the action and its request.

    :param action: the engine's action; None for the one that holds the lock of the cluster.
    """
    names = [f'affinity policy {policy}', f'cluster {cluster}']
    with contextlib.suppress(Exception):  # the decision itself reports the error
        if action is None:
            holders = (registry.lock_holders(cluster) or (None,))[0]
            action = holders and action_object.Action.get(get_admin_context(), holders)
        if action is not None:
            context = action.context
            is_stored = isinstance(context, Mapping)
            request = context.get('request_id') if is_stored else context.request_id
            names += [f'action {action.id}', f'request {request}']
    return ', '.join(names)


def decided(log_prefix: str, what: str, line: str) -> None:
    """Log a decision."""
    LOG.info('%s, %s: %s', log_prefix, what, line)


def failed(log_prefix: str, what: str, error: Exception, verb: str) -> str:
    """Log a failure, and return it in words for the user.

    The log contains the traceback of a defect, and one line for an outage of the database.
    """
    why = registry.in_words(error)
    if registry.is_outage(error):
        first = next(iter(str(error).splitlines()), '')  # without the SQL statement
        LOG.error('%s, %s: %s: %s: %s', log_prefix, what, verb, why, first)
        return why
    if registry.is_defect(error):
        LOG.exception('%s, %s: failed', log_prefix, what)
    decided(log_prefix, what, f'{verb}: {why}')
    return why
