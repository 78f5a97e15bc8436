"""Compute the traits that the root provider of a host must have.

Source: Nova's request filters (Nova 34), which add to ``root_required``: accelerators, packed
virtio rings, encrypted disks, sound, the owner of a TPM's secret and, depending on nova.conf, the
disk format and the devices of an image. Earlier releases do not require the owner of a TPM's
secret: it is required here if any host has such a trait. Nova 34 also requires ``OWNER_NOVA`` once
every compute service is new enough to have it, which is not visible.
"""

from __future__ import annotations

from senlin_affinity.model.option import Option
from senlin_affinity.model.request import Request
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.nova import image_traits
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.flavor_features import Asked
from senlin_affinity.nova.options import IMAGE_METADATA, IMAGE_TYPES

#: The trait that nova-compute adds to its own provider.
OWNER = 'OWNER_NOVA'
_TPM_SECRET = 'COMPUTE_SECURITY_TPM_SECRET_SECURITY_'
#: The owners of a TPM's secret.
TPM_SECRETS = frozenset(f'{_TPM_SECRET}{owner}' for owner in ('USER', 'HOST', 'DEPLOYMENT'))


def required(request: Request, cloud: CloudSnapshot) -> frozenset[str]:
    """Return all traits that the root provider must have."""
    asked, secret = demand_of(request), _tpm_secret(request)
    traits = set(asked.root_required if asked is not None else ())
    if secret is not None and not TPM_SECRETS.isdisjoint(request.memo(of_hosts, cloud)):
        traits.add(secret)
    for option in (IMAGE_TYPES, IMAGE_METADATA):
        if request.option(option):
            traits |= of_image(request, option)
    return frozenset(traits)


def of_hosts(request: Request, cloud: CloudSnapshot) -> frozenset[str]:
    """Return the traits that any host has."""
    return cloud.traits_of_hosts


def of_image(request: Request, option: Option) -> set[str]:
    """Return the traits that the image requires if this option of nova.conf is on."""
    if option == IMAGE_TYPES:
        name = (disk_format(request) or '').upper()
        return {f'COMPUTE_IMAGE_TYPE_{name}'} if name in image_traits.FORMATS else set()
    return image_traits.of_properties(request.image_properties or {})


def disk_format(request: Request) -> str | None:
    """Return the image's disk format; '' for volume-booted servers, None if unknown."""
    image = request.image
    if request.is_volume_booted:
        return ''
    return None if image is None else image.disk_format


def is_open(request: Request, cloud: CloudSnapshot) -> bool:
    """Check whether Nova may require a trait that cannot be determined from a known image."""
    if is_tpm_secret_open(request, cloud):
        return True
    is_asked = request.image_properties is not None and request.option(IMAGE_TYPES)
    return bool(is_asked) and disk_format(request) is None


def is_tpm_secret_open(request: Request, cloud: CloudSnapshot) -> bool:
    """Check whether the flavor has a TPM, and it is unknown whether Nova requires its owner."""
    is_unknown = TPM_SECRETS.isdisjoint(request.memo(of_hosts, cloud))
    return is_unknown and _tpm_secret(request) is not None


def _tpm_secret(request: Request) -> str | None:
    if request.flavor is None:
        return None
    asked = Asked(request.flavor.extra_specs, request.image_properties)
    owner = asked.specs.get('hw:tpm_secret_security') or 'user'
    return f'{_TPM_SECRET}{owner.upper()}' if asked.value('hw:tpm_version') else None
