"""Silence the libraries of a process, because their failures are expected."""

import logging
import warnings

import senlin.drivers.sdk  # noqa: F401 - openstacksdk then logs to stdout, so import it first


def down() -> None:
    """Suppress warnings and log messages of libraries."""
    warnings.simplefilter('ignore')
    for name in ('keystoneauth', 'senlin', 'openstack', 'oslo_db'):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # Our log is recorded; without a handler it would go to stderr.
    logging.getLogger('senlin_affinity').addHandler(logging.NullHandler())
