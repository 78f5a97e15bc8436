"""The options, declared once for Senlin's engine, for the commands and for the sample file.

Shapes::

    [affinity]
    request_timeout = 60
    drs_pattern = drs
    group_name_prefix = senlin-affinity-
    enabled_filters = ComputeFilter,AggregateInstanceTypeFilter

    [scheduler]
    placement_req_required_member_prefix = reservation:
    placement_req_default_forbidden_member_prefix = reservation:,licence:

Units: ``request_timeout`` is in seconds; 0 is not allowed, so that no request waits for ever. It is
the silence of a service; the deadline of a request, and of a log-in, is three of them.

Source: ``drs_pattern`` is document 003's "DRS host": the word that a hypervisor's name contains.
``[scheduler]`` has the two prefixes of document 001 (R1-30, R1-40), and three options of nova.conf
under their names there. Senlin has no group of that name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oslo_config import cfg

from senlin_affinity.core.objects import DEFAULT_FILTERS, Rules
from senlin_affinity.policy.affinity import GROUP_NAME_PREFIX

AFFINITY = cfg.OptGroup(
    'affinity',
    title='Affinity policy',
    help='How the affinity policy of senlin-affinity talks to the cloud.',
)

SCHEDULER = cfg.OptGroup(
    'scheduler',
    title='Reserved, isolated and tenant aggregates',
    help='Which aggregates are kept for some: the policy and the preflight keep to it. '
    'The last three must be what nova.conf says in its own [scheduler].',
)

AFFINITY_OPTIONS: tuple[Any, ...] = (
    cfg.FloatOpt(
        'request_timeout',
        default=60,
        min=0.1,
        help='Seconds that Keystone, Nova, Placement or Glance may be silent. A log-in, the search '
        'for a service, and a request with all of its answer end after three times as long.',
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
    cfg.ListOpt(
        'enabled_filters',
        default=list(DEFAULT_FILTERS),
        help='What nova.conf has as enabled_filters in its [filter_scheduler]: the preflight '
        'refuses nothing for a filter that does not run.',
    ),
    cfg.BoolOpt(
        'serve_version_1_0',
        default=False,
        help='Whether this policy also serves senlin.policy.affinity-1.0, in place of the policy '
        'that Senlin brings: its specs, and the clusters that it is attached to. It must be the '
        'same on all engines and conductors, which read it when they start.',
    ),
)
SCHEDULER_OPTIONS: tuple[Any, ...] = (
    cfg.StrOpt(
        'placement_req_required_member_prefix',
        help='How the metadata keys of reservations begin. A flavor or an image with such a key '
        'goes only to hosts of an aggregate that carries the same key.',
    ),
    cfg.ListOpt(
        'placement_req_default_forbidden_member_prefix',
        help='How the metadata keys begin that keep an aggregate free of every server whose '
        'flavor and image have no key that begins like that.',
    ),
    cfg.BoolOpt(
        'enable_isolated_aggregate_filtering',
        default=Rules.is_isolation_enforced,
        help='Whether Nova keeps aggregates with trait:<trait>=required free of servers that do '
        'not require the trait.',
    ),
    cfg.BoolOpt(
        'limit_tenants_to_placement_aggregate',
        default=Rules.are_tenants_limited,
        help='Whether Nova keeps the servers of a project in the aggregates that have the id of '
        'the project in their metadata, under filter_tenant_id*.',
    ),
    cfg.BoolOpt(
        'placement_aggregate_required_for_tenants',
        default=Rules.is_tenant_aggregate_required,
        help='Whether a project without such an aggregate may have no servers at all.',
    ),
)

GROUPS: tuple[tuple[Any, tuple[Any, ...]], ...] = (
    (AFFINITY, AFFINITY_OPTIONS),
    (SCHEDULER, SCHEDULER_OPTIONS),
)


def register(conf: Any) -> Any:
    """Make all options known to a ``ConfigOpts``; ``conf.affinity`` goes out. Twice is fine."""
    for group, options in GROUPS:
        # By its name: every ConfigOpts that a group object is registered with shares its values.
        conf.register_opts(options, group=group.name)
    return conf.affinity


def rules(conf: Any) -> Rules:
    """The values of the options that reach the constraints."""
    register(conf)
    scheduler = conf.scheduler
    return Rules(
        drs_pattern=conf.affinity.drs_pattern,
        required_member_prefix=scheduler.placement_req_required_member_prefix,
        forbidden_member_prefixes=tuple(
            scheduler.placement_req_default_forbidden_member_prefix or ()
        ),
        is_isolation_enforced=scheduler.enable_isolated_aggregate_filtering,
        are_tenants_limited=scheduler.limit_tenants_to_placement_aggregate,
        is_tenant_aggregate_required=scheduler.placement_aggregate_required_for_tenants,
    )


def list_opts() -> list[tuple[Any, Sequence[Any]]]:
    """Answer oslo-config-generator: the groups and their options."""
    return [(group, list(options)) for group, options in GROUPS]
