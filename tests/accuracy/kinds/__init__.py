"""The kinds of clouds, each a function that makes a case from a seed."""

from tests.accuracy.case import Generator
from tests.accuracy.kinds import (
    images,
    members,
    options,
    plain,
    refused,
    resources,
    stale,
    tenants,
    trees,
)

KINDS: dict[str, Generator] = {
    'plain': plain.case,
    'projects': tenants.projects,
    'user quotas': tenants.user_quotas,
    'images': images.case,
    'filters': options.case,
    'nested': trees.nested,
    'granular': trees.granular,
    'shared disk': trees.shared_disk,
    'ratios': resources.ratios,
    'custom classes': resources.custom_classes,
    'members': members.case,
    'stale': stale.case,
    'remedies': refused.case,
}
