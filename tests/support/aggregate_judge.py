"""Nova's own filter and operators as judges of document 000, each called for real.

What the scheduler would hand the filter are stand-ins: a host with aggregates, a request with a
flavor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from nova.scheduler.filters import extra_specs_ops
from nova.scheduler.filters.aggregate_instance_extra_specs import AggregateInstanceExtraSpecsFilter

from senlin_affinity.nova import aggregate_metadata, instance_extra_specs
from senlin_affinity.nova.extra_spec_operators import match, parse

#: How the real ones may raise, which is None here.
RAISED = (AttributeError, IndexError, OverflowError, TypeError, ValueError)


class NovaFlavor(SimpleNamespace):
    """As much of Nova's flavor as the filter looks at."""

    def __contains__(self, name: str) -> bool:
        return hasattr(self, name)


def nova_says(
    extra_specs: Mapping[str, Any], aggregates: Sequence[Mapping[str, Any]]
) -> bool | None:
    """The real filter's answer; None where it raises."""
    host = SimpleNamespace(aggregates=[SimpleNamespace(metadata=each) for each in aggregates])
    request = SimpleNamespace(flavor=NovaFlavor(extra_specs=extra_specs))
    try:
        return AggregateInstanceExtraSpecsFilter().host_passes(host, request)
    except RAISED:
        return None


def check_operator(value: str, requirement: str) -> None:
    """Our operator is the real one, and False where that raises."""
    try:
        real = extra_specs_ops.match(value, requirement)
    except RAISED:
        real = None
    assert parse(requirement).judge(value) is real
    assert match(value, requirement) is bool(real)


def check_plain(extra_specs: Mapping[str, str], aggregates: Sequence[Mapping[str, str]]) -> None:
    """Document 000 says what Nova's filter says, on input that has nothing of the document."""
    real = nova_says(extra_specs, aggregates)
    if real is not None:
        assert bool(aggregate_metadata.check(extra_specs, aggregates)) is real


def check_novas(extra_specs: Mapping[str, Any], aggregates: Sequence[Mapping[str, Any]]) -> None:
    """Our rule of Nova's filter says what that filter says."""
    real = nova_says(extra_specs, aggregates)
    verdict = instance_extra_specs.check(extra_specs, aggregates)
    if real is None:
        assert not verdict or _may_be_kinder(extra_specs, aggregates)
    elif verdict.code == 'aggregate_metadata.nova_fails':
        # It met a value or a key that decided before the one that would have broken it.
        assert real is False or _may_be_kinder(extra_specs, aggregates)
    else:
        assert bool(verdict) is real


def _may_be_kinder(extra_specs: Mapping[str, Any], aggregates: Sequence[Mapping[str, Any]]) -> bool:
    """Does a key have a value that matches beside one on which the operator raises?

    Then the real answer depends on the order of a set. A number beside a text is nothing that
    Nova ever has.
    """
    for name, requirement in extra_specs.items():
        key = name.removeprefix(aggregate_metadata.SCOPE)
        texts = [each[key] for each in aggregates if key in each]
        if not all(isinstance(text, str) for text in texts):
            return True
        judged = {parse(requirement).judge(part.strip()) for t in texts for part in t.split(',')}
        if judged >= {True, None}:
            return True
    return False
