"""Find extra specs that are valid one by one, but that nova-api rejects together.

Example::

    errors({'hw:cpu_policy': 'mixed'}) == {'hw:cpu_policy': 'nova-api answers 400 because of ...'}

Raises: nothing. Extra specs that are not texts are not checked.

Source: :mod:`senlin_affinity.nova.combination_rules`.
"""

from __future__ import annotations

from collections.abc import Mapping

from senlin_affinity.extra_specs.releases import Releases
from senlin_affinity.nova.combination_rules import NEWEST, Answer, check
from senlin_affinity.nova.guest_request import GuestRequest


def errors(
    extra_specs: Mapping[str, str],
    nova: Releases | None = None,
    vcpus: int | None = None,
    ram: int | None = None,
) -> dict[str, str]:
    """Return the error of each extra spec of the first broken rule, whatever the image.

    :param nova: the releases of the Nova in use; None: the newest one.
    :param ram: in MiB, as in a flavor.
    """
    rejection = _answer(extra_specs, nova, vcpus, ram).rejection
    if rejection is None:
        return {}
    words = (
        f'nova-api answers {rejection.status} because of {", ".join(rejection.settings)}: '
        f'{rejection.exception} ("{rejection.message}"); use {rejection.change}'
    )
    return {setting.partition('=')[0]: words for setting in rejection.settings}


def notes(extra_specs: Mapping[str, str], nova: Releases | None = None) -> dict[str, str]:
    """Return a note for each extra spec of a rule that is not checked, because values are unknown.

    The size of the flavor, the image and nova.conf are unknown. A rule that needs the image counts
    only if nova-api rejects an image without properties.
    """
    answer = _answer(extra_specs, nova, image={})
    rejection, settings = answer.rejection, answer.unchecked
    words = f'some rules are not checked: they need {" and ".join(answer.unknown)}'
    if rejection is not None:
        settings = rejection.settings
        words = (
            f'not checked, because the image decides: nova-api answers {rejection.status} '
            f'({rejection.exception}) for an image without properties'
        )
    return {setting.partition('=')[0]: words for setting in settings}


def _answer(
    extra_specs: Mapping[str, str],
    nova: Releases | None,
    vcpus: int | None = None,
    ram: int | None = None,
    image: Mapping[str, str] | None = None,
) -> Answer:
    texts = {key: value for key, value in extra_specs.items() if isinstance(value, str)}
    release = NEWEST if nova is None else nova.oldest
    return check(GuestRequest(texts, vcpus, ram, image), release)
