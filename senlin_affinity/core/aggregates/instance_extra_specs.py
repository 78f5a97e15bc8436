"""Nova's own AggregateInstanceExtraSpecsFilter as a rule: for clouds that run that filter.

It is older and knows less than document 000: no sentinels, no forced keys, and keys of a namespace
other than the escape scope are not looked at.

Errors: none. Where the real filter raises in whatever order it meets the values, the verdict is
``aggregate_metadata.nova_fails``; where it depends on the order, that of a set, it is the kinder.

Source: ``nova/scheduler/filters/aggregate_instance_extra_specs.py``, ``utils.py`` beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from senlin_affinity.core import extra_spec_operators
from senlin_affinity.core.aggregates.host_metadata import SCOPE, HostMetadata
from senlin_affinity.core.extra_spec_operators import Condition
from senlin_affinity.core.verdict import Verdict


def check(
    extra_specs: Mapping[str, str],
    aggregates: Sequence[Mapping[str, str]],
    names: Sequence[str] | None = None,
) -> Verdict:
    """Does Nova's own filter let a server with these extra specs onto such a host?"""
    return NovaRequirements.parse(extra_specs).check(aggregates, names)


@dataclass(frozen=True)
class NovaRequirements:
    """The extra specs that Nova's filter looks at, parsed, in the order of their keys."""

    asked: tuple[tuple[str, Condition], ...]

    @classmethod
    def parse(cls, extra_specs: Mapping[str, str]) -> NovaRequirements:
        """Read the extra specs of a flavor."""
        parse = extra_spec_operators.parse
        named = ((str(name).removeprefix(SCOPE), name) for name in extra_specs or ())
        asked = ((key, n) for key, n in sorted(named, key=str) if key != n or ':' not in key)
        return cls(tuple((key, parse(extra_specs[name])) for key, name in asked))

    def check(
        self, aggregates: Sequence[Mapping[str, str]], names: Sequence[str] | None = None
    ) -> Verdict:
        """Judge a host by the metadata of its aggregates, whose names are in the reason."""
        host = HostMetadata(aggregates, names)
        fails: Verdict | None = None
        for key, condition in self.asked:
            found = host.values(key)
            # What is no text would break the real filter, too.
            answers = {condition.judge(v) if isinstance(v, str) else None for v in found}
            if True in answers:
                continue
            facts = {
                'key': key,
                'asked': condition.text,
                'found': ', '.join(sorted(map(str, found))),
                'aggregates': host.holders((key,)),
            }
            if not found:
                return Verdict.rejected('aggregate_metadata.nova_missing_key', **facts)
            if None not in answers:
                return Verdict.rejected('aggregate_metadata.nova_mismatch', **facts)
            if fails is None:
                fails = Verdict.rejected('aggregate_metadata.nova_fails', **facts)
        return Verdict.passed('aggregate_metadata.nova_matches') if fails is None else fails
