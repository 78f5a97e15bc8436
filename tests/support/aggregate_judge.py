"""Use Nova's own filter and operators as oracles for document 000.

Their input are stand-ins: a host with aggregates, and a request with a flavor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from nova.scheduler.filters import extra_specs_ops
from nova.scheduler.filters.aggregate_instance_extra_specs import AggregateInstanceExtraSpecsFilter

from senlin_affinity.nova import aggregate_metadata, instance_extra_specs
from senlin_affinity.nova.extra_spec_operators import match, parse

#: The exceptions of Nova's code, which are returned as None.
RAISED = (AttributeError, IndexError, OverflowError, TypeError, ValueError)


class NovaFlavor(SimpleNamespace):
    """The part of Nova's flavor that the filter uses."""

    def __contains__(self, name: str) -> bool:
        return hasattr(self, name)


def nova_says(
    extra_specs: Mapping[str, Any], aggregates: Sequence[Mapping[str, Any]]
) -> bool | None:
    """Return the result of Nova's filter, or None if it raises."""
    host = SimpleNamespace(aggregates=[SimpleNamespace(metadata=each) for each in aggregates])
    request = SimpleNamespace(flavor=NovaFlavor(extra_specs=extra_specs))
    try:
        return AggregateInstanceExtraSpecsFilter().host_passes(host, request)
    except RAISED:
        return None


def check_operator(value: str, requirement: str) -> None:
    """Check that our operator agrees with Nova's, and is False if that raises."""
    try:
        real = extra_specs_ops.match(value, requirement)
    except RAISED:
        real = None
    assert parse(requirement).judge(value) is real
    assert match(value, requirement) is bool(real)


def check_plain(extra_specs: Mapping[str, str], aggregates: Sequence[Mapping[str, str]]) -> None:
    """Check that document 000 agrees with Nova's filter on input without extensions."""
    real = nova_says(extra_specs, aggregates)
    if real is not None:
        assert bool(aggregate_metadata.check(extra_specs, aggregates)) is real


def check_novas(extra_specs: Mapping[str, Any], aggregates: Sequence[Mapping[str, Any]]) -> None:
    """Check that our model of Nova's filter agrees with it."""
    real = nova_says(extra_specs, aggregates)
    verdict = instance_extra_specs.check(extra_specs, aggregates)
    if real is None:
        assert not verdict or _may_be_kinder(extra_specs, aggregates)
    elif verdict.code == 'aggregate_metadata.nova_fails':
        # An earlier value or key decided before the one that raises.
        assert real is False or _may_be_kinder(extra_specs, aggregates)
    else:
        assert bool(verdict) is real


def _may_be_kinder(extra_specs: Mapping[str, Any], aggregates: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a key has a matching value besides one for which the operator raises.

    Then Nova's result depends on the order of a set. Nova never has numbers besides texts.
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
