"""Find the definition of an extra spec, at a cost independent of the number of definitions.

A name without placeholders is one dictionary lookup. All others are grouped by namespace, and by
the text before the first and after the last placeholder; only definitions with equal ends are
compared. If two match, the one with more characters outside its placeholders wins.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from senlin_affinity.extra_specs.base import ExtraSpecValidator, Part


@dataclass
class _Keys:
    """The definitions of one namespace, by the text after the colon.

    ``templates`` are grouped by the lengths of their two ends, the longest first, then by the ends.
    """

    literal: dict[str, ExtraSpecValidator] = field(default_factory=dict)
    templates: dict[tuple[int, int], dict[tuple[str, str], list[ExtraSpecValidator]]] = field(
        default_factory=dict
    )

    def add(self, validator: ExtraSpecValidator) -> None:
        _, part = validator.parts
        if part.is_literal:
            self.literal[part.text] = validator
            return
        table = self.templates.setdefault((len(part.head), len(part.tail)), {})
        found = table.setdefault((part.head, part.tail), [])
        found.append(validator)
        found.sort(key=lambda each: each.name)
        self.templates = dict(sorted(self.templates.items(), key=lambda item: -sum(item[0])))

    def find(self, key: str) -> ExtraSpecValidator | None:
        found = self.literal.get(key)
        if found is not None:
            return found
        for (head, tail), table in self.templates.items():
            for validator in table.get((key[:head], key[len(key) - tail :]), ()):
                if validator.parts[1].regex.fullmatch(key):
                    return validator
        return None


class Index:
    """Definitions by the names that they match."""

    def __init__(self, validators: Iterable[ExtraSpecValidator] = ()) -> None:
        #: Names without a colon, and names with one by the namespace before it.
        self._bare = _Keys()
        self._plain: dict[str, _Keys] = {}
        #: By the text before the namespace's placeholder (its length, then the text), then by the
        #: pattern.
        self._patterned: dict[int, dict[str, dict[str, tuple[Part, _Keys]]]] = {}
        for validator in validators:
            namespace, _ = validator.parts
            if namespace is None:
                keys = self._bare
            elif namespace.is_literal:
                keys = self._plain.setdefault(namespace.text, _Keys())
            else:
                table = self._patterned.setdefault(len(namespace.head), {})
                known = table.setdefault(namespace.head, {})
                _, keys = known.setdefault(namespace.pattern, (namespace, _Keys()))
            keys.add(validator)
        #: Most requests use the same few namespaces.
        self._keys_of = lru_cache(self._matching)

    def find(self, name: str) -> ExtraSpecValidator | None:
        """Return the definition that matches a name; None if no definition does."""
        namespace, colon, key = name.partition(':')
        if not colon:
            return self._bare.find(name)
        for keys in self._keys_of(namespace):
            found = keys.find(key)
            if found is not None:
                return found
        return None

    def _matching(self, namespace: str) -> tuple[_Keys, ...]:
        found = [self._plain[namespace]] if namespace in self._plain else []
        for length, table in self._patterned.items():
            for part, keys in table.get(namespace[:length], {}).values():
                if part.regex.fullmatch(namespace):
                    found.append(keys)
        return tuple(found)
