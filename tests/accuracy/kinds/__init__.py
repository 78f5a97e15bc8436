"""The kinds of clouds: functions that generate a case from a seed."""

from tests.accuracy.case import Generator
from tests.accuracy.kinds import (
    hints,
    images,
    keys,
    members,
    options,
    plain,
    refused,
    reserved,
    resources,
    stale,
    tenants,
    trees,
    unmodelled,
    zones,
)

KINDS: dict[str, Generator] = {
    'plain': plain.case,
    'projects': tenants.projects,
    'user quotas': tenants.user_quotas,
    'quota counting': tenants.quota_counting,
    'images': images.case,
    'filters': options.case,
    'reserved': reserved.case,
    'nested': trees.nested,
    'granular': trees.granular,
    'shared disk': trees.shared_disk,
    'ratios': resources.ratios,
    'custom classes': resources.custom_classes,
    'members': members.case,
    'hints': hints.case,
    'stale': stale.case,
    'remedies': refused.case,
    'closed zones': zones.closed,
    'spread': zones.spread,
    'unmodelled filters': unmodelled.case,
    'unscoped keys': keys.unscoped,
    'rejected queries': keys.rejected,
    'degenerate keys': keys.degenerate,
}
