"""Provide the commands as ``openstack affinity ...`` (an osc-lib plugin).

The entry-point group ``openstack.affinity.v1`` lists the commands.
"""

from __future__ import annotations

import argparse
from typing import Any

DEFAULT_API_VERSION = '1'
API_VERSION_OPTION = 'os_affinity_api_version'
API_NAME = 'affinity'
API_VERSIONS = {'1': 'senlin_affinity.cli.osc'}


def make_client(instance: Any) -> Any:
    """Return the ``openstack.connection.Connection`` for ``client_manager.affinity``."""
    if getattr(instance, 'sdk_connection', None) is None:
        # "openstack" loads the authentication plugin only for commands that need a cloud.
        instance._auth_required = True
        instance.setup_auth()
    return instance.sdk_connection


def build_option_parser(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the API version option, which every plugin of ``openstack`` has."""
    parser.add_argument(
        '--os-affinity-api-version',
        metavar='<affinity-api-version>',
        default=DEFAULT_API_VERSION,
        choices=sorted(API_VERSIONS),
        help='the version of the affinity commands (default: %(default)s)',
    )
    return parser
