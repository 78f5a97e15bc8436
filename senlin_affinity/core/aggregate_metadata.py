"""Document 000: a flavor's extra specs against the metadata of the aggregates of a host.

In normal mode the flavor asks, and the metadata are literals. An aggregate with a true
``force_metadata_check`` turns this round: each of its keys asks, in the words of a flavor, and the
flavor answers; a key is the same then with and without the escape scope.

Shapes::

    check({'ssd': '<or> true <or> ~'}, [{'ssd': 'false'}, {'rack': 'a, b'}], ['ssd', 'racks'])
    Verdict(REJECT, 'aggregate_metadata.mismatch',
            {'key': 'ssd', 'asked': '<or> true <or> ~', 'found': 'false', 'aggregates': 'ssd'})

Units: one of several values of a key is enough. Of several keys that do not agree, the first by its
name is reported. None is taken for empty.

Source: document 000. We differ on purpose from the filter that was shipped with it, by this
project's decisions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from senlin_affinity.core.aggregates import key_states
from senlin_affinity.core.aggregates.host_metadata import FORCE as FORCE
from senlin_affinity.core.aggregates.host_metadata import SCOPE as SCOPE
from senlin_affinity.core.aggregates.host_metadata import HostMetadata, unscoped
from senlin_affinity.core.aggregates.key_states import ABSENT, ILLEGAL, States
from senlin_affinity.core.aggregates.reasons import REASONS as REASONS
from senlin_affinity.core.reasons import sentence
from senlin_affinity.core.verdict import Verdict

FLAVOR = 'the flavor'

_LOGGED = ('aggregate_metadata.illegal', 'aggregate_metadata.unreadable')


def check(
    extra_specs: Mapping[str, str],
    aggregates: Sequence[Mapping[str, str]],
    names: Sequence[str] | None = None,
) -> Verdict:
    """May a server with these extra specs go to a host of aggregates with this metadata?"""
    return Requirements.parse(extra_specs).check(aggregates, names)


def warnings(
    verdict: Verdict, aggregates: Sequence[Mapping[str, str]], names: Sequence[str] | None = None
) -> tuple[str, ...]:
    """What whoever asked for this verdict should log as a warning."""
    illegal = (sentence(verdict, REASONS),) if verdict.code in _LOGGED else ()
    return (*illegal, *HostMetadata(aggregates, names).warnings())


@dataclass(frozen=True)
class Requirement:
    """One extra spec: the key of the metadata that it is about, and what it accepts there."""

    key: str
    states: States
    is_optional: bool


@dataclass(frozen=True)
class Requirements:
    """The extra specs of a flavor, parsed.

    ``asked`` is what counts in normal mode, in the order of the keys; ``by_name`` is where a forced
    key finds the flavor's answers: that under its own name, and that behind the escape scope.
    """

    asked: tuple[Requirement, ...]
    by_name: Mapping[str, tuple[States, ...]] = field(hash=False)

    @classmethod
    def parse(cls, extra_specs: Mapping[str, str]) -> Requirements:
        """Read the extra specs of a flavor; the reserved key asks for nothing."""
        asked: list[Requirement] = []
        by_name: dict[str, tuple[States, ...]] = {}
        extra_specs = extra_specs or {}
        for name in sorted(extra_specs, key=str):
            spelt = str(name)
            key = spelt.removeprefix(SCOPE)
            if key == FORCE:
                continue
            states = key_states.parse(extra_specs[name])
            # A namespace other than the escape scope may be somebody else's.
            asked.append(Requirement(key, states, is_optional=key == spelt and ':' in key))
            bare = unscoped(spelt)
            by_name[bare] = (*by_name.get(bare, ()), states)
        return cls(tuple(sorted(asked, key=lambda each: each.key)), by_name)

    def check(
        self, aggregates: Sequence[Mapping[str, str]], names: Sequence[str] | None = None
    ) -> Verdict:
        """Judge a host by the metadata of its aggregates, whose names are in the reason."""
        host = HostMetadata(aggregates, names)
        forced = host.forced_keys()
        refusal = self._answer(forced, host) if forced else self._ask(host)
        if refusal is not None:
            return refusal
        if forced.keys() <= {FORCE} if forced else not self.asked:
            return Verdict.passed('aggregate_metadata.nothing_asked')
        return Verdict.passed('aggregate_metadata.matches', mode='forced' if forced else 'normal')

    def unmet(self, aggregates: Sequence[Mapping[str, str]]) -> Verdict | None:
        """Why aggregates that force nothing do not do; quicker than ``check`` where they do."""
        return self._ask(HostMetadata(aggregates))

    def _ask(self, host: HostMetadata) -> Verdict | None:
        """Normal mode: each extra spec must find the absent key, or one of its values."""
        for requirement in self.asked:
            states, found = requirement.states, host.values(requirement.key)
            if found:
                is_met = states.accepts(found)
            else:
                # A contradiction is reported, also where there is nothing to compare it with.
                may_lack = requirement.is_optional or states.accepts_absent
                is_met = may_lack and states.fault != ILLEGAL
            if not is_met:
                return _not_found(requirement, host)
        return None

    def _answer(self, forced: Mapping[str, Collection[str]], host: HostMetadata) -> Verdict | None:
        """Forced mode: what the metadata accept and what the flavor accepts must meet."""
        for key, spellings in sorted(forced.items()):
            if key == FORCE:
                continue
            values = [value for spelling in spellings for value in host.values(spelling)]
            demanded = key_states.union(map(key_states.parse, values))
            for given in self.by_name.get(key, (ABSENT,)):
                if not demanded.meets(given):
                    return _not_met(key, demanded, given, host.holders(spellings))
        return None


def _not_found(requirement: Requirement, host: HostMetadata) -> Verdict:
    """Why an extra spec does not find what it asks for."""
    key, states = requirement.key, requirement.states
    found, aggregates = host.values(key), host.holders((key,))
    if states.fault:
        return _faulty(key, states, FLAVOR, aggregates)
    for value in found:
        if not isinstance(value, str):
            return _faulty(key, key_states.parse(value), aggregates, aggregates)
    code = 'mismatch' if states.accepts_present else 'unwanted_key'
    differing = ', '.join(sorted(found))
    return _differing(code if found else 'missing_key', key, states, differing, aggregates)


def _not_met(key: str, demanded: States, given: States, aggregates: str) -> Verdict:
    """Why a flavor does not have what the metadata demand."""
    faulty = [side for side in ((demanded, aggregates), (given, FLAVOR)) if side[0].fault]
    if faulty:
        # What is illegal comes first: it is warned of.
        states, where = min(faulty, key=lambda side: side[0].fault != ILLEGAL)
        return _faulty(key, states, where, aggregates)
    if not given.accepts_present:
        code = 'forced_missing_key'
    elif not demanded.accepts_present:
        code = 'forced_unwanted_key'
    elif demanded.conditions and given.conditions:
        # Whether two operators share a value is not worked out.
        code = 'not_comparable'
    else:
        code = 'forced_mismatch'
    return _differing(code, key, demanded, given.text, aggregates)


def _differing(code: str, key: str, asked: States, found: str, aggregates: str) -> Verdict:
    facts = {'key': key, 'asked': asked.text, 'found': found, 'aggregates': aggregates}
    return Verdict.rejected(f'aggregate_metadata.{code}', **facts)


def _faulty(key: str, states: States, where: str, aggregates: str) -> Verdict:
    facts = {'key': key, 'value': states.text, 'where': where, 'aggregates': aggregates}
    return Verdict.rejected(f'aggregate_metadata.{states.fault}', **facts)
