"""The cloud's eyes of a Senlin engine: one connection in each process, made when it is needed.

Data flow: ``[senlin_affinity_cloud]`` becomes a connection (:mod:`~senlin_affinity.cloud.
service_user`), which is kept, and made again only where it was given up. Where the group is empty,
the eyes are the owner's own.

Errors: none. Options that make no log-in are said in the log, and the owner's eyes do.
"""

from __future__ import annotations

import functools
import threading
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from senlin_affinity.cloud import deadline
from senlin_affinity.cloud import eyes as both
from senlin_affinity.cloud.eyes import CloudsEyes, Eyes, OwnersEyes
from senlin_affinity.core.errors import CloudError

#: All that is about hosts: whoever hands the engine's log on to its users leaves this logger out.
OPERATORS = logging.getLogger('senlin_affinity.operators')

_GROUP = 'senlin_affinity_cloud'


class _Kept:
    """The connection of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: Any = None

    def connection(self) -> Any:
        """The connection; None where the configuration names none."""
        from senlin_affinity.cloud import service_user  # with openstacksdk

        with self._lock:
            if self._made is not None and not deadline.is_given_up(self._made.session):
                return self._made
            if service_user.section(cfg.CONF) is None:
                return None
            said = cfg.CONF.affinity
            region = cfg.CONF.default_region_name
            self._made = service_user.connect(
                cfg.CONF, said.request_timeout, said.max_answer_size, region
            )
            return self._made


_KEPT = _Kept()


def eyes(owner: Any) -> Eyes:
    """Both, for an owner's connection."""
    try:
        made = _KEPT.connection()
    except CloudError as error:
        warn(error)
        made = None
    return both.of(owner) if made is None else Eyes(OwnersEyes(owner), CloudsEyes(made))


def warn(error: CloudError) -> None:
    """Say that the cloud's eyes do not see."""
    OPERATORS.warning(
        "affinity policy: the log-in of [%s] did not do, and the cluster owner's took its place: "
        '%s',
        _GROUP,
        error,
    )


@functools.cache
def say() -> None:
    """Say whose the cloud's eyes are, once in this process."""
    from senlin_affinity.cloud import service_user

    section = service_user.section(cfg.CONF)
    if section is None:
        OPERATORS.warning(
            'affinity policy: [%s] names no log-in: the cloud is looked at with each cluster '
            "owner's own, which sees no hosts where the owner is a plain user; the preflight "
            'refuses nothing to these',
            _GROUP,
        )
    else:
        OPERATORS.info('affinity policy: the cloud is looked at with the log-in of [%s]', section)
