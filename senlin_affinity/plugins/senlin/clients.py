"""Keep the operator's connection of a Senlin engine, one for each process.

``[senlin_affinity_cloud]`` becomes a connection (:mod:`~senlin_affinity.cloud.service_user`) when
it is needed.

Raises: nothing. Without credentials, and with invalid ones (which are logged), the owner's
connection is used.
"""

from __future__ import annotations

import functools
import hashlib
import threading
from importlib import metadata
from typing import Any

from oslo_config import cfg

from senlin_affinity.cloud import service_user
from senlin_affinity.cloud.clients import Clients, OperatorClient, OwnerClient, RecentReads, of
from senlin_affinity.conf import opts
from senlin_affinity.model.errors import CloudError
from senlin_affinity.plugins import plain_log

#: The logger for data about hosts; operators who give users the engine's log exclude it.
OPERATORS = plain_log.get('senlin_affinity.operators')

_GROUP = 'senlin_affinity_cloud'


class _Kept:
    """The operator's client of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: OperatorClient | None = None

    def client(self) -> OperatorClient | None:
        """Return the client; None if no credentials are configured."""
        with self._lock:
            if self._made is not None:
                return self._made
            if service_user.section(cfg.CONF) is None:
                return None
            options = cfg.CONF.affinity
            region = cfg.CONF.default_region_name
            connection = service_user.connect(
                cfg.CONF, options.request_timeout, options.max_answer_size, region
            )
            self._made = OperatorClient(connection, recent=RecentReads())
            return self._made


_KEPT = _Kept()
#: What owners read with their own credentials; the keys contain the owner.
_OWNERS_READS = RecentReads()


def clients_of(owner: Any) -> Clients:
    """Return the owner's client with the operator's, if that is configured and works."""
    try:
        made = _KEPT.client()
    except CloudError as error:
        warn_of_fallback(error)
        made = None
    timeout = cfg.CONF.affinity.request_timeout
    operator = made or OperatorClient(owner, timeout, recent=_OWNERS_READS)
    return Clients(OwnerClient(owner, timeout), operator)


def of_owner(owner: Any) -> Clients:
    """Return clients that both use the owner's connection, whatever is configured."""
    return of(owner, cfg.CONF.affinity.request_timeout)


def warn_of_fallback(error: CloudError) -> None:
    """Log that the owner's credentials take the place of the operator's."""
    OPERATORS.warning(
        'affinity policy: the cloud could not be read with the credentials of [%s], so those of '
        "the cluster's owner are used: %s",
        _GROUP,
        error,
    )


@functools.cache
def log_identity() -> tuple[str, str]:
    """Log the release, the options and whose credentials read the cloud, once in this process.

    Return the release and the hash of the options with which the process started.
    """
    section = service_user.section(cfg.CONF)
    about = 'affinity policy: senlin-affinity %s, hash of options %s: '
    version, digest = metadata.version('senlin-affinity'), options_digest(cfg.CONF)
    if section is None:
        OPERATORS.warning(
            about + '[%s] has no credentials, so the cloud is read with those of the owner of each '
            "cluster; the preflight cannot check the hosts for a tenant's cluster",
            version,
            digest,
            _GROUP,
        )
    else:
        OPERATORS.info(
            about + 'the cloud is read with the credentials of [%s]', version, digest, section
        )
    return version, digest


def options_digest(conf: Any) -> str:
    """Return a hash of this project's options: equal on two engines that have equal options.

    The user name and the password of ``[senlin_affinity_cloud]`` are left out.
    """
    names = [(opts.AFFINITY.name, option.dest) for option in opts.AFFINITY_OPTIONS]
    names += [(option.group, option.dest) for option in opts.options_of(())]
    names += [(_GROUP, option.dest) for option in service_user.options()]
    values = [(group, name, repr(conf[group][name])) for group, name in names]
    return hashlib.sha256(repr(sorted({*values})).encode()).hexdigest()[:12]
