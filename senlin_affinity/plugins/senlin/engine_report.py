"""Record in the ``data`` of a policy which release and which options each engine has.

Senlin's API shows the data, so ``senlin-affinity status`` can compare the engines. An engine writes
its entry before its first action for a policy after each start: ``services`` are the ids of the
engines that run on the host.

Example::

    {'affinity_engines': {'engine-1': {
        'release': '0.10.0', 'options': 'a4201241d836', 'services': '51d2f7c4-...',
        'at': '2026-11-24T08:00:00Z'}}}

Raises: nothing. A failure of the database is logged.
"""

from __future__ import annotations

from typing import Any

from oslo_config import cfg
from oslo_serialization import jsonutils
from oslo_utils import timeutils
from senlin.common.context import get_admin_context
from senlin.db.sqlalchemy import api as database
from senlin.objects import service
from sqlalchemy import Text, column, select, table, update

from senlin_affinity.cloud.senlin_engines import ENGINE, REPORTS, reports
from senlin_affinity.plugins import plain_log
from senlin_affinity.plugins.senlin import clients

LOG = plain_log.get('senlin_affinity.plugins.senlin_policy')
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
