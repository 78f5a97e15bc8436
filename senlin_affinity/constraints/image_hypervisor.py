"""Allow only hypervisors that support the image's architecture, hypervisor type and VM mode.

Nova's API does not return ``supported_instances``, which the filter reads. It follows from the
hypervisor type, and for libvirt from the traits of native (``HW_ARCH_``) and emulated
(``COMPUTE_ARCH_``) architectures.

Source: Nova's ImagePropertiesFilter, and the drivers of Nova 34.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import ClassVar, NamedTuple

from senlin_affinity.constraints.base import (
    Assumption,
    Cloud,
    Constraint,
    Host,
    Option,
    Reason,
    Request,
    Verdict,
)
from senlin_affinity.nova.image_fields import known_names

_FILTER = 'ImagePropertiesFilter'
ARCHITECTURE = Option(
    'image_properties_default_architecture',
    None,
    f'The architecture that {_FILTER} assumes for images without one. Use the value in section '
    '[filter_scheduler] of nova.conf.',
    nova='filter_scheduler',
)
_ARCH, _KIND, _MODE = 'hw_architecture', 'img_hv_type', 'hw_vm_mode'
#: They are read if one of these is set.
_MORE = ('img_hv_requested_version', 'hw_maxphysaddr_bits')

_OTHER_NAMES: Mapping[str, Mapping[str, str]] = {
    _ARCH: {
        **dict.fromkeys(('i386', 'i486', 'i586', 'x86_32', 'x86_32p'), 'i686'),
        'amd64': 'x86_64',
    },
    _KIND: {'xapi': 'xen'},
    _MODE: {'pv': 'xen', 'hv': 'hvm', 'baremetal': 'hvm'},
}
_NATIVE, _EMULATED = 'HW_ARCH_', 'COMPUTE_ARCH_'


class _Known(NamedTuple):
    """The values that a driver certainly and possibly supports (None: any value)."""

    certain: Collection[str] = ()
    perhaps: Collection[str] | None = ()


_ANYTHING = _Known(perhaps=None)
#: By the prefix of the hypervisor type.
_DRIVERS: Mapping[str, Mapping[str, _Known]] = {
    'QEMU': {_ARCH: _ANYTHING, _KIND: _Known(('qemu',), ('kvm', 'kqemu')), _MODE: _Known(('hvm',))},
    'VMware': {
        _ARCH: _Known(('i686', 'x86_64')),
        _KIND: _Known(('vmware',)),
        _MODE: _Known(('hvm',)),
    },
    'ironic': {_ARCH: _ANYTHING, _KIND: _Known((), ('baremetal',)), _MODE: _Known((), ('hvm',))},
    'fake': {_ARCH: _Known(('x86_64',)), _KIND: _Known(('fake',)), _MODE: _Known(('hvm',))},
}
NO_ARCHITECTURE = Assumption(f'image_hypervisor.{ARCHITECTURE.key}', f'no {ARCHITECTURE.key}')


class ImageHypervisorConstraint(Constraint):
    """The requirements of the image on the hypervisor."""

    name = 'image_hypervisor'
    order = 79
    summary = 'the hypervisor supports what the image requires'
    needs = ('hosts',)
    reads_flavor = ()
    filters = (_FILTER,)
    reads = ('hypervisor_type', 'traits')
    options = (ARCHITECTURE,)
    reasons: ClassVar[Mapping[str, Reason]] = {
        'image_hypervisor.nothing': Reason('the image requires no hypervisor'),
        'image_hypervisor.supported': Reason('the hypervisor supports what the image requires'),
        'image_hypervisor.unsupported': Reason(
            'the image requires {key} "{asked}", which {hypervisor} does not support',
            advice='use another image, or hosts whose hypervisor supports it',
            detail='key',
            of_several='the image requires {key} "{asked}", which the hypervisor does not support',
            of_host='{hypervisor}',
        ),
        'image_hypervisor.unknown': Reason(
            'it is not known whether the hypervisor supports {asked}',
            caveat='it is not known whether the hypervisors support {asked}',
        ),
    }

    def prepare(self, request: Request, cloud: Cloud) -> tuple[tuple[str, str], ...] | Verdict:
        """Return the properties that the filter compares, and their values.

        SKIP ``nothing`` without any; without the filter, ``unknown``, at most.
        """
        asked = request.memo(_asked)
        if not asked:
            return Verdict.skipped('image_hypervisor.nothing')
        return (*asked.items(),) if request.is_enforced(_FILTER) else _unknown(asked.values())

    def check(self, asked: tuple[tuple[str, str], ...], host: Host, cloud: Cloud) -> Verdict:
        """Reject (``unsupported``) a hypervisor that does not support a value of the image.

        PASS ``supported`` otherwise; at most, ``unknown`` if that is uncertain, or if the image
        requires a hypervisor version or an address size.
        """
        doubtful = [f'{key}={value}' for key, value in asked if key in _MORE]
        for key, value in asked:
            if key in _MORE:
                continue
            certain, perhaps = _known(host.hypervisor_type, host.traits, key)
            if value in certain:
                continue
            if perhaps is not None and value not in perhaps:
                facts = {'key': key, 'asked': value, 'hypervisor': host.hypervisor_type}
                return Verdict.rejected('image_hypervisor.unsupported', **facts)
            doubtful.append(value)
        return _unknown(doubtful) if doubtful else Verdict.passed('image_hypervisor.supported')

    def assumptions(self, request: Request, cloud: Cloud) -> Iterator[Assumption]:
        """Yield NO_ARCHITECTURE if hosts have several native ones, and the image has none.

        Nothing without the filter, or for an explicit option.
        """
        if request.settings.is_explicit(ARCHITECTURE) or not request.is_enforced(_FILTER):
            return
        traits = cloud.traits_of_hosts
        native = {each for each in traits if each.startswith(_NATIVE)}
        if len(native) > 1 and _ARCH not in request.memo(_asked):
            yield NO_ARCHITECTURE


def _unknown(doubtful: Iterable[str]) -> Verdict:
    asked = ', '.join(doubtful)
    return Verdict.passed('image_hypervisor.unknown', is_at_most=True, asked=asked)


def _asked(request: Request) -> Mapping[str, str]:
    """Return the properties that the filter compares: current names, Nova's values in lower case.

    ``{'hw_architecture': 'x86_64'}`` for ``architecture=AMD64``. The default architecture applies
    with the filter. {} without architecture, hypervisor type and VM mode.
    """
    known = known_names(request.image_properties or {})
    architecture = request.option(ARCHITECTURE)
    if architecture and request.is_enforced(_FILTER):
        known = {_ARCH: architecture, **known}
    asked = {
        key: names.get(known[key].lower(), known[key].lower())
        for key, names in _OTHER_NAMES.items()
        if known.get(key)
    }
    return {**asked, **{key: known[key] for key in _MORE if key in known}} if asked else {}


def _known(hypervisor_type: str, traits: Collection[str], key: str) -> _Known:
    """Return the values of a property that a host of this type with these traits supports.

    Any value is possible for an unlisted type, and for libvirt's architectures.
    """
    for begin, known in _DRIVERS.items():
        if hypervisor_type.startswith(begin):
            if begin == 'QEMU' and key == _ARCH:
                return _Known(_architectures(traits), None)
            return known[key]
    return _ANYTHING


def _architectures(traits: Collection[str]) -> frozenset[str]:
    """Return the native and emulated architectures of the traits, such as ``x86_64``."""
    return frozenset(
        trait.removeprefix(begin).lower()
        for trait in traits
        for begin in (_NATIVE, _EMULATED)
        if trait.startswith(begin)
    )
