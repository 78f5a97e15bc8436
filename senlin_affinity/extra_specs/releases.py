"""Tell which releases of Nova know an extra spec, an image property, or one of their values.

A release has the number of Nova's distribution: 26 is Zed, 34 is 2026.2. ``30.2`` is a point
release. Names and values that are in no table are known to all supported releases (24 and later).

An extra spec is known if Nova's API accepts it from microversion 2.86 on, an image property if Nova
reads it. Nova also reads some extra specs that its API rejects (``READ``), and ignores some that
its API accepts (``UNREAD``).

Example::

    Releases.parse('26').knows('hw:virtio_packed_ring') is False  # Nova 29 does
    Releases.parse('30.2').knows('hw:cpu_max_cores') is False     # repaired in 30.3
    Releases.parse('30').knows('hw:cpu_max_cores') is None        # depends on the point release
    Releases.of_microversion((2, 95)) == Releases(27, 28)

Source: ``nova/api/validation/extra_specs``, ``nova/objects/image_meta.py`` and the maximum
microversion in the packages of Nova 24.0.0 to 34.0.0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

#: The first releases of several series, each with its point release; later series are alike.
Firsts = tuple[tuple[int, int], ...]

#: When the API got the names of the CPU limits that Nova reads.
_REPAIRED: Firsts = ((30, 3), (31, 2), (32, 0))
_LIMITS = ('cores', 'sockets', 'threads')
_SINCE: Mapping[str, int | Firsts] = {
    'hw:vif_multiqueue_enabled': 25,
    'hw:ephemeral_encryption': 26,
    'hw:ephemeral_encryption_format': 26,
    'hw:locked_memory': 26,
    'hw:viommu_model': 26,
    'hw:virtio_packed_ring': 29,
    **{f'hw:cpu_max_{name}': _REPAIRED for name in _LIMITS},
    'hw:mem_encryption_model': 32,
    'hw:redirected_usb_ports': 32,
    'hw:sound_model': 32,
    'hw:usb_model': 32,
    'hw:tpm_secret_security': 33,
    'hw_emulation_architecture': 25,
    'hw_ephemeral_encryption': 26,
    'hw_ephemeral_encryption_format': 26,
    'hw_locked_memory': 26,
    'hw_viommu_model': 26,
    'hw_ephemeral_encryption_secret_uuid': 29,
    'hw_maxphysaddr_bits': 29,
    'hw_maxphysaddr_mode': 29,
    'hw_virtio_packed_ring': 29,
    'hw_firmware_stateless': 30,
    'hw_mem_encryption_model': 32,
    'hw_redirected_usb_ports': 32,
    'hw_sound_model': 32,
    'hw_usb_model': 32,
}
#: The first release that knows a value of a name that is known earlier.
VALUES_SINCE: Mapping[tuple[str, str], int] = {
    ('hw_vif_model', 'igb'): 31,
    **{
        (f'hw{mark}mem_encryption_model', value): 34
        for mark in ':_'
        for value in ('amd-sev-snp', 'intel-tdx')
    },
}
_POWERVM = (
    'availability_priority', 'dedicated_proc', 'dedicated_sharing_mode', 'max_mem',
    'max_proc_units', 'max_vcpu', 'min_mem', 'min_proc_units', 'min_vcpu', 'proc_units',
    'processor_compatibility', 'shared_proc_pool_name', 'shared_weight', 'srr_capability',
    'uncapped',
)  # fmt: skip
_REMOVED: Mapping[str, int | Firsts] = {
    **{f'powervm:{name}': 26 for name in _POWERVM},
    'os:monitors': 29,
    'os:resolution': 29,
    'os:vram': 29,
    **{f'hw:max_cpu_{name}': _REPAIRED for name in _LIMITS},
}


def _firsts(table: Mapping[str, int | Firsts]) -> dict[str, Firsts]:
    return {name: ((each, 0),) if isinstance(each, int) else each for name, each in table.items()}


#: The first releases that know a name, and those that no longer know it.
SINCE, REMOVED = _firsts(_SINCE), _firsts(_REMOVED)
#: Patterns of extra specs that Nova reads even where its API rejects them, and the first release.
READ: Mapping[str, int] = {
    r'hw:cpu_max_(?:cores|sockets|threads)': 24,
    r'hw:maxphysaddr_(?:bits|mode)': 29,
    r'capabilities:.+': 24,
}
#: Extra specs that no release reads, although the API of some releases accepts them.
UNREAD = frozenset(f'hw:max_cpu_{name}' for name in _LIMITS)
#: The maximum minor microversion of each release.
_MICROVERSIONS = {
    24: 90, 25: 90, 26: 93, 27: 95, 28: 95, 29: 96, 30: 96, 31: 100, 32: 100, 33: 103, 34: 104,
}  # fmt: skip
#: A point release after all others, and a release after all others.
_LAST_POINT, _NEVER = 99, 10**6


def _is_from(firsts: Firsts, version: tuple[int, int]) -> bool:
    """Check whether a version is one of the first ones, or later in its series or in time."""
    same = [each for each in firsts if each[0] == version[0]]
    return version >= same[0] if same else version > firsts[-1]


@dataclass(frozen=True)
class Releases:
    """The releases that Nova may have, from ``oldest`` to ``newest``.

    ``point`` is the number of the point release (2 in 30.2); None: any.
    """

    oldest: int
    newest: int
    point: int | None = None

    @classmethod
    def of_microversion(cls, highest: tuple[int, int]) -> Releases:
        """Return the releases with this maximum microversion, or those next to it."""
        minor = highest[1]
        newest = max((key for key, most in _MICROVERSIONS.items() if most <= minor), default=24)
        alike = [key for key, most in _MICROVERSIONS.items() if most == _MICROVERSIONS[newest]]
        return cls(min(alike), newest)

    @classmethod
    def parse(cls, text: str) -> Releases:
        """Return the release in a text such as '30', '30.2' or '30.2.1'; else raise ValueError."""
        found = re.fullmatch(r'(\d{1,4})(?:\.(\d{1,2})(?:\.\d{1,4})?)?', text, re.ASCII)
        if found is None:
            raise ValueError(f'write a release of Nova such as 26 or 30.2, not {text!r}')
        return cls(int(found[1]), int(found[1]), None if found[2] is None else int(found[2]))

    def __str__(self) -> str:
        """Return 'Nova 26', 'Nova 30.2' or 'Nova 29 or 30'."""
        if self.oldest != self.newest:
            return f'Nova {self.oldest} or {self.newest}'
        return f'Nova {self.newest}' if self.point is None else f'Nova {self.newest}.{self.point}'

    def knows(self, name: str) -> bool | None:
        """Return whether Nova knows a name, which has a definition or is in ``REMOVED``.

        None: it depends on the release.
        """
        points = (0, _LAST_POINT) if self.point is None else (self.point,)
        since, removed = SINCE.get(name, ((0, 0),)), REMOVED.get(name, ((_NEVER, 0),))
        found = {
            _is_from(since, version) and not _is_from(removed, version)
            for release in range(self.oldest, self.newest + 1)
            for version in ((release, point) for point in points)
        }
        return found.pop() if len(found) == 1 else None

    def reads(self, name: str) -> bool:
        """Return whether Nova reads an extra spec even if its API rejects it."""
        firsts = [first for names, first in READ.items() if re.fullmatch(names, name)]
        return any(first <= self.oldest for first in firsts)

    def repaired(self, name: str) -> str | None:
        """Return the point release ('30.3') that is the first of its series to know a name."""
        series = self.newest if self.oldest == self.newest else None
        points = (point for each, point in SINCE.get(name, ()) if each == series and point)
        return next((f'{series}.{point}' for point in points), None)

    def unknown_value(self, name: str, value: str) -> str | None:
        """Return why Nova does not know a valid value of a name that it may know, or None."""
        first = VALUES_SINCE.get((name, value.lower()), 0)
        if first <= self.newest or self.knows(name) is False:
            return None
        return f'{self} does not know the value {value}, but Nova {first} does'


#: The release whose definitions this package has.
NEWEST = Releases(max(_MICROVERSIONS), max(_MICROVERSIONS))
