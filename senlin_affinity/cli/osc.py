"""Makes the commands known to ``openstack affinity ...`` (an osc-lib plugin).

The commands are found in the entry-point group ``openstack.affinity.v1``; the client is the
connection that ``openstack`` has made itself.

Source: osc-lib's "Plugins" page, which names the attributes and functions of this module.
"""

from __future__ import annotations

import argparse
from typing import Any

DEFAULT_API_VERSION = '1'
API_VERSION_OPTION = 'os_affinity_api_version'
API_NAME = 'affinity'
API_VERSIONS = {'1': 'senlin_affinity.cli.osc'}


def make_client(instance: Any) -> Any:
    """Return what ``client_manager.affinity`` is: an ``openstack.connection.Connection``."""
    if getattr(instance, 'sdk_connection', None) is None:
        # A command here needs no cloud before it asks for one, and then "openstack" has not loaded
        # how to log in.
        instance._auth_required = True
        instance.setup_auth()
    return instance.sdk_connection


def build_option_parser(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the option that every plugin of ``openstack`` has."""
    parser.add_argument(
        '--os-affinity-api-version',
        metavar='<affinity-api-version>',
        default=DEFAULT_API_VERSION,
        choices=sorted(API_VERSIONS),
        help='the version of the affinity commands (default: %(default)s)',
    )
    return parser
