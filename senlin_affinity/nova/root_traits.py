"""Compute the traits that the root provider of a host must have.

Nova 34 also requires ``OWNER_NOVA``, which nova-compute adds to its provider, once every compute
service is new enough to do so. Versions of compute services are not visible.

Source: Nova's request filters (Nova 34), which add to ``root_required``: accelerators, packed
virtio rings, encrypted disks, sound, the owner of a TPM's secret and, depending on nova.conf, the
disk format and the devices of an image. Only Nova 34 and later require the owner of a TPM's secret:
it is required here if any host has such a trait.
"""

from __future__ import annotations

from senlin_affinity.model.host import Host
from senlin_affinity.model.option import Option
from senlin_affinity.model.request import ResolvedRequest
from senlin_affinity.nova import flavor_features as features
from senlin_affinity.nova import image_traits
from senlin_affinity.nova.options import IMAGE_METADATA, IMAGE_TYPES

#: The trait that nova-compute adds to its own provider.
OWNER = 'OWNER_NOVA'


def required(resolved: ResolvedRequest) -> frozenset[str]:
    """Return all traits that the root provider must have."""
    asked, secret = resolved.demand, _tpm_secret(resolved)
    traits = set(asked.root_required if asked is not None else ())
    if secret is not None and _has_tpm_secrets(resolved):
        traits.add(secret)
    for option in (IMAGE_TYPES, IMAGE_METADATA):
        if resolved.option(option):
            traits |= of_image(resolved, option)
    return frozenset(traits)


def may_lack_owner(resolved: ResolvedRequest, host: Host) -> bool:
    """Check whether Nova may require ``OWNER_NOVA``, which other hosts have and this one lacks."""
    is_lacking = bool(host.traits) and OWNER not in host.traits
    return is_lacking and resolved.memo(are_some_owned)


def are_some_owned(resolved: ResolvedRequest) -> bool:
    """Check whether any host has ``OWNER_NOVA``."""
    kinds = {host.traits for host in resolved.snapshot.hosts or ()}
    return any(OWNER in traits for traits in kinds)


def of_image(resolved: ResolvedRequest, option: Option) -> set[str]:
    """Return the traits that the image requires if this option of nova.conf is on."""
    if option == IMAGE_TYPES:
        return image_traits.of_disk_format(disk_format(resolved))
    return image_traits.of_properties(resolved.image_properties or {})


def disk_format(resolved: ResolvedRequest) -> str | None:
    """Return the image's disk format; '' for volume-booted servers, None if unknown."""
    image = resolved.request.image
    if resolved.request.is_volume_booted:
        return ''
    return None if image is None else image.disk_format


def is_open(resolved: ResolvedRequest) -> bool:
    """Check whether Nova may require a trait that cannot be determined from a known image."""
    return is_format_open(resolved) or is_tpm_secret_open(resolved)


def is_format_open(resolved: ResolvedRequest) -> bool:
    """Check whether Nova requires an unknown disk format of an otherwise known image."""
    is_asked = resolved.image_properties is not None and resolved.option(IMAGE_TYPES)
    return bool(is_asked) and disk_format(resolved) is None


def is_tpm_secret_open(resolved: ResolvedRequest) -> bool:
    """Check whether the flavor has a TPM, and it is unknown whether Nova requires its owner."""
    return _tpm_secret(resolved) is not None and not _has_tpm_secrets(resolved)


def _tpm_secret(resolved: ResolvedRequest) -> str | None:
    if resolved.flavor is None:
        return None
    asked = features.Asked(resolved.flavor.extra_specs, resolved.image_properties)
    return features.tpm_secret(asked)


def _has_tpm_secrets(resolved: ResolvedRequest) -> bool:
    """Check whether any host has a trait for the owner of a TPM's secret."""
    kinds = {host.traits for host in resolved.snapshot.hosts or ()}
    return any(not features.TPM_SECRETS.isdisjoint(traits) for traits in kinds)
