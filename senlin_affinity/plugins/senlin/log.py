"""Log each decision of the policy in one line, and record which release each engine has.

Example::

    affinity policy web, cluster 7f0c..., action 51d2..., request req-90ab..., attach: created ...

The ``data`` of a policy has the release and the options of each engine. Senlin's API shows it, so
``senlin-affinity status`` can compare the engines. An engine writes its entry before its first
action for a policy after each start: ``services`` are the ids of the engines that run on the host::

    {'affinity_engines': {'engine-1': {
        'release': '0.10.0', 'options': 'a4201241d836', 'services': '51d2f7c4-...',
        'at': '2026-11-24T08:00:00Z'}}}

Raises: nothing. A failure of the database is logged.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from oslo_config import cfg
from oslo_serialization import jsonutils
from oslo_utils import timeutils
from senlin.common.context import get_admin_context
from senlin.db.sqlalchemy import api as database
from senlin.objects import action as action_object
from senlin.objects import service
from sqlalchemy import Text, column, select, table, update

from senlin_affinity.plugins import plain_log
from senlin_affinity.plugins.senlin import clients
from senlin_affinity.plugins.senlin import group_registry as registry
from senlin_affinity.policy.senlin_data import ENGINE, REPORTS, reports

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


_POLICIES = table('policy', column('id'), column('data', Text))


def record(policy: Any) -> None:
    """Write this engine's entry into the data of a policy, unless the entry is there."""
    release, options = clients.log_identity()
    mine, host = {'release': release, 'options': options}, cfg.CONF.host
    before = reports(policy.data).get(host, {})
    try:
        known = service.Service.get_all(get_admin_context())
        ids = [each.id for each in known if (each.host, each.binary) == (host, ENGINE)]
        is_since_start = not {*ids}.isdisjoint(before.get('services', '').split())
        if before.items() >= mine.items() and is_since_start:
            return
        now = timeutils.utcnow().strftime('%Y-%m-%dT%H:%M:%SZ')
        entry = {**mine, 'services': ' '.join(ids), 'at': now}
        policy.data = _write(policy.id, host, entry, policy.data)
    except Exception as error:
        LOG.warning(
            'affinity policy %s: the release of this engine is not recorded: %s', policy.name, error
        )


def _write(policy_id: str, host: str, entry: dict[str, str], data: Any) -> Any:
    """Add the entry to the row, unless another engine changes it meanwhile; return the data."""
    with database.session_for_write() as session:
        query = select(_POLICIES.c.data).where(_POLICIES.c.id == policy_id)
        text = session.execute(query).scalar_one_or_none()
        if text is None:  # the policy was deleted, or has no data
            return data
        stored = jsonutils.loads(text) or {}
        stored[REPORTS] = {**reports(stored), host: entry}
        is_as_read = (_POLICIES.c.id == policy_id, _POLICIES.c.data == text)
        written = update(_POLICIES).where(*is_as_read).values(data=jsonutils.dumps(stored))
        session.execute(written)
    return stored
