"""Only a flavor that is large enough for the image, and an image that is ready.

Units: ``min_ram`` in MiB, ``min_disk`` and ``disk`` of a flavor in GiB; the size of an image in
bytes, and in whole GiB in the facts. A flavor whose disk is 0 is not held against it.

Source: Nova's API checks them when a server is asked for, and answers 400. The size of a volume is
checked by Cinder. Who may boot an image with a flavor of disk 0 is a policy of Nova's
(``create:zero_disk_flavor``, by default administrators only), which is not known: an assumption.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

from senlin_affinity.constraints.base import (
    Assumption,
    Change,
    Reason,
    Replanner,
    ResolvedRequest,
    Verdict,
)
from senlin_affinity.core.flavor import Flavor
from senlin_affinity.core.planning import other_flavors
from senlin_affinity.core.planning.decision import Kind
from senlin_affinity.core.reasons import own

_GIB = 1024**3
_ACTIVE = 'active'
#: Properties alone say nothing of it.
MINIMUM = Assumption('image.minimum', 'an image without min_ram and min_disk')
ZERO_DISK = Assumption(
    'image.zero_disk', 'that Nova lets the user boot an image with a flavor of disk 0'
)


class ImageConstraint:
    """What the image asks of the flavor."""

    name = 'image'
    order = 890
    summary = 'only a flavor with the memory and the disk that the image asks for'
    needs = ('flavors',)
    is_by_name = False
    is_by_resources = False
    is_lasting = True
    filters: tuple[str, ...] = ()
    reasons: ClassVar[Mapping[str, Reason]] = {
        'image.fits': Reason('the flavor is large enough for the image'),
        'image.not_active': own(
            'the image is {status}, and Nova answers 400', advice='use an image that is active'
        ),
        'image.min_ram': own(
            'the image asks for {min_ram} MiB of memory, the flavor has {ram}: Nova answers 400',
            advice='use a flavor with the memory that the image asks for',
        ),
        'image.min_disk': own(
            'the image asks for a disk of {min_disk} GB, the flavor has {disk}: Nova answers 400',
            advice='use a flavor with the disk that the image asks for, or boot from a volume',
        ),
        'image.size': own(
            'the image has {size} GB, the disk of the flavor {disk}: Nova answers 400',
            advice='use a flavor with a disk that holds the image, or boot from a volume',
        ),
        'image.not_told': Reason('nobody said which image it is'),
        'image.unknown': Reason('the flavor is not known'),
    }

    def check_request(self, resolved: ResolvedRequest) -> Verdict:
        """See :meth:`RequestConstraint.check_request`."""
        image, flavor = resolved.request.image, resolved.flavor
        if image is None:
            return Verdict.skipped('image.not_told')
        if image.status != _ACTIVE:
            return Verdict.rejected('image.not_active', status=image.status)
        if flavor is None:
            return Verdict.unknown('image.unknown')
        if image.min_ram > flavor.ram:
            return Verdict.rejected('image.min_ram', min_ram=image.min_ram, ram=flavor.ram)
        if flavor.disk and not resolved.request.is_volume_booted:
            if image.size > flavor.disk * _GIB:
                size = -(-image.size // _GIB)
                return Verdict.rejected('image.size', size=size, disk=flavor.disk)
            if image.min_disk > flavor.disk:
                facts = {'min_disk': image.min_disk, 'disk': flavor.disk}
                return Verdict.rejected('image.min_disk', **facts)
        return Verdict.passed('image.fits')

    def remedies(self, planner: Replanner) -> Iterator[Change]:
        """The flavor that is large enough, and hardly larger than that."""
        verdict = planner.now.request.get(self.name)
        if verdict is None or verdict or verdict.code == 'image.not_active':
            return

        def is_enough(flavor: Flavor) -> bool:
            return bool(self.check_request(replace(planner.resolved, flavor=flavor)))

        if (found := other_flavors.larger(planner, is_enough)) is not None:
            kind, size = Kind.ASKERS, planner.wanted
            yield planner.change('flavor', found[0], size, found[1], kind=kind)

    def assumptions(self, resolved: ResolvedRequest) -> Iterator[Assumption]:
        """What a few properties do not say of an image, and what Nova lets the user do."""
        request, flavor = resolved.request, resolved.flavor
        if request.image is None and request.image_properties:
            yield MINIMUM
        if flavor is not None and flavor.disk == 0 and not request.is_volume_booted:
            yield ZERO_DISK
