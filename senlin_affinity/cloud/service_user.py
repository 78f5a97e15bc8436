"""Connect with the operator's credentials, from Senlin's configuration.

``auth_section`` of ``[senlin_affinity_cloud]`` may name another group for the credentials, with
keystoneauth's options, or Senlin's ``[authentication]`` with its own. The options of the session
(``cafile``) and ``region_name`` are always those of the group itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keystoneauth1 import exceptions, identity, loading
from openstack.config import cloud_region
from openstack.connection import Connection
from oslo_config import cfg

from senlin_affinity.cloud import transport
from senlin_affinity.cloud.transport import error_text
from senlin_affinity.model.errors import CloudError

GROUP = cfg.OptGroup(
    'senlin_affinity_cloud',
    title='Operator credentials',
    help='The read-only credentials with which the policy in Senlin reads hosts, services, '
    'aggregates and Placement. Without auth_type and auth_section, the policy uses the credentials '
    "of each cluster's owner, which cannot list hosts if the owner is a tenant. auth_section = "
    "authentication selects Senlin's own service user, from Senlin's group [authentication].",
)
_SENLINS = 'authentication'
_OF_ADAPTERS = ('region_name', 'valid_interfaces')


def options() -> list[Any]:
    """Return the options of the group: credentials, session and service discovery."""
    of_adapters = loading.get_adapter_conf_options(include_deprecated=False)
    return [
        *loading.get_auth_common_conf_options(),
        *loading.get_session_conf_options(),
        *(option for option in of_adapters if option.dest in _OF_ADAPTERS),
    ]


def list_opts() -> list[tuple[Any, Sequence[Any]]]:
    """Return the options for oslo-config-generator, with those of ``auth_type = password``."""
    return [(GROUP, [*options(), *loading.get_auth_plugin_conf_options('password')])]


def section(conf: Any) -> str | None:
    """Register the options, and return the name of the group with the credentials.

    ``auth_section``, or 'senlin_affinity_cloud' if it has an ``auth_type``; None without both.
    """
    conf.register_opts(options(), group=GROUP.name)
    named = conf[GROUP.name].auth_section
    return named or (GROUP.name if conf[GROUP.name].auth_type else None)


def connect(conf: Any, timeout: float, largest: int, region: str | None = None) -> Connection:
    """Return a read-only connection with the configured credentials; no request is sent.

    Raise CloudError if they are missing or invalid.

    :param timeout: seconds for which a service may be silent, if the group has no timeout.
    :param largest: the maximum size of a response in MiB.
    :param region: the region if the group has no ``region_name``.
    """
    named = section(conf)
    try:
        if named == _SENLINS:
            login = _senlins(conf)
        else:
            loading.register_auth_conf_options(conf, GROUP.name)
            login = loading.load_auth_from_conf_options(conf, GROUP.name)
        if login is None:
            raise ValueError('its auth_section has no auth_type')
        session = loading.load_session_from_conf_options(conf, GROUP.name, auth=login)
    except (exceptions.ClientException, cfg.Error, ValueError) as error:
        raise CloudError(
            f'[{GROUP.name}] defines no valid credentials: {error_text(error)}'
        ) from error
    if session.timeout is None:
        session.timeout = timeout
    transport.bound(session, largest, is_read_only=True)
    group = conf[GROUP.name]
    # auth_url is for messages only.
    more: dict[str, Any] = {'auth': {'auth_url': getattr(session.auth, 'auth_url', None)}}
    if group.valid_interfaces:
        more['interface'] = group.valid_interfaces
    return Connection(
        config=cloud_region.from_session(session, region_name=group.region_name or region, **more)
    )


def _senlins(conf: Any) -> Any:
    """Return the credentials of Senlin's service user."""
    group = conf[_SENLINS]
    return identity.V3Password(
        group.auth_url,
        username=group.service_username,
        password=group.service_password,
        project_name=group.service_project_name,
        user_domain_name=group.service_user_domain,
        project_domain_name=group.service_project_domain,
    )
