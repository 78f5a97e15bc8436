"""From connections of openstacksdk to the ports that the decisions use.

Who looks with which eyes is in the types: :mod:`~senlin_affinity.cloud.eyes`.

Units: a timeout is in seconds, for the silence of a server; None is that of the connection
(``api_timeout`` in clouds.yaml), or else a minute. The log-in, the search for a service and each
request end within three timeouts (:mod:`~senlin_affinity.cloud.deadline`).

Errors: CloudError where no connection can be made (no such cloud in clouds.yaml, no Keystone).
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import openstack
from openstack.config import OpenStackConfig
from openstack.connection import Connection
from openstack.proxy import Proxy

from senlin_affinity.cloud import login, words
from senlin_affinity.cloud.candidates import PlacementCandidates
from senlin_affinity.cloud.deadline import REQUEST_TIMEOUT as REQUEST_TIMEOUT
from senlin_affinity.cloud.deadline import GivenUp, within
from senlin_affinity.cloud.eyes import CloudsEyes, Eyes, OwnersEyes
from senlin_affinity.cloud.inventory import NovaInventory
from senlin_affinity.cloud.login import NO_ANSWER
from senlin_affinity.cloud.rest import CloudsRest, OwnersRest, Rest, unreachable
from senlin_affinity.cloud.server_groups import NovaServerGroups
from senlin_affinity.core.errors import CloudError
from senlin_affinity.core.suggestion import nearest

LOG = logging.getLogger(__name__)
T = TypeVar('T')
#: What openstacksdk raises where a number stands in place of a text, or of a mapping.
_ODD_VALUE = (AttributeError, TypeError, ValueError)


@dataclass(frozen=True)
class Ports:
    """What the decisions ask, answered by one cloud."""

    server_groups: NovaServerGroups
    inventory: NovaInventory
    candidates: PlacementCandidates


def ports(eyes: Eyes, timeout: float | None = None) -> Ports:
    """The adapters over both. The first time, this gets the owner's token and finds Nova.

    The cloud's eyes are opened when something is asked of them.
    """
    owners = compute(eyes.owner, timeout)
    inventory = NovaInventory(owners, lambda: clouds_compute(eyes, owners, timeout))
    candidates = PlacementCandidates(lambda: placement(eyes.cloud, timeout))
    return Ports(NovaServerGroups(owners), inventory, candidates)


def _service(kind: str, name: str, connection: Connection, timeout: float | None = None) -> Rest:
    """A service's API. The first time, this gets a token and finds the service."""
    login.log_in(connection, timeout or REQUEST_TIMEOUT)
    session = connection.session

    def find() -> Proxy:
        with login.impatient(session):
            adapter: Proxy = getattr(connection, kind)
            return adapter

    return Rest(_in_time(session, name, find), name, timeout or session.timeout)


def compute(owner: OwnersEyes, timeout: float | None = None) -> OwnersRest:
    """Nova, as the owner sees it."""
    return OwnersRest(_service('compute', 'Nova', owner.connection, timeout))


def clouds_compute(eyes: Eyes, owners: OwnersRest, timeout: float | None = None) -> CloudsRest:
    """Nova, as the cloud's eyes see it: the owner's own, where both are one."""
    if eyes.are_one:
        return CloudsRest(owners)
    return CloudsRest(_service('compute', 'Nova', eyes.cloud.connection, timeout))


def placement(cloud: CloudsEyes, timeout: float | None = None) -> CloudsRest:
    """Placement, which none but the cloud's eyes ask."""
    return CloudsRest(_service('placement', 'Placement', cloud.connection, timeout))


def image(owner: OwnersEyes, timeout: float | None = None) -> OwnersRest:
    """Glance, as the owner sees it."""
    return OwnersRest(_service('image', 'Glance', owner.connection, timeout))


def identity(owner: OwnersEyes, timeout: float | None = None) -> OwnersRest:
    """Keystone, as the owner sees it."""
    return OwnersRest(_service('identity', 'Keystone', owner.connection, timeout))


def clustering(owner: OwnersEyes, timeout: float | None = None) -> OwnersRest:
    """Senlin, as the owner sees it."""
    return OwnersRest(_service('clustering', 'Senlin', owner.connection, timeout))


def project(owner: OwnersEyes, timeout: float | None = None) -> tuple[str | None, str | None]:
    """The id and the name of the project that the token is of, from the token itself."""
    login.log_in(owner.connection, timeout or REQUEST_TIMEOUT)
    session = owner.connection.session
    if not hasattr(session.auth, 'get_access'):  # a log-in without a Keystone knows no names
        return ids(owner)[1], None
    access = _in_time(session, 'Keystone', lambda: session.auth.get_access(session))
    return access.project_id, access.project_name


def ids(owner: OwnersEyes) -> tuple[str | None, str | None]:
    """The ids of the user and the project that the token is of; None where it has none."""
    session = owner.connection.session
    return _in_time(session, 'Keystone', lambda: (session.get_user_id(), session.get_project_id()))


def _in_time(session: Any, service: str, call: Callable[[], T]) -> T:
    """What the call answers within the deadline; ``service`` is what else was not found."""
    try:
        return within(session.timeout, call, session)
    except (*NO_ANSWER, GivenUp) as error:
        raise unreachable(service, error) from error


def connect(cloud: str | None = None, timeout: float | None = None) -> Connection:
    """A connection to a cloud of clouds.yaml, or to the one that the environment names."""
    options = {} if timeout is None else {'api_timeout': timeout}
    with _kept_warnings() as warned:
        try:
            # A profile in clouds.yaml may be a URL, which this reads.
            connection = within(
                timeout or REQUEST_TIMEOUT, lambda: openstack.connect(cloud=cloud, **options)
            )
            _ = connection.session  # made when it is first read, of more options
        except (*NO_ANSWER, GivenUp) as error:
            why = ' '.join((words.of(error), *(warned or _known(cloud))))
            raise CloudError(f'could not connect to the cloud: {why}') from error
        except _ODD_VALUE as error:
            why = f'clouds.yaml, or the environment, has a value of the wrong kind: {error}'
            raise CloudError(f'could not connect to the cloud: {why}') from error
    for warning in warned:
        LOG.warning('%s', warning)
    return connection


@contextlib.contextmanager
def _kept_warnings() -> Iterator[dict[str, None]]:
    """What openstacksdk warns of its files, which it reads twice: each once, in one line."""
    kept: dict[str, None] = {}

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            kept.setdefault(words.cut(record.getMessage()))

    logger, keeper = logging.getLogger('openstack.config'), Keeper(logging.WARNING)
    propagates, level = logger.propagate, logger.level
    logger.propagate = False
    logger.setLevel(logging.WARNING)
    logger.addHandler(keeper)
    try:
        yield kept
    finally:
        logger.removeHandler(keeper)
        logger.propagate = propagates
        logger.setLevel(level)


def _known(cloud: str | None) -> Iterator[str]:
    """Which clouds there are, where it is not one of them."""
    with contextlib.suppress(*NO_ANSWER):
        names = sorted({*OpenStackConfig().get_cloud_names()} - {'defaults', 'envvars'})
        if cloud is not None and cloud not in names and names:
            near = nearest(cloud, names)
            yield f'Did you mean {near}?' if near else f'Known: {", ".join(names[:10])}.'
