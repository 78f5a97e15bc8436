"""Decide about combinations of extra specs and image properties, as nova-api does.

Each function takes a :class:`~senlin_affinity.nova.guest_request.GuestRequest`, and raises what
that raises. They serve the table in :mod:`~senlin_affinity.nova.combination_rules`.

Example::

    is_asymmetric(GuestRequest({'hw:numa_nodes': '3'}, vcpus=4, ram=1024, image={})) == True

Source: Nova's ``virt/hardware.py`` and ``pci/request.py`` (releases 24 to 34).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from senlin_affinity.nova.guest_request import (
    DEDICATED,
    MIXED,
    OPEN_SIZES,
    POLICIES,
    PREFER,
    SHARED,
    THREAD_POLICIES,
    GuestRequest,
    Unknown,
    is_page_size,
    is_whole,
)

POLICY, THREADS = 'hw:cpu_policy', 'hw:cpu_thread_policy'
NODES, LOCKED = 'hw:numa_nodes', 'hw:locked_memory'
ENCRYPTION, MODEL = 'hw:mem_encryption', 'hw:mem_encryption_model'
EPHEMERAL, PORTS = 'hw:ephemeral_encryption', 'hw:serial_port_count'
AFFINITY = 'hw:pci_numa_affinity_policy'
MULTIQUEUE, SOUND = 'hw:vif_multiqueue_enabled', 'hw:sound_model'
_UNITS = 'sockets', 'cores', 'threads'
#: The limits of the CPU topology, and the preferred topology.
MOST, PREFERRED = (tuple(f'hw:cpu_{most}{unit}' for unit in _UNITS) for most in ('max_', ''))
AFFINITIES = 'required', 'legacy', 'preferred', 'socket'
STATELESS = 'amd-sev-snp', 'intel-tdx'
MODELS = 'amd-sev', 'amd-sev-es', *STATELESS
_WORDS: Mapping[str, tuple[str, ...]] = {
    POLICY: POLICIES,
    THREADS: THREAD_POLICIES,
    AFFINITY: AFFINITIES,
    'hw:firmware_type': ('uefi', 'bios'),
}


def is_image_invalid(guest: GuestRequest) -> bool:
    """Check whether a property that a rule reads is invalid, in every release."""
    try:
        for key in (NODES, PORTS, *MOST, *PREFERRED):
            guest.number_of_image(key)
        guest.check_image()
    except ValueError:
        return True
    return any(guest.of_image(key) not in (None, *words) for key, words in _WORDS.items())


def is_policy_of_image_forbidden(guest: GuestRequest) -> bool:
    """Check whether the image pins CPUs although the flavor shares some."""
    own = guest.spec(POLICY)
    if own not in (SHARED, MIXED):
        return False
    return guest.of_image(POLICY) in ((DEDICATED, MIXED) if own == SHARED else (DEDICATED,))


def is_threads_of_image_forbidden(guest: GuestRequest) -> bool:
    """Check whether the image has another thread policy than ``isolate`` or ``require``."""
    own = guest.spec(THREADS)
    return own not in (None, PREFER) and (guest.of_image(THREADS) or own) != own


def is_realtime_mask_full(guest: GuestRequest) -> bool:
    """Check whether the realtime mask leaves no CPU for the emulator, or is empty."""
    if not guest.is_realtime:
        return False
    found = guest.realtime_cpus
    return not found or (found == guest.cpus and guest.emulator is None)


def is_number_of_nodes_invalid(guest: GuestRequest) -> bool:
    """Check whether the number of NUMA nodes is not an integer of 1 or more."""
    own = guest.spec(NODES)
    if own:
        return not is_whole(own) or int(own) < 1
    return guest.of_image(NODES) is not None and guest.number_of_image(NODES) < 1


def is_page_size_forbidden(guest: GuestRequest) -> bool:
    """Check whether the image has a page size that the flavor does not leave open."""
    own = guest.page_size
    is_fixed = own is None or (is_page_size(own) and own not in OPEN_SIZES)
    return is_fixed and guest.page_size_of_image is not None


def is_page_size_invalid(guest: GuestRequest) -> bool:
    """Check whether Nova does not understand the page size."""
    own = guest.page_size
    if own is None or not is_page_size(own):
        return own is not None
    return own in OPEN_SIZES and not is_page_size(guest.page_size_of_image or own)


def is_locked_without_pages(guest: GuestRequest) -> bool:
    """Check whether memory is locked without a page size."""
    own = guest.flag(LOCKED)
    is_locked = guest.flag_of_image(LOCKED) if own is None else own
    return bool(is_locked) and not guest.page_size and not guest.page_size_of_image


def model(guest: GuestRequest) -> str | None:
    """Return the model of memory encryption; None without memory encryption."""
    if not guest.is_on(ENCRYPTION):
        return None
    return guest.of_image(MODEL) or guest.spec(MODEL) or 'amd-sev'


def is_model_of_image_other(guest: GuestRequest) -> bool:
    """Check whether flavor and image have different models of memory encryption."""
    own = guest.spec(MODEL)
    is_other = own is not None and guest.of_image(MODEL) not in (None, own)
    return is_other and guest.is_on(ENCRYPTION)


def is_machine_type_invalid(guest: GuestRequest) -> bool:
    """Check whether memory is encrypted on another machine type than q35."""
    machine = guest.of_image('hw:machine_type')
    return machine is not None and 'q35' not in machine and model(guest) is not None


def is_manual(guest: GuestRequest) -> bool:
    """Check whether the guest has NUMA nodes with assigned CPUs or memory."""
    return guest.has_topology and guest.has_numa_settings


def is_asymmetric(guest: GuestRequest) -> bool:
    """Check whether the CPUs or the memory cannot be distributed evenly to the NUMA nodes."""
    if not guest.has_topology or guest.has_numa_settings:
        return False
    nodes = guest.nodes or 1
    return nodes > 1 and bool(guest.size % nodes or guest.memory % nodes)


def is_incomplete(guest: GuestRequest) -> bool:
    """Check whether a NUMA node lacks CPUs or memory, or too many have some."""
    if not is_manual(guest):
        return False
    return {len(guest.numa_cpus), len(guest.numa_memory)} != {guest.nodes or 1}


def numa_cpus(guest: GuestRequest) -> list[int]:
    """Return the CPUs that are assigned to NUMA nodes, with repetitions."""
    return [*chain.from_iterable(guest.numa_cpus)] if is_manual(guest) else []


def is_no_number(guest: GuestRequest, keys: Sequence[str]) -> bool:
    """Check whether one of these extra specs is not a number."""
    values = [value for value in map(guest.spec, keys) if value is not None]
    guest.check_image()  # without an image, Nova does not read these extra specs
    try:
        tuple(map(int, values))
    except ValueError:
        return True
    return False


def are_limits_exceeded(guest: GuestRequest) -> bool:
    """Check whether the image raises the limits of the CPU topology in the flavor."""
    return any(own and of_image > own for own, of_image in topology(guest, MOST))


def topology(guest: GuestRequest, keys: Sequence[str]) -> list[tuple[int, int]]:
    """Return the numbers of the flavor and of the image for these extra specs."""
    return [(guest.number(key), guest.number_of_image(key)) for key in keys]


def are_units_too_many(guest: GuestRequest) -> bool:
    """Check whether the image has more sockets, cores or threads than the limits."""
    most = [of_image or own for own, of_image in topology(guest, MOST)]
    wanted = [of_image for _own, of_image in topology(guest, PREFERRED)]
    return any(limit and number > limit for number, limit in zip(wanted, most, strict=True))


def is_alias_undefined(guest: GuestRequest) -> bool:
    """Check whether nova-api has no PCI alias of a requested name."""
    value = guest.spec('pci_passthrough:alias')
    if value is None:
        return False
    counts = {}
    for part in value.split(','):
        name, count = part.split(':')
        counts[name.strip()] = int(count)
    if guest.pci_aliases is None:
        raise Unknown('the PCI aliases of nova-api')
    return not counts.keys() <= {*guest.pci_aliases}
