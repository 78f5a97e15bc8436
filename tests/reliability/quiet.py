"""Keeps the libraries of a process quiet: what fails there is what is asked for."""

import logging
import warnings


def down() -> None:
    """No warnings, and nothing of theirs in the log."""
    warnings.simplefilter('ignore')
    for name in ('keystoneauth', 'senlin', 'openstack'):
        logging.getLogger(name).setLevel(logging.CRITICAL)
