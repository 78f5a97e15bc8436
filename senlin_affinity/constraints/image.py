"""Reject an image that is not active, or that is too large for the flavor.

Units: ``min_ram`` is in MiB, ``min_disk`` and ``disk`` are in GiB, the size of an image in bytes
(in the facts, in GiB).

Source: Nova's API checks this when it creates a server, and answers 400.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import ClassVar

from senlin_affinity.constraints.base import (
    Assumption,
    Change,
    Constraint,
    Evaluated,
    Kind,
    OneOf,
    Reason,
    Request,
    Verdict,
)
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.verdict import tenant_reason
from senlin_affinity.nova.alternatives import flavor_change, larger_flavors
from senlin_affinity.scenario.scenario import Scenario

_GIB = 1024**3
_ACTIVE = 'active'
_MOST_LARGER = 3
MINIMUM = Assumption('image.minimum', 'an image without min_ram and min_disk')
ZERO_DISK = Assumption(
    'image.zero_disk', 'that Nova lets the user boot an image with a flavor of disk 0'
)


class ImageConstraint(Constraint):
    """The requirements of the image on the flavor."""

    name = 'image'
    order = 890
    summary = 'the flavor has the memory and the disk that the image requires'
    needs = ('flavors',)
    is_unresolvable = True
    reasons: ClassVar[Mapping[str, Reason]] = {
        'image.fits': Reason('the flavor is large enough for the image'),
        'image.not_active': tenant_reason(
            'the image is {status}, and Nova answers 400', advice='use an image that is active'
        ),
        'image.min_ram': tenant_reason(
            'the image requires {min_ram} MiB of memory, but the flavor has {ram}: Nova answers '
            '400',
            advice='use a flavor with the memory that the image requires',
        ),
        'image.min_disk': tenant_reason(
            'the image requires a disk of {min_disk} GB, but the flavor has {disk}: Nova answers '
            '400',
            advice='use a flavor with the disk that the image requires, or boot from a volume',
        ),
        'image.size': tenant_reason(
            'the image has {size} GB, but the disk of the flavor has {disk}: Nova answers 400',
            advice='use a flavor with a disk that holds the image, or boot from a volume',
        ),
        'image.not_told': Reason('the image is not specified'),
        'image.unknown': Reason('the flavor is not known'),
    }

    def check_request(self, request: Request, cloud: Cloud) -> Verdict:
        """Reject an image: ``not_active``, else ``min_ram``, else ``size``, else ``min_disk``.

        Otherwise PASS ``fits``. SKIP ``not_told`` without an image; ``unknown`` for an active image
        without a flavor. A flavor disk of 0 and a boot from volume skip the checks of the disk.
        """
        image, flavor = request.image, request.flavor
        if image is None:
            return Verdict.skipped('image.not_told')
        if image.status != _ACTIVE:
            return Verdict.rejected('image.not_active', status=image.status)
        if flavor is None:
            return Verdict.unknown('image.unknown')
        if image.min_ram > flavor.ram:
            return Verdict.rejected('image.min_ram', min_ram=image.min_ram, ram=flavor.ram)
        if flavor.disk and not request.is_volume_booted:
            if image.size > flavor.disk * _GIB:
                size = -(-image.size // _GIB)
                return Verdict.rejected('image.size', size=size, disk=flavor.disk)
            if image.min_disk > flavor.disk:
                facts = {'min_disk': image.min_disk, 'disk': flavor.disk}
                return Verdict.rejected('image.min_disk', **facts)
        return Verdict.passed('image.fits')

    def proposals(
        self, request: Request, scenario: Scenario, evaluation: Evaluated
    ) -> Iterator[Change]:
        """Yield a OneOf of up to three flavors that are large enough, perhaps none, smallest first.

        Nothing unless the image rejects the request.
        """
        cloud = scenario.cloud
        verdict = evaluation.verdict
        if verdict is None or verdict:
            return
        larger = larger_flavors(cloud.flavors or (), request.flavor)
        enough = (
            flavor
            for flavor in larger
            if self.check_request(replace(request, flavor=flavor), cloud)
        )
        choices = tuple(map(flavor_change, islice(enough, _MOST_LARGER)))
        wanted = request.count
        yield OneOf('flavor', '', size=wanted, kind=Kind.REQUESTER, choices=choices)

    def assumptions(self, request: Request, cloud: Cloud) -> Iterator[Assumption]:
        """Yield MINIMUM if only properties of the image are known, and there are some.

        ZERO_DISK for a flavor with disk 0, and no boot from a volume.
        """
        flavor = request.flavor
        if request.image is None and request.image_properties:
            yield MINIMUM
        if flavor is not None and flavor.disk == 0 and not request.is_volume_booted:
            yield ZERO_DISK
