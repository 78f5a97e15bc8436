"""The options of nova.conf that change Nova's queries, or its checks of server groups."""

from __future__ import annotations

from senlin_affinity.model.option import Option

ISOLATION = Option(
    'is_isolation_enforced',
    False,
    'Whether aggregates with the metadata trait:<trait>=required accept only servers that require '
    'this trait.',
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
    'Whether Nova rejects the servers of a project that no aggregate names under '
    'filter_tenant_id*.',
    'placement_aggregate_required_for_tenants',
    'scheduler',
    nova='scheduler',
)
IMAGE_TYPES = Option(
    'are_image_types_asked',
    False,
    'Whether Nova requests only hosts that support the disk format of the image. Use the value in '
    'section [scheduler] of nova.conf.',
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
    'Whether Nova skips the second query (VCPU instead of PCPU) for servers with pinned CPUs. Use '
    'the value in section [workarounds] of nova.conf.',
    'disable_fallback_pcpu_query',
    nova='workarounds',
)
NO_LATE_CHECK = Option(
    'disable_group_policy_check_upcall',
    False,
    'Whether compute hosts skip the late check of server groups. Use the value in section '
    '[workarounds] of nova.conf.',
    nova='workarounds',
)
