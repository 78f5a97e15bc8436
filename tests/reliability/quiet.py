"""Keeps the libraries of a process quiet: what fails there is what is asked for."""

import logging
import warnings

import senlin.drivers.sdk  # noqa: F401 - has openstacksdk log to stdout, so it is the first


def down() -> None:
    """No warnings, and nothing of theirs in the log."""
    warnings.simplefilter('ignore')
    for name in ('keystoneauth', 'senlin', 'openstack', 'oslo_db'):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # Ours is listened to; without a handler it would go to stderr.
    logging.getLogger('senlin_affinity').addHandler(logging.NullHandler())
