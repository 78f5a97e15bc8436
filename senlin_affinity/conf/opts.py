"""The options of ``[affinity]``, declared once for Senlin's engine and for the sample file.

Shapes::

    [affinity]
    request_timeout = 60
    drs_pattern = drs
    group_name_prefix = senlin-affinity-

Units: ``request_timeout`` is in seconds; 0 is not allowed, so that no request waits for ever.

Source: ``drs_pattern`` is document 003's "DRS host": the word that a hypervisor's name contains.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oslo_config import cfg

from senlin_affinity.core.objects import Rules
from senlin_affinity.policy.affinity import GROUP_NAME_PREFIX

GROUP = cfg.OptGroup(
    'affinity',
    title='Affinity policy',
    help='How the affinity policy of senlin-affinity talks to the cloud.',
)

OPTIONS: tuple[Any, ...] = (
    cfg.FloatOpt(
        'request_timeout',
        default=60,
        min=0.1,
        help='Seconds to wait for one answer of Nova, Placement or Senlin.',
    ),
    cfg.StrOpt(
        'drs_pattern',
        default=Rules.drs_pattern,
        regex=r'\S',
        help='What the name of a vSphere DRS host contains, ignoring case.',
    ),
    cfg.StrOpt(
        'group_name_prefix',
        default=GROUP_NAME_PREFIX,
        help='How the name of a created server group begins when the spec names none.',
    ),
)


def register(conf: Any) -> Any:
    """Make ``conf.affinity`` known to a ``ConfigOpts``, and return that group; twice is fine."""
    conf.register_group(GROUP)
    conf.register_opts(OPTIONS, group=GROUP)
    return conf.affinity


def list_opts() -> list[tuple[Any, Sequence[Any]]]:
    """Answer oslo-config-generator: the groups and their options."""
    return [(GROUP, list(OPTIONS))]
