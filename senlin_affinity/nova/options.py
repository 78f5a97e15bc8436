"""The options of nova.conf that change Nova's queries to Placement; constraints declare them.

Source: nova.conf's ``[scheduler]`` and ``[workarounds]``, with Nova's own defaults.
"""

from __future__ import annotations

from senlin_affinity.model.option import Option

ISOLATION = Option(
    'is_isolation_enforced',
    False,
    'Whether Nova excludes servers that do not require the trait from aggregates with '
    'trait:<trait>=required.',
    'enable_isolated_aggregate_filtering',
    'scheduler',
    nova='scheduler',
)
TENANTS = Option(
    'are_tenants_limited',
    False,
    'Whether Nova restricts the servers of a project to the aggregates that have the id of the '
    'project in their metadata, under filter_tenant_id*.',
    'limit_tenants_to_placement_aggregate',
    'scheduler',
    nova='scheduler',
)
TENANT_AGGREGATE = Option(
    'is_tenant_aggregate_required',
    False,
    'Whether a project without such an aggregate cannot have servers.',
    'placement_aggregate_required_for_tenants',
    'scheduler',
    nova='scheduler',
)
IMAGE_TYPES = Option(
    'are_image_types_asked',
    False,
    'Whether Nova requests only hosts that support the disk format of the image; as in '
    "nova.conf's [scheduler].",
    'query_placement_for_image_type_support',
    nova='scheduler',
)
IMAGE_METADATA = Option(
    'are_image_models_asked',
    False,
    'Whether Nova requests only hosts that support the buses, the models and the architecture '
    'of the image. Use the value in section [scheduler] of nova.conf.',
    'image_metadata_prefilter',
    nova='scheduler',
)
ROUTED = Option(
    'are_segments_asked',
    False,
    "Whether Nova requests only hosts in the segments of the servers' networks. Use the value in "
    'section [scheduler] of nova.conf.',
    'query_placement_for_routed_network_aggregates',
    nova='scheduler',
)
FALLBACK_OFF = Option(
    'is_pinning_strict',
    False,
    'Whether Nova does not send its second query for servers with pinned CPUs, with VCPU '
    "instead of PCPU; as in nova.conf's [workarounds].",
    'disable_fallback_pcpu_query',
    nova='workarounds',
)
NO_LATE_CHECK = Option(
    'disable_group_policy_check_upcall',
    False,
    "Whether compute hosts do not perform the late check of server groups; as in nova.conf's "
    '[workarounds].',
    nova='workarounds',
)
