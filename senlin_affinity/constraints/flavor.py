"""Reject a flavor that nova-api rejects, alone or together with the image.

Source: Nova's API checks this when it creates a server, and answers 400 in most cases. The rules
are in :mod:`senlin_affinity.nova.combination_rules`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from senlin_affinity.constraints.base import (
    Change,
    Constraint,
    Evaluated,
    Kind,
    Option,
    Reason,
    Request,
    Verdict,
)
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.verdict import tenant_reason
from senlin_affinity.nova.combination_rules import NEWEST, Rejection, check
from senlin_affinity.nova.guest_request import GuestRequest
from senlin_affinity.scenario.scenario import Scenario

PCI_ALIASES = Option(
    'pci_aliases',
    (),
    'The names of the PCI aliases of nova-api. nova.conf has a JSON object with the name in each '
    'line "alias" of section [pci].',
    'alias',
    'pci',
    nova='pci',
)


class FlavorConstraint(Constraint):
    """The extra specs of the flavor, together with the properties of the image."""

    name = 'flavor'
    order = 885
    summary = 'nova-api accepts the extra specs of the flavor, alone and with the image'
    needs = ('flavors',)
    is_unresolvable = True
    options = (PCI_ALIASES,)
    reasons: ClassVar[Mapping[str, Reason]] = {
        'flavor.accepted': Reason('no rule of nova-api rejects the flavor'),
        'flavor.rejected': tenant_reason(
            'nova-api answers {status} because of {settings}: {exception} ("{message}"); use '
            '{change}',
            advice='use a flavor and an image that nova-api accepts',
        ),
        'flavor.undecided': Reason(
            'nova-api may answer {status} because of {settings}: {exception} ("{message}"); this '
            'depends on {unknown}',
            caveat='nova-api may reject the flavor, depending on the image or the release of Nova',
        ),
        'flavor.not_checked': Reason('some rules are not checked, because they need {unknown}'),
        'flavor.unknown': Reason('the flavor is not known'),
    }

    def check_request(self, request: Request, cloud: Cloud) -> Verdict:
        """Reject (``rejected``) a flavor that breaks a rule whatever is unknown.

        PASS ``undecided``, at most, for one that the newest Nova rejects with an image without
        properties; PASS ``accepted`` if all rules were checked. SKIP ``not_checked`` with the
        ``unknown`` values that rules need, and ``unknown`` without a flavor.
        """
        guest = _guest(request)
        if guest is None:
            return Verdict.unknown('flavor.unknown')
        release = cloud.nova_release
        answer = check(guest, release)
        if answer.rejection is not None:
            return Verdict.rejected('flavor.rejected', **_facts(answer.rejection))
        if not answer.unknown:
            return Verdict.passed('flavor.accepted')
        unknown = ' and '.join(answer.unknown)
        usual = replace(guest, image={}) if guest.image is None else guest
        rejection = check(usual, release or NEWEST).rejection
        if rejection is None:
            return Verdict.skipped('flavor.not_checked', unknown=unknown)
        facts = {**_facts(rejection), 'unknown': unknown}
        caveats = (f'the rules of nova-api for {facts["settings"]}, which need {unknown}',)
        return Verdict.passed('flavor.undecided', is_at_most=True, caveats=caveats, **facts)

    def proposals(
        self, request: Request, scenario: Scenario, evaluation: Evaluated
    ) -> Iterator[Change]:
        """Yield the change that removes one of the settings, or all that break rules.

        Nothing unless nova-api rejects the flavor.
        """
        verdict, guest = evaluation.verdict, _guest(request)
        if verdict is None or verdict or guest is None:
            return
        for settings in _removable(guest, scenario.cloud.nova_release):
            specs = [key for key in settings if key in guest.extra_specs]
            properties = [key for key in settings if key in (guest.image or {})]
            parts = (('a flavor', specs), ('an image', properties))
            words = (f'{what} without {", ".join(keys)}' for what, keys in parts if keys)
            named = {'removed_extra_specs': specs, 'removed_image_properties': properties}
            removed = {key: names for key, names in named.items() if names}
            yield Change(
                'settings',
                ', and '.join(words),
                removed,
                size=len(settings),
                kind=Kind.REQUESTER,
                for_tenant=True,
                is_sufficient=True,
            )


def _guest(request: Request) -> GuestRequest | None:
    """Return the request as nova-api reads it; None if the flavor is unknown."""
    flavor = request.flavor
    if flavor is None:
        return None
    is_known = request.settings.is_explicit(PCI_ALIASES)
    aliases = request.option(PCI_ALIASES) if is_known else None
    image = request.image_properties
    return GuestRequest(flavor.extra_specs, flavor.vcpus, flavor.ram, image, aliases)


def _facts(rejection: Rejection) -> dict[str, Any]:
    message = rejection.message.rstrip('.')
    return {
        'rule': rejection.rule,
        'exception': rejection.exception,
        'status': rejection.status,
        'message': message if message[0].isupper() else f'... {message}',
        'settings': ', '.join(rejection.settings),
        'change': rejection.change,
    }


def _removable(guest: GuestRequest, release: int | None) -> Iterator[tuple[str, ...]]:
    """Yield the names of settings without which nova-api accepts the flavor, single ones first."""
    removed: tuple[str, ...] = ()
    rejection = check(guest, release).rejection
    names = () if rejection is None else _names(rejection)
    for name in names:
        if check(_without(guest, (name,)), release).rejection is None:
            yield (name,)
    while rejection is not None:
        removed = (*removed, *_names(rejection))
        rejection = check(_without(guest, removed), release).rejection
    if len(removed) > 1:
        yield (*dict.fromkeys(removed),)


def _names(rejection: Rejection) -> tuple[str, ...]:
    return tuple(setting.partition('=')[0] for setting in rejection.settings)


def _without(guest: GuestRequest, names: tuple[str, ...]) -> GuestRequest:
    """Return the request without these extra specs and image properties."""
    specs = {key: value for key, value in guest.extra_specs.items() if key not in names}
    image = guest.image
    if image is not None:
        image = {key: value for key, value in image.items() if key not in names}
    return replace(guest, extra_specs=specs, image=image)
