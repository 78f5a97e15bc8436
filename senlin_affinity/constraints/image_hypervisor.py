"""Only hypervisors that support the architecture, the kind and the mode that the image asks for.

Data flow: the API does not show what Nova's filter reads of a host (``supported_instances``), but
what the driver makes it of: the type of the hypervisor, and with libvirt the traits of the host's
architecture (``HW_ARCH_``) and of those that it emulates (``COMPUTE_ARCH_``).

Source: Nova's ImagePropertiesFilter, and what its drivers report (Nova 34). An image without these
properties passes, unless nova.conf has an architecture for it.

At most: what libvirt may support without a trait that says so (KVM, another architecture), drivers
that are not listed here, and versions of hypervisors and sizes of addresses, which are not read.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import ClassVar, NamedTuple

from senlin_affinity.constraints.base import (
    Assumption,
    Host,
    Option,
    Reason,
    ResolvedRequest,
    Verdict,
)
from senlin_affinity.core.image_fields import known_names

_FILTER = 'ImagePropertiesFilter'
ARCHITECTURE = Option(
    'image_properties_default_architecture',
    None,
    f"The architecture that {_FILTER} takes images for that name none; as in nova.conf's "
    '[filter_scheduler].',
    nova='filter_scheduler',
)
_ARCH, _KIND, _MODE = 'hw_architecture', 'img_hv_type', 'hw_vm_mode'
#: What the filter reads besides these, where one of them is there.
_MORE = ('img_hv_requested_version', 'hw_maxphysaddr_bits')
#: Names that Nova takes for others.
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
    """What a driver supports of a property for certain, and what perhaps (None: anything)."""

    certain: Collection[str] = ()
    perhaps: Collection[str] | None = ()


_ANYTHING = _Known(perhaps=None)
#: By how the type of the hypervisor begins. The architectures of libvirt are in the traits.
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


class ImageHypervisorConstraint:
    """What the image asks of the hypervisor."""

    name = 'image_hypervisor'
    order = 79
    summary = 'only a hypervisor that supports what the image asks for'
    needs = ('hosts',)
    filters = (_FILTER,)
    is_by_name = False
    is_by_resources = False
    options = (ARCHITECTURE,)
    reasons: ClassVar[Mapping[str, Reason]] = {
        'image_hypervisor.nothing': Reason('the image asks for no hypervisor'),
        'image_hypervisor.supported': Reason('the hypervisor supports what the image asks for'),
        'image_hypervisor.unsupported': Reason(
            'the image asks for {key} "{asked}", which {hypervisor} does not support',
            advice='use another image, or hosts with such a hypervisor',
            detail='key',
        ),
        'image_hypervisor.unknown': Reason(
            'whether the hypervisor supports what the image asks for is not known'
        ),
    }

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """See :meth:`HostConstraint.check_host`."""
        asked = resolved.once(_asked)
        if not asked:
            return Verdict.skipped('image_hypervisor.nothing')
        is_known = resolved.is_enforced(_FILTER) and asked.keys().isdisjoint(_MORE)
        for key in (_ARCH, _KIND, _MODE) if resolved.is_enforced(_FILTER) else ():
            value = asked.get(key)
            if value is None:
                continue
            certain, perhaps = _known(host, key)
            if value in certain:
                continue
            if perhaps is not None and value not in perhaps:
                kind = host.hypervisor_type
                return Verdict.rejected(
                    'image_hypervisor.unsupported', key=key, asked=value, hypervisor=kind
                )
            is_known = False
        code = 'image_hypervisor.supported' if is_known else 'image_hypervisor.unknown'
        return Verdict.passed(code, is_at_most=not is_known)

    def reads(self, resolved: ResolvedRequest) -> Collection[str]:
        """What counts of a host."""
        return ('hypervisor_type', 'traits') if resolved.once(_asked) else ()

    def shape(self, resolved: ResolvedRequest, host: Host) -> Hashable:
        """The type of the hypervisor, and the host's architectures."""
        if not resolved.once(_asked):
            return None
        return host.hypervisor_type, _architectures(host)

    def assumptions(self, resolved: ResolvedRequest) -> Iterator[Assumption]:
        """The architecture of an image that names none, where hosts have several."""
        if resolved.rules.is_told(ARCHITECTURE) or not resolved.is_enforced(_FILTER):
            return
        traits = {host.traits for host in resolved.snapshot.hosts or ()}
        native = {each for one in traits for each in one if each.startswith(_NATIVE)}
        if len(native) > 1 and _ARCH not in resolved.once(_asked):
            yield NO_ARCHITECTURE


def _asked(resolved: ResolvedRequest) -> Mapping[str, str]:
    """What the filter compares, under today's names and values; nothing where it compares none."""
    known = known_names(resolved.image_properties or {})
    architecture = resolved.option(ARCHITECTURE)
    if architecture and resolved.is_enforced(_FILTER):
        known = {_ARCH: architecture, **known}
    asked = {
        key: names.get(known[key].lower(), known[key].lower())
        for key, names in _OTHER_NAMES.items()
        if known.get(key)
    }
    return {**asked, **{key: known[key] for key in _MORE if key in known}} if asked else {}


def _known(host: Host, key: str) -> _Known:
    """What is known of one property on a host."""
    for begin, known in _DRIVERS.items():
        if host.hypervisor_type.startswith(begin):
            if begin == 'QEMU' and key == _ARCH:
                return _Known(_architectures(host), None)
            return known[key]
    return _ANYTHING


def _architectures(host: Host) -> frozenset[str]:
    """The host's own, and those that it emulates."""
    return frozenset(
        trait.removeprefix(begin).lower()
        for trait in host.traits
        for begin in (_NATIVE, _EMULATED)
        if trait.startswith(begin)
    )
