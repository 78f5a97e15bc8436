"""Declare the options of ``[affinity]`` that the plugins for Nova read from nova.conf.

The request filter has options of its own, with the names of its specification.
"""

from __future__ import annotations

from typing import Any

from oslo_config import cfg

GROUP = 'affinity'
OPTIONS: tuple[Any, ...] = (
    cfg.StrOpt(
        'aggregate_filter',
        default='enforce',
        choices=[
            ('enforce', 'rejects hosts'),
            (
                'log',
                'rejects no host, but logs which hosts it would reject, and on which hosts '
                "Nova's own filter differs",
            ),
        ],
        help='What AggregateInstanceTypeFilter does in nova-scheduler.',
    ),
    cfg.StrOpt(
        'aggregate_filter_on_error',
        default='reject',
        choices=[
            ('reject', 'rejects the host, so that no server violates the metadata'),
            ('pass', 'accepts the host, so that the failure prevents no server'),
        ],
        help='What happens to a host for which AggregateInstanceTypeFilter fails.',
    ),
    cfg.BoolOpt(
        'validate_extra_specs',
        default=True,
        help='Whether nova-api also uses the extra spec validators of senlin-affinity, and of the '
        'packages that register validators with senlin-affinity.',
    ),
)


cfg.CONF.register_opts(OPTIONS, group=GROUP)


def settings() -> Any:
    """Return the values of the options in nova.conf."""
    return cfg.CONF[GROUP]


def list_opts() -> list[tuple[str, list[Any]]]:
    """Return the options for oslo-config-generator."""
    return [(GROUP, [*OPTIONS])]
