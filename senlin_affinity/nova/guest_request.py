"""Read extra specs and image properties as nova-api does when it checks their combinations.

Example::

    GuestRequest({'hw:cpu_policy': 'mixed'}, vcpus=2, ram=1024, image={}).is_pinned == True

Units: ``ram`` in MiB. None is unknown: reading it raises :class:`Unknown`. A value that Nova cannot
parse raises ValueError, and a malformed set of CPUs :class:`InvalidMask`.

Source: Nova's ``virt/hardware.py`` and ``objects/image_meta.py`` (releases 24 to 34). A property
that the flavor decides without the image does not read the image.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from senlin_affinity.model.numbers import TRUE
from senlin_affinity.nova.image_fields import known_names

DEDICATED, MIXED, SHARED = 'dedicated', 'mixed', 'shared'
POLICIES = DEDICATED, SHARED, MIXED
ISOLATE, PREFER = 'isolate', 'prefer'
THREAD_POLICIES = PREFER, ISOLATE, 'require'
#: Page sizes that an image may replace.
OPEN_SIZES = 'any', 'large'
_POLICY, _THREADS = 'hw:cpu_policy', 'hw:cpu_thread_policy'
#: Nova reads this many guest NUMA nodes.
_MOST_NODES = 128
_SIZE = re.compile(r'([-+]?\d*\.?\d+)([KMGTPEZYRQ]i?)?(b|bit|B)')
_TRAIT = 'trait:HW_CPU_HYPERTHREADING'
#: The states of the trait that imply a thread policy.
_IMPLYING = 'forbidden', 'required'


class Unknown(Exception):
    """A value is not known; ``what`` names it."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class InvalidMask(Exception):
    """A set of CPUs is malformed; nova-api answers 500 because of it."""


@dataclass(frozen=True)
class GuestRequest:
    """What nova-api knows of the guest when it checks a request for a server.

    ``image`` are the properties of the image, also of one in the root volume. ``pci_aliases`` are
    the names in ``[pci] alias`` of nova-api. ``reads`` are the extra specs and image properties of
    the request that were read, as ``name=value``.
    """

    extra_specs: Mapping[str, str]
    vcpus: int | None = None
    ram: int | None = None
    image: Mapping[str, str] | None = None
    pci_aliases: tuple[str, ...] | None = None
    reads: dict[str, None] = field(default_factory=dict, init=False, compare=False)

    def spec(self, key: str) -> str | None:
        """Return the value of an extra spec; None without it."""
        return self._read(self.extra_specs, key)

    def of_image(self, key: str) -> str | None:
        """Return the image property of an extra spec (``hw:cpu_policy``); None without it."""
        return self._read(self._properties, key.replace(':', '_', 1))

    def _read(self, values: Mapping[str, str], key: str) -> str | None:
        value = values.get(key)
        if value is not None:
            self.reads[f'{key}={value}'] = None
        return None if value is None else str(value)

    @property
    def _properties(self) -> Mapping[str, str]:
        if self.image is None:
            raise Unknown('the properties of the image')
        return known_names(self.image)

    def flag(self, key: str) -> bool | None:
        """Return a boolean extra spec; None without it."""
        return _flag(self.spec(key))

    def flag_of_image(self, key: str) -> bool | None:
        """Return a boolean image property; None without it."""
        return _flag(self.of_image(key))

    def number(self, key: str) -> int:
        """Return a number of the flavor; 0 without it."""
        value = self.spec(key)
        return 0 if value is None else int(value)

    def number_of_image(self, key: str) -> int:
        """Return a number of the image; 0 without it."""
        value = self.of_image(key)
        return 0 if value is None else int(value)

    def is_on(self, key: str) -> bool:
        """Return whether the flavor or the image turns a feature on."""
        return bool(self.flag(key) or self.flag_of_image(key))

    def differs(self, key: str) -> bool:
        """Return whether flavor and image have different values of a boolean."""
        own = self.flag(key)
        return own is not None and self.flag_of_image(key) not in (None, own)

    def conflicts(self, key: str) -> bool:
        """Return whether flavor and image have different values that are not empty."""
        own = self.spec(key)
        return bool(own) and (self.of_image(key) or own) != own

    @property
    def size(self) -> int:
        """Return the number of CPUs."""
        if self.vcpus is None:
            raise Unknown('the CPUs of the flavor')
        return self.vcpus

    @property
    def memory(self) -> int:
        """Return the memory."""
        if self.ram is None:
            raise Unknown('the memory of the flavor')
        return self.ram

    @property
    def cpus(self) -> set[int]:
        """Return the numbers of the CPUs."""
        return set(range(self.size))

    @property
    def explicit_policy(self) -> str | None:
        """Return the CPU policy of the flavor, else that of the image."""
        return self.spec(_POLICY) or self.of_image(_POLICY)

    @property
    def policy(self) -> str | None:
        """Return the CPU policy that Nova applies, also one that resource classes imply."""
        if self.requested('VCPU'):
            return SHARED
        return DEDICATED if self.requested('PCPU') else self.explicit_policy

    @property
    def is_pinned(self) -> bool:
        """Return whether the server has dedicated CPUs."""
        return self.policy in (DEDICATED, MIXED)

    def requested(self, name: str) -> int:
        """Return the amount of VCPU or PCPU that the extra specs request."""
        return sum(_amount(value) for value in self._like(f'resources:{name}'))

    def _like(self, key: str) -> list[str]:
        """Return the values of an extra spec, also with a numbered group, as Nova's regex does."""
        kind, _colon, name = key.partition(':')
        pattern = re.compile(f'{kind}([1-9][0-9]*)?:{name}')
        names = filter(pattern.match, self.extra_specs)
        return [value for value in map(self.spec, names) if value is not None]

    @property
    def explicit_threads(self) -> str | None:
        """Return the thread policy of the flavor; the image may replace ``prefer``, or none."""
        return self.spec(_THREADS) or self.of_image(_THREADS)

    @property
    def hyperthreading(self) -> str | None:
        """Return the state of the trait HW_CPU_HYPERTHREADING; None without it."""
        own = next(iter(self._like(_TRAIT)), None)
        if own is not None:
            return own
        return 'required' if self._read(self._properties, _TRAIT) == 'required' else None

    @property
    def has_threads(self) -> bool:
        """Return whether the server has a thread policy, also one that a trait implies."""
        if self.spec(_THREADS) or next(iter(self._like(_TRAIT)), None) in _IMPLYING:
            return True
        return bool(self.explicit_threads) or self.hyperthreading in _IMPLYING

    @property
    def emulator(self) -> str | None:
        """Return the policy for emulator threads; None without one."""
        return self.spec('hw:emulator_threads_policy') or None

    @property
    def is_realtime(self) -> bool:
        """Return whether the flavor has realtime CPUs."""
        return bool(self.flag('hw:cpu_realtime'))

    @property
    def realtime_cpus(self) -> set[int]:
        """Return the CPUs of the realtime mask, which may be none; all without a mask."""
        key = 'hw:cpu_realtime_mask'
        mask = self.of_image(key) or self.spec(key)
        return self._cpus_of(mask) if mask else self.cpus

    @property
    def has_dedicated_mask(self) -> bool:
        """Return whether the flavor has a mask of dedicated CPUs."""
        return bool(self.spec('hw:cpu_dedicated_mask'))

    @property
    def dedicated_cpus(self) -> set[int]:
        """Return the CPUs of the mask of dedicated CPUs, which may be none."""
        return self._cpus_of(self.spec('hw:cpu_dedicated_mask') or '')

    def _cpus_of(self, mask: str) -> set[int]:
        """Return the CPUs of a mask; one that begins with ``^`` excludes CPUs of the flavor."""
        is_rest = mask.strip().startswith('^')
        return parse_cpus(f'0-{self.size - 1},{mask}' if is_rest else mask)

    @property
    def page_size(self) -> str | None:
        """Return the page size that the flavor requests; None without it."""
        return self.spec('hw:mem_page_size') or None

    @property
    def page_size_of_image(self) -> str | None:
        """Return the page size that the image requests; None without it."""
        return self.of_image('hw:mem_page_size') or None

    @property
    def nodes(self) -> int | None:
        """Return the number of guest NUMA nodes; None if nothing requests one."""
        key = 'hw:numa_nodes'
        own = self.spec(key)
        return int(own) if own else self.number_of_image(key) or None

    @property
    def has_topology(self) -> bool:
        """Return whether Nova gives the guest a NUMA topology."""
        labels = (self.spec('hw:pmem') or '').split(',')
        is_pinned = self.spec(_POLICY) in (DEDICATED, MIXED)
        if any(map(str.strip, labels)) or is_pinned or self.spec('hw:numa_nodes'):
            return True
        size = self.page_size
        if size in OPEN_SIZES:
            size = self.page_size_of_image or size
        return is_more_than_nothing(size) or self.is_pinned or bool(self.nodes)

    @property
    def has_numa_settings(self) -> bool:
        """Return whether the flavor or the image assigns CPUs or memory to guest NUMA nodes."""
        own = self._per_node('hw:numa_cpus') or self._per_node('hw:numa_mem')
        return bool(own or self._of_image('hw_numa_cpus') or self._of_image('hw_numa_mem'))

    @property
    def numa_cpus(self) -> list[set[int]]:
        """Return the CPUs of each guest NUMA node, from the flavor, else from the image."""
        return [*map(parse_cpus, self._per_node('hw:numa_cpus') or self._of_image('hw_numa_cpus'))]

    @property
    def numa_memory(self) -> list[int]:
        """Return the memory of each guest NUMA node, from the flavor, else from the image."""
        return [*map(int, self._per_node('hw:numa_mem') or self._of_image('hw_numa_mem'))]

    @property
    def has_numa_cpus_twice(self) -> bool:
        """Return whether flavor and image assign CPUs to guest NUMA nodes."""
        own = [*map(parse_cpus, self._per_node('hw:numa_cpus'))]
        return bool(own and self._of_image('hw_numa_cpus'))

    @property
    def has_numa_memory_twice(self) -> bool:
        """Return whether flavor and image assign memory to guest NUMA nodes."""
        own = [*map(int, self._per_node('hw:numa_mem'))]
        return bool(own and self._of_image('hw_numa_mem'))

    def _of_image(self, name: str) -> list[str]:
        return self._per_node(name, self._properties)

    def _per_node(self, name: str, given: Mapping[str, str] | None = None) -> list[str]:
        """Return the values of ``name.0``, ``name.1`` and so on, up to the first gap."""
        values = self.extra_specs if given is None else given
        found: list[str] = []
        while len(found) < _MOST_NODES:
            value = self._read(values, f'{name}.{len(found)}')
            if value is None:
                break
            found.append(value)
        return found

    def check_image(self) -> None:
        """Raise ValueError or InvalidMask for NUMA properties of the image that Nova rejects."""
        tuple(map(parse_cpus, self._of_image('hw_numa_cpus')))
        tuple(map(int, self._of_image('hw_numa_mem')))


def parse_cpus(mask: str) -> set[int]:
    """Return the CPUs of a mask such as ``0-3,^1``; raise InvalidMask for a malformed one."""
    included: set[int] = set()
    excluded: set[int] = set()
    for part in filter(None, map(str.strip, mask.split(','))):
        first, dash, last = part.removeprefix('^').partition('-')
        try:
            start, end = int(first), int(last if dash else first)
        except ValueError as error:
            raise InvalidMask(part) from error
        if start > end:
            raise InvalidMask(part)
        (excluded if part.startswith('^') else included).update(range(start, end + 1))
    return included - excluded


def is_page_size(value: str) -> bool:
    """Check whether Nova understands a page size: a word, KiB without a unit, or a unit with B."""
    is_word = value in (*OPEN_SIZES, 'small')
    return is_word or value.isdigit() or _SIZE.fullmatch(value) is not None


def is_more_than_nothing(value: str | None) -> bool:
    """Check whether a page size is not 0, which Nova ignores."""
    found = _SIZE.fullmatch(value or '')
    amount = found[1] if found else value if value and value.isdigit() else '1'
    return bool(value) and bool(float(amount))


def is_whole(value: str) -> bool:
    """Check whether a text is an integer as Python writes it."""
    try:
        return str(int(value)) == value
    except ValueError:
        return False


def _flag(value: str | None) -> bool | None:
    return None if value is None else str(value).strip().lower() in TRUE


def _amount(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        return 0
