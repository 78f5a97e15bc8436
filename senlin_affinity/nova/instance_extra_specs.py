"""Evaluate extra specs as Nova's own AggregateInstanceExtraSpecsFilter does.

That filter has no sentinels and no forced keys. It ignores keys with a namespace other than the
escape scope.

Raises: nothing. If the real filter raises in every order of the values (they are a set), the
verdict is ``aggregate_metadata.nova_fails``; if only in some orders, the verdict is that of another
order.

Source: ``nova/scheduler/filters/aggregate_instance_extra_specs.py``, ``utils.py`` beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from senlin_affinity.model.verdict import Verdict
from senlin_affinity.nova import extra_spec_operators
from senlin_affinity.nova.aggregate_metadata import SCOPE, HostMetadata
from senlin_affinity.nova.extra_spec_operators import Condition

#: The name of the filter.
NOVAS = 'AggregateInstanceExtraSpecsFilter'


def is_compared(name: str) -> bool:
    """Check whether the filter compares an extra spec: it has the escape scope, or no namespace.

    Nova's own ``group_policy`` and ``hide_hypervisor_id`` have none. A host whose aggregates lack
    the key is rejected.
    """
    return name.startswith(SCOPE) or ':' not in name


def check(
    extra_specs: Mapping[str, str],
    aggregates: Sequence[Mapping[str, str]],
    names: Sequence[str] | None = None,
) -> Verdict:
    """Check whether Nova's own filter accepts such a host for a flavor with these extra specs."""
    return NovaRequirements.parse(extra_specs).check(aggregates, names)


@dataclass(frozen=True)
class NovaRequirements:
    """The extra specs that Nova's filter reads, parsed and sorted by key."""

    asked: tuple[tuple[str, Condition], ...]

    @classmethod
    def parse(cls, extra_specs: Mapping[str, str]) -> NovaRequirements:
        """Parse the extra specs of a flavor."""
        parse = extra_spec_operators.parse
        named = ((str(name).removeprefix(SCOPE), name) for name in extra_specs or ())
        asked = ((key, n) for key, n in sorted(named, key=str) if is_compared(str(n)))
        return cls(tuple((key, parse(extra_specs[name])) for key, name in asked))

    def check(
        self, aggregates: Sequence[Mapping[str, str]], names: Sequence[str] | None = None
    ) -> Verdict:
        """Check a host by the metadata of its aggregates; a rejection names the aggregates."""
        host = HostMetadata(aggregates, names)
        fails: Verdict | None = None
        for key, condition in self.asked:
            found = host.values(key)
            # A value that is not a string makes the real filter raise as well.
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
