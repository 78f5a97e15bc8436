"""From connections of openstacksdk to the ports that the decisions use.

The types of :mod:`~senlin_affinity.cloud.clients` keep the two credentials apart.

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
from senlin_affinity.cloud.clients import Clients, OperatorClient, OwnerClient
from senlin_affinity.cloud.deadline import REQUEST_TIMEOUT as REQUEST_TIMEOUT
from senlin_affinity.cloud.deadline import GivenUp, within
from senlin_affinity.cloud.inventory import NovaInventory
from senlin_affinity.cloud.login import NO_ANSWER
from senlin_affinity.cloud.providers import TREES
from senlin_affinity.cloud.rest import (
    Microversion,
    OperatorRest,
    OwnerRest,
    Rest,
    shown,
    unreachable,
)
from senlin_affinity.cloud.server_groups import NovaServerGroups
from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.model.suggestion import nearest

LOG = logging.getLogger(__name__)
T = TypeVar('T')
#: The first microversion of Placement with forbidden aggregates in ``member_of``.
FORBIDDEN: Microversion = (1, 32)
#: What openstacksdk raises where a number stands in place of a text, or of a mapping.
_ODD_VALUE = (AttributeError, TypeError, ValueError)


class PlacementCandidates:
    """The Placement of one cloud. It is found when it is needed: tenants may not use it."""

    def __init__(self, placement: Callable[[], OperatorRest]) -> None:
        self._placement = placement

    def check_version(self, member_of: MemberOf, path: str) -> None:
        """Raise InvalidSpec if Placement is too old for the aggregates of the request.

        The provider trees and their roots, which the constraint reads, need 1.29.
        """
        if not member_of:
            return
        needed = FORBIDDEN if member_of.forbidden else TREES
        offered = self._placement().pick(needed)
        if offered >= needed:
            return
        what, remedy = 'aggregates of hosts', 'leave member_of out'
        if member_of.forbidden:
            what, remedy = 'forbidden aggregates', 'take the values with ! out'
        raise InvalidSpec(
            f'{what} need Placement microversion {shown(needed)}, this cloud offers '
            f'{shown(offered)}: {remedy}, or use a newer cloud',
            path,
        )


@dataclass(frozen=True)
class Ports:
    """What the decisions ask, answered by one cloud."""

    server_groups: NovaServerGroups
    inventory: NovaInventory
    candidates: PlacementCandidates


def ports(clients: Clients, timeout: float | None = None) -> Ports:
    """The adapters over both. The first time, this gets the owner's token and finds Nova.

    The cloud's eyes are opened when something is asked of them.
    """
    owners = compute(clients.owner, timeout)
    inventory = NovaInventory(owners, lambda: clouds_compute(clients, owners, timeout))
    candidates = PlacementCandidates(lambda: placement(clients.operator, timeout))
    return Ports(NovaServerGroups(owners), inventory, candidates)


def _service(kind: str, name: str, connection: Connection, timeout: float | None = None) -> Rest:
    """A service's API. The first time, this gets a token and finds the service."""
    login.log_in(connection, timeout or REQUEST_TIMEOUT)
    session = connection.session
    try:
        adapter = _in_time(session, name, lambda: _adapter(connection, kind))
    except CloudError as error:
        raise CloudError(f'{error}{_other_regions(connection)}', error.status) from error
    return Rest(adapter, name, timeout or session.timeout)


def _other_regions(connection: Connection) -> str:
    """Return a hint that lists the regions of the catalog if the connection names another one."""
    session, region = connection.session, connection.config.get_region_name()
    if region is None or not hasattr(session.auth, 'get_access'):
        return ''
    catalog = session.auth.get_access(session).service_catalog.catalog
    endpoints = [each for service in catalog for each in service.get('endpoints', ())]
    regions = {each.get('region_id') or each.get('region') for each in endpoints} - {None}
    if not regions or region in regions:
        return ''
    return f'; unknown region {region!r}: the catalog has {", ".join(sorted(regions))}'


def _adapter(connection: Connection, kind: str) -> Proxy:
    adapter: Proxy = getattr(connection, kind)
    # openstacksdk raises only here for a service that is not in the catalog.
    _ = adapter.get_endpoint_data
    return adapter


def compute(owner: OwnerClient, timeout: float | None = None) -> OwnerRest:
    """Nova, as the owner sees it."""
    return OwnerRest(_service('compute', 'Nova', owner.connection, timeout))


def clouds_compute(
    clients: Clients, owners: OwnerRest, timeout: float | None = None
) -> OperatorRest:
    """Nova, as the cloud's eyes see it: the owner's own, where both are one."""
    if not clients.has_operator:
        return OperatorRest(owners)
    return OperatorRest(_service('compute', 'Nova', clients.operator.connection, timeout))


def placement(cloud: OperatorClient, timeout: float | None = None) -> OperatorRest:
    """Placement, which none but the cloud's eyes ask."""
    return OperatorRest(_service('placement', 'Placement', cloud.connection, timeout))


def image(owner: OwnerClient, timeout: float | None = None) -> OwnerRest:
    """Glance, as the owner sees it."""
    return OwnerRest(_service('image', 'Glance', owner.connection, timeout))


def identity(owner: OwnerClient, timeout: float | None = None) -> OwnerRest:
    """Keystone, as the owner sees it."""
    return OwnerRest(_service('identity', 'Keystone', owner.connection, timeout))


def clustering(owner: OwnerClient, timeout: float | None = None) -> OwnerRest:
    """Senlin, as the owner sees it."""
    return OwnerRest(_service('clustering', 'Senlin', owner.connection, timeout))


def has_clustering(owner: OwnerClient, timeout: float | None = None) -> bool:
    """Check whether Keystone's catalog, or clouds.yaml, names an endpoint of Senlin."""
    login.log_in(owner.connection, timeout or REQUEST_TIMEOUT)
    session = owner.connection.session
    if owner.connection.config.get_endpoint('clustering') or not hasattr(
        session.auth, 'get_access'
    ):
        return True
    access = _in_time(session, 'Keystone', lambda: session.auth.get_access(session))
    known = access.service_catalog.get_endpoints_data(service_type='clustering')
    return any(known.values())


def project(owner: OwnerClient, timeout: float | None = None) -> tuple[str | None, str | None]:
    """The id and the name of the project that the token is of, from the token itself."""
    login.log_in(owner.connection, timeout or REQUEST_TIMEOUT)
    session = owner.connection.session
    if not hasattr(session.auth, 'get_access'):  # a log-in without a Keystone knows no names
        return ids(owner)[1], None
    access = _in_time(session, 'Keystone', lambda: session.auth.get_access(session))
    return access.project_id, access.project_name


def ids(owner: OwnerClient) -> tuple[str | None, str | None]:
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
