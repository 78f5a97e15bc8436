"""Which sets of aggregates agree with a flavor's extra specs, told at once for many of them.

Data flow: each aggregate is asked alone, once, which extra specs it has the key of, and which it
agrees with. A set agrees where each extra spec finds an aggregate that does, or none with the key
where that may be absent.

Where an aggregate may force its metadata upon flavors, nothing is told: no is "ask the rule".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from senlin_affinity.core.aggregate_metadata import Requirement, Requirements
from senlin_affinity.core.aggregates.host_metadata import FORCE, HostMetadata
from senlin_affinity.core.aggregates.key_states import ILLEGAL


class _Spec(NamedTuple):
    """One extra spec: the aggregates that agree with it, those with its key, and if one must be."""

    agreeing: frozenset[str]
    holding: frozenset[str]
    may_lack: bool


class Agreement(NamedTuple):
    """What is told of sets of aggregates by their UUIDs."""

    forcing: frozenset[str]
    specs: tuple[_Spec, ...]

    @classmethod
    def of(cls, asked: Requirements, metadata: Mapping[str, Mapping[str, str]]) -> Agreement:
        """With these extra specs, and the metadata of the aggregates by their UUIDs."""
        forcing = frozenset(uuid for uuid, each in metadata.items() if FORCE in each)
        return cls(forcing, tuple(_spec(each, metadata) for each in asked.asked))

    def are_told(self, sets: Sequence[frozenset[str]]) -> list[bool]:
        """Which of them agree for sure?"""
        told = [not self.forcing or self.forcing.isdisjoint(each) for each in sets]
        for place, aggregates in enumerate(sets):
            for agreeing, holding, may_lack in self.specs:
                if agreeing.isdisjoint(aggregates) and not (
                    may_lack and holding.isdisjoint(aggregates)
                ):
                    told[place] = False
                    break
        return told


def _spec(requirement: Requirement, metadata: Mapping[str, Mapping[str, str]]) -> _Spec:
    key, states = requirement.key, requirement.states
    if states.fault == ILLEGAL:
        return _Spec(frozenset(), frozenset(), may_lack=False)
    texts = {uuid: each[key] for uuid, each in metadata.items() if key in each}
    values = {text: HostMetadata(({key: text},)).values(key) for text in {*texts.values()}}
    accepted = {text for text, each in values.items() if states.accepts(each)}
    agreeing = frozenset(uuid for uuid, text in texts.items() if text in accepted)
    return _Spec(agreeing, frozenset(texts), requirement.is_optional or states.accepts_absent)
