"""Find the known extra spec that an unknown name resembles.

The order is: a difference only in case or separators, then a known key in another namespace (or the
equivalent image property), then a similar spelling.

Example: ``hw:cpu_pollicy`` and ``hw_cpu_policy`` give ``hw:cpu_policy``; ``hw:numa_cpu.0`` gives
``hw:numa_cpus.{num}``; ``trait1:HW_CPU_X86_AVX22`` gives ``trait1:HW_CPU_X86_AVX2``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from string import digits

from senlin_affinity.extra_specs.base import ExtraSpecValidator, Part
from senlin_affinity.model.suggestion import typo_of


class Suggestions:
    """The names of a registry; ``find`` returns the definition of a name."""

    def __init__(
        self,
        validators: Iterable[ExtraSpecValidator],
        find: Callable[[str], ExtraSpecValidator | None],
    ) -> None:
        self._find = find
        #: By namespace: the keys without their placeholders ('numa_cpus.'), and as they are shown.
        self._keys: dict[str, dict[str, str]] = {}
        self._patterned: dict[str, tuple[Part, str]] = {}
        self._images: dict[str, str] = {}
        self._by_key: defaultdict[str, set[str]] = defaultdict(set)
        for validator in validators:
            before, part = validator.parts
            if before is not None and not before.is_literal:
                self._patterned[before.pattern] = (before, validator.namespace)
            keys = self._keys.setdefault(validator.namespace, {})
            keys.setdefault(part.head + part.tail, part.text)
            if validator.image_property is not None:
                self._images[validator.image_property] = validator.name
            if validator.is_literal:
                self._by_key[part.text].add(validator.name)

    def suggest(self, name: str) -> str | None:
        """Return the known name that a name resembles, or None."""
        return next((found for found in self._meant(name) if found != name), None)

    def _meant(self, name: str) -> Iterator[str]:
        yield from self._known_once_folded(name)
        namespace, colon, key = name.partition(':')
        if not colon or not namespace:
            bare = key if colon else name
            if bare in self._images:
                yield self._images[bare]
            yield from self._elsewhere(bare)
            yield from self._near('', '', bare)
            return
        stem = self._stem(namespace)
        if stem is not None:
            yield from self._near(stem, f'{namespace}:', key)
            yield from self._elsewhere(key)
        else:
            meant = typo_of(namespace.lower(), self._keys)
            if meant is not None:
                if self._find(f'{meant}:{key}'):
                    yield f'{meant}:{key}'
                yield from self._near(meant, f'{meant}:', key)

    def _known_once_folded(self, name: str) -> Iterator[str]:
        flat = name.replace(':', '_')
        if self._find(flat):  # hw:cpu_policy for the image property
            yield flat
        namespace, colon, key = name.replace('-', '_').partition(':')
        for before in dict.fromkeys((namespace, namespace.lower())):
            for behind in dict.fromkeys((key, key.lower(), key.upper())):
                if self._find(f'{before}{colon}{behind}'):
                    yield f'{before}{colon}{behind}'

    def _elsewhere(self, key: str) -> Iterator[str]:
        """Yield the known name with this key, if exactly one exists."""
        names = self._by_key.get(key, set())
        if len(names) == 1:
            yield from names

    def _near(self, namespace: str, prefix: str, key: str) -> Iterator[str]:
        keys = self._keys.get(namespace, {})
        for word in dict.fromkeys((key, key.rstrip(digits))):
            meant = typo_of(word, keys)
            if meant is not None:
                yield f'{prefix}{keys[meant]}'

    def _stem(self, namespace: str) -> str | None:
        """Return the namespace without a group (``trait`` for ``trait1``); None if unknown."""
        if namespace in self._keys:
            return namespace
        found = (stem for part, stem in self._patterned.values() if part.regex.fullmatch(namespace))
        return next(found, None)
