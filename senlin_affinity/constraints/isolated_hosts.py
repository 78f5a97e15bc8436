"""Reserve isolated hosts for isolated images, and isolated images for isolated hosts.

Source: Nova's IsolatedHostsFilter, which compares the ids of images.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from senlin_affinity.constraints.base import (
    Assumption,
    Constraint,
    Option,
    Reason,
    Request,
    Switch,
    Verdict,
)
from senlin_affinity.model import image as images
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.scenario.column import Column
from senlin_affinity.scenario.scenario import Scenario

_FILTER, _NOVA = 'IsolatedHostsFilter', 'filter_scheduler'
HOSTS = Option(
    'isolated_hosts',
    (),
    f'The hosts that {_FILTER} reserves for isolated images. Use the value in section '
    '[filter_scheduler] of nova.conf.',
    nova=_NOVA,
)
IMAGES = Option(
    'isolated_images',
    (),
    'The ids of the images that need isolated hosts. Use the value in section [filter_scheduler] '
    'of nova.conf.',
    nova=_NOVA,
)
IS_RESTRICTED = Option(
    'restrict_isolated_hosts_to_isolated_images',
    True,
    'Whether isolated hosts reject all other images. Use the value in section [filter_scheduler] '
    'of nova.conf.',
    nova=_NOVA,
)
NOTHING = Assumption('isolated_hosts.isolated_hosts', 'no isolated hosts or images')
NO_IMAGE = Assumption('isolated_hosts.image', 'an image that is not isolated')


class IsolatedHostsConstraint(Constraint):
    """The isolated hosts and images of nova.conf."""

    name = 'isolated_hosts'
    order = 78
    summary = 'isolated images use isolated hosts, and other images use other hosts'
    needs = ('hosts',)
    reads_flavor = ()
    filters = (_FILTER,)
    options = HOSTS, IMAGES, IS_RESTRICTED
    reasons: ClassVar[Mapping[str, Reason]] = {
        'isolated_hosts.open': Reason('accepts the image'),
        'isolated_hosts.isolated': Reason(
            'is reserved for isolated images, and the image is not isolated',
            advice='use an isolated image, or other hosts',
        ),
        'isolated_hosts.not_isolated': Reason(
            'the image requires an isolated host, and this host is not isolated',
            advice='add isolated hosts, or use another image',
        ),
        'isolated_hosts.unknown': Reason('it is not known whether the image is isolated'),
        'isolated_hosts.not_enforced': Reason(
            f'not enforced here: the scheduler does not run {_FILTER}'
        ),
    }

    def column(self, request: Request, scenario: Scenario) -> Column:
        """Reject an isolated image on other hosts, and another image on an isolated host.

        The codes are ``not_isolated`` and ``isolated``; the latter only with
        ``restrict_isolated_hosts_to_isolated_images``, and ``unknown`` if the image's id is. SKIP
        ``not_enforced`` without the filter; otherwise PASS ``open``.
        """
        if not request.is_enforced(_FILTER):
            skipped = Verdict.skipped('isolated_hosts.not_enforced')
            return Column.by_name(scenario.columns, skipped, {})
        isolated = other = Verdict.passed('isolated_hosts.open')
        is_image_isolated = _is_image_isolated(request)
        if is_image_isolated:
            other = Verdict.rejected('isolated_hosts.not_isolated')
        elif request.option(IS_RESTRICTED) and is_image_isolated is None:
            isolated = Verdict.unknown('isolated_hosts.unknown')
        elif request.option(IS_RESTRICTED):
            isolated = Verdict.rejected('isolated_hosts.isolated')
        names = request.option(HOSTS)
        return Column.by_name(scenario.columns, other, dict.fromkeys(names, isolated))

    def assumptions(self, request: Request, cloud: Cloud) -> Iterator[Assumption | Switch]:
        """Yield the filter if the options isolate hosts or images.

        With the filter, NOTHING unless both options are explicit, and NO_IMAGE if images are
        isolated and the id of the image is unknown.
        """
        if request.option(HOSTS) or request.option(IMAGES):
            yield _FILTER
        if not request.is_enforced(_FILTER):
            return
        if not (request.settings.is_explicit(HOSTS) and request.settings.is_explicit(IMAGES)):
            yield NOTHING
        if _is_image_isolated(request) is None:
            yield NO_IMAGE


def _is_image_isolated(request: Request) -> bool | None:
    """Check whether the image is isolated; None if its id is unknown.

    False if no image is isolated, and without an image.
    """
    isolated, image = request.option(IMAGES), request.image
    if not isolated:
        return False
    if image is None or not (image.id or image == images.NONE):
        return None
    return image.id in isolated
