"""The traits that the provider of a host itself must have, whichever providers give the rest.

Source: Nova's request filters (Nova 34), which put them into ``root_required``: of accelerators,
rings of virtio, encrypted disks, sound, the owners of a TPM's secret, and, where nova.conf says so,
the disk format and the devices of an image. Nova has asked for the owner of a TPM's secret only
since its release 34: it is required where a host has such a trait.
"""

from __future__ import annotations

from senlin_affinity.core import flavor_features as features
from senlin_affinity.core import image_traits
from senlin_affinity.core.nova_options import IMAGE_METADATA, IMAGE_TYPES
from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.options import Option


def required(resolved: ResolvedRequest) -> frozenset[str]:
    """All of them."""
    asked, secret = resolved.demand, _tpm_secret(resolved)
    traits = set(asked.root_required if asked is not None else ())
    if secret is not None and _has_tpm_secrets(resolved):
        traits.add(secret)
    for option in (IMAGE_TYPES, IMAGE_METADATA):
        if resolved.option(option):
            traits |= of_image(resolved, option)
    return frozenset(traits)


def of_image(resolved: ResolvedRequest, option: Option) -> set[str]:
    """What the image requires where this option of nova.conf is on."""
    if option == IMAGE_TYPES:
        return image_traits.of_disk_format(disk_format(resolved))
    return image_traits.of_properties(resolved.image_properties or {})


def disk_format(resolved: ResolvedRequest) -> str | None:
    """The image's; '' where the servers need none, None where it is not known."""
    image = resolved.request.image
    if resolved.request.is_volume_booted:
        return ''
    return None if image is None else image.disk_format


def is_open(resolved: ResolvedRequest) -> bool:
    """May Nova require one that is not known, of whatever image is known?"""
    return is_format_open(resolved) or is_tpm_secret_open(resolved)


def is_format_open(resolved: ResolvedRequest) -> bool:
    """Does Nova ask for a disk format that is not known, of an image that is?"""
    is_asked = resolved.image_properties is not None and resolved.option(IMAGE_TYPES)
    return bool(is_asked) and disk_format(resolved) is None


def is_tpm_secret_open(resolved: ResolvedRequest) -> bool:
    """Is a TPM asked for, and not known whether Nova asks who owns its secret?"""
    return _tpm_secret(resolved) is not None and not _has_tpm_secrets(resolved)


def _tpm_secret(resolved: ResolvedRequest) -> str | None:
    if resolved.flavor is None:
        return None
    asked = features.Asked(resolved.flavor.extra_specs, resolved.image_properties)
    return features.tpm_secret(asked)


def _has_tpm_secrets(resolved: ResolvedRequest) -> bool:
    """Is this a Nova whose hosts say who owns the secrets of TPMs?"""
    kinds = {host.traits for host in resolved.snapshot.hosts or ()}
    return any(not features.TPM_SECRETS.isdisjoint(traits) for traits in kinds)
