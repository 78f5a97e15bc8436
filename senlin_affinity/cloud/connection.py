"""Connect to the services of a cloud, and build the ports that the decisions use.

Units: a timeout is the seconds for which a server may be silent. That of a client None: that of
its connection (``api_timeout`` in clouds.yaml), or else 60.

Raises: CloudError without a connection (an unknown cloud in clouds.yaml, no Keystone).
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import openstack
from keystoneauth1.exceptions import MissingRequiredOptions
from openstack.config import OpenStackConfig
from openstack.connection import Connection

from senlin_affinity.cloud import login
from senlin_affinity.cloud.clients import Clients, OperatorClient, OwnerClient
from senlin_affinity.cloud.inventory import NovaInventory
from senlin_affinity.cloud.login import NO_ANSWER
from senlin_affinity.cloud.providers import TREES
from senlin_affinity.cloud.rest import (
    Microversion,
    OperatorRest,
    OwnerRest,
    Rest,
    find,
    shown,
)
from senlin_affinity.cloud.server_groups import NovaServerGroups
from senlin_affinity.cloud.transport import REQUEST_TIMEOUT, error_text, one_line
from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.model.suggestion import nearest

LOG = logging.getLogger(__name__)
T = TypeVar('T')
#: The first microversion with forbidden aggregates.
FORBIDDEN: Microversion = (1, 32)
_PLACES = 'OS_CLIENT_CONFIG_FILE, ., ~/.config/openstack, /etc/openstack'
_NO_CLOUDS = f'No clouds.yaml defines a cloud (searched: {_PLACES}).'
#: What openstacksdk raises for a value of the wrong type.
_ODD_VALUE = (AttributeError, TypeError, ValueError)


class PlacementCandidates:
    """The microversion of one Placement."""

    def __init__(self, placement: Callable[[], OperatorRest]) -> None:
        self._placement = placement

    def check_version(self, member_of: MemberOf, path: str) -> None:
        """Raise InvalidSpec if Placement is older than 1.29, or 1.32 for forbidden aggregates.

        An empty ``member_of`` passes without a request.

        :param path: that of the InvalidSpec.
        """
        if not member_of:
            return
        needed = FORBIDDEN if member_of.forbidden else TREES
        offered = self._placement().pick(needed)
        if offered >= needed:
            return
        what, remedy = 'aggregates of hosts', 'leave member_of out'
        if member_of.forbidden:
            what, remedy = 'forbidden aggregates', 'remove the values with !'
        raise InvalidSpec(
            f'{what} need Placement microversion {shown(needed)}, this cloud offers '
            f'{shown(offered)}: {remedy}, or use a newer cloud',
            path,
        )


@dataclass(frozen=True)
class Ports:
    """The ports of the decisions, implemented for one cloud."""

    server_groups: NovaServerGroups
    inventory: NovaInventory
    candidates: PlacementCandidates


def ports(clients: Clients) -> Ports:
    """Return the adapters for both clients, and get the owner's token.

    The operator's client logs in on first use.
    """
    owners = compute(clients.owner)
    inventory = NovaInventory(owners, lambda: clouds_compute(clients, owners))
    candidates = PlacementCandidates(lambda: placement(clients.operator))
    return Ports(NovaServerGroups(owners), inventory, candidates)


def _service(kind: str, name: str, client: OwnerClient | OperatorClient) -> Rest:
    """Log in, and return the API of a service; raise CloudError if either fails.

    :param kind: openstacksdk's attribute, such as "compute".
    :param name: in errors, such as "Nova".
    """
    connection = client.connection
    login.log_in(connection, client.timeout or REQUEST_TIMEOUT)
    session = connection.session
    try:
        # openstacksdk raises if the catalog lacks the service.
        find(name, session.timeout, lambda: getattr(connection, kind).get_endpoint_data)
    except CloudError as error:
        known = ''
        with contextlib.suppress(CloudError):  # the catalog may be malformed
            known = _other_regions(connection)
        raise CloudError(f'{error}{known}', error.status) from error
    return Rest(
        getattr(connection, kind), name, client.timeout or session.timeout, client.responses
    )


def _other_regions(connection: Connection) -> str:
    """Return "; unknown region 'X': the catalog has RegionOne, RegionTwo" if the catalog lacks it.

    '' without a region of the connection, or without regions in the catalog.
    """
    region = connection.config.get_region_name()
    regions = None if region is None else _of_token(connection, _regions)
    if not regions or region in regions:
        return ''
    return f'; unknown region {region!r}: the catalog has {", ".join(sorted(regions))}'


def _regions(access: Any) -> set[str]:
    catalog = access.service_catalog.catalog
    endpoints = [each for service in catalog for each in service.get('endpoints', ())]
    found = (each.get('region_id') or each.get('region') for each in endpoints)
    return {str(each) for each in found if each is not None}


def _of_token(connection: Connection, read: Callable[[Any], T]) -> T | None:
    """Return what ``read`` finds in the token's data; None for an auth plugin without Keystone.

    keystoneauth reads a response of Keystone late, and without checks: raise CloudError if it is
    malformed.
    """
    session = connection.session
    if not hasattr(session.auth, 'get_access'):
        return None
    return find('Keystone', session.timeout, lambda: read(session.auth.get_access(session)))


def compute(owner: OwnerClient) -> OwnerRest:
    """Log in, and return Nova's API for the owner."""
    return OwnerRest(_service('compute', 'Nova', owner))


def clouds_compute(clients: Clients, owners: OwnerRest) -> OperatorRest:
    """Log in, and return Nova's API for the operator; ``owners`` without operator credentials."""
    if not clients.has_operator:
        return OperatorRest(owners)
    return OperatorRest(_service('compute', 'Nova', clients.operator))


def placement(cloud: OperatorClient) -> OperatorRest:
    """Log in, and return Placement's API for the operator."""
    return OperatorRest(_service('placement', 'Placement', cloud))


def image(owner: OwnerClient) -> OwnerRest:
    """Log in, and return Glance's API for the owner."""
    return OwnerRest(_service('image', 'Glance', owner))


def identity(owner: OwnerClient) -> OwnerRest:
    """Log in, and return Keystone's API for the owner."""
    return OwnerRest(_service('identity', 'Keystone', owner))


def clustering(owner: OwnerClient) -> OwnerRest:
    """Log in, and return Senlin's API for the owner."""
    return OwnerRest(_service('clustering', 'Senlin', owner))


def has_clustering(owner: OwnerClient) -> bool:
    """Check whether clouds.yaml or the catalog has Senlin's endpoint; True without a catalog."""
    connection = owner.connection
    login.log_in(connection, owner.timeout or REQUEST_TIMEOUT)

    def has_endpoint(access: Any) -> bool:
        known = access.service_catalog.get_endpoints_data(service_type='clustering')
        return any(known.values())

    has = _of_token(connection, has_endpoint)
    return has is not False or bool(connection.config.get_endpoint('clustering'))


def project(owner: OwnerClient) -> tuple[str | None, str | None]:
    """Return the id and the name of the token's project; None for one that it lacks.

    The name is also None for an auth plugin without Keystone.
    """
    login.log_in(owner.connection, owner.timeout or REQUEST_TIMEOUT)
    found = _of_token(owner.connection, lambda access: (access.project_id, access.project_name))
    return found or (ids(owner)[1], None)


def ids(owner: OwnerClient) -> tuple[str | None, str | None]:
    """Return the ids of the token's user and project; None for one that it lacks."""
    session = owner.connection.session
    return find(
        'Keystone', session.timeout, lambda: (session.get_user_id(), session.get_project_id())
    )


def connect(cloud: str | None = None, timeout: float | None = None) -> Connection:
    """Connect to a cloud of clouds.yaml; None: to the one that the environment names.

    Raise CloudError for an unknown cloud and invalid options. On success, log openstacksdk's
    warnings.

    :param timeout: the ``api_timeout``; None: that of clouds.yaml.
    """
    options = {} if timeout is None else {'api_timeout': timeout}
    with _kept_warnings() as warned:
        try:
            connection = openstack.connect(cloud=cloud, **options)
            _ = connection.session  # created on first access, which reads further options
        except NO_ANSWER as error:
            why = ' '.join((error_text(error), *(() if warned else _hint(cloud, error))))
            why = '; '.join((*warned, why))
            raise CloudError(f'could not connect to the cloud: {why}') from error
        except _ODD_VALUE as error:
            why = f'clouds.yaml, or the environment, has a value of the wrong type: {error}'
            raise CloudError(f'could not connect to the cloud: {why}') from error
    for warning in warned:
        LOG.warning('%s', warning)
    return connection


@contextlib.contextmanager
def _kept_warnings() -> Iterator[dict[str, None]]:
    """Collect openstacksdk's warnings about its files as keys of a dict; do not log them."""
    kept: dict[str, None] = {}

    def keep(record: logging.LogRecord) -> bool:
        kept.setdefault(one_line(record.getMessage()))
        return False

    logger = logging.getLogger('openstack.config')
    level = logger.level
    logger.setLevel(logging.WARNING)
    logger.addFilter(keep)
    try:
        yield kept
    finally:
        logger.removeFilter(keep)
        logger.setLevel(level)


def _hint(cloud: str | None, error: Exception) -> Iterator[str]:
    """Yield a hint for MissingRequiredOptions, then one for a named cloud that clouds.yaml lacks.

    "Did you mean prod?", else "Known: dev, lab." (the first ten), else that no cloud is defined.
    """
    if isinstance(error, MissingRequiredOptions):
        yield '(set them in clouds.yaml, or as variables such as OS_AUTH_URL)'
    with contextlib.suppress(*NO_ANSWER):
        names = sorted({*OpenStackConfig().get_cloud_names()} - {'defaults', 'envvars'})
        if cloud is not None and cloud not in names:
            near, known = nearest(cloud, names), ', '.join(names[:10])
            yield f'Did you mean {near}?' if near else f'Known: {known}.' if known else _NO_CLOUDS
