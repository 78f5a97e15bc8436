"""Compare a flavor's extra specs with the metadata of the aggregates of a host.

In normal mode, the extra specs are requirements and the metadata are literals. An aggregate with a
true ``force_metadata_check`` reverses this: each of its metadata is a requirement in the syntax of
extra specs, which the flavor must satisfy. In this forced mode, a key with the escape scope equals
the key without it.

Example::

    check({'ssd': '<or> true <or> ~'}, [{'ssd': 'false'}, {'rack': 'a, b'}], ['ssd', 'racks'])
    Verdict(REJECT, 'aggregate_metadata.mismatch',
            {'key': 'ssd', 'asked': '<or> true <or> ~', 'found': 'false', 'aggregates': 'ssd'})

One matching value of a key suffices. Of several keys that do not match, the alphabetically first is
reported. None counts as empty.

Source: "Filter - Aggregate Instance Type Filter" (nfv-filters).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from senlin_affinity.model.reason import sentence
from senlin_affinity.model.verdict import Verdict
from senlin_affinity.nova import key_states
from senlin_affinity.nova.aggregate_reasons import REASONS as REASONS
from senlin_affinity.nova.host_metadata import FORCE as FORCE
from senlin_affinity.nova.host_metadata import SCOPE as SCOPE
from senlin_affinity.nova.host_metadata import HostMetadata, unscoped
from senlin_affinity.nova.key_states import ABSENT, ILLEGAL, States

FLAVOR = 'the flavor'

_LOGGED = ('aggregate_metadata.illegal', 'aggregate_metadata.unreadable')


def check(
    extra_specs: Mapping[str, str],
    aggregates: Sequence[Mapping[str, str]],
    names: Sequence[str] | None = None,
) -> Verdict:
    """Check whether a host in these aggregates accepts a flavor with these extra specs."""
    return Requirements.parse(extra_specs).check(aggregates, names)


def warnings(
    verdict: Verdict, aggregates: Sequence[Mapping[str, str]], names: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Return the warnings that the caller should log for this verdict."""
    illegal = (sentence(verdict, REASONS),) if verdict.code in _LOGGED else ()
    return (*illegal, *HostMetadata(aggregates, names).warnings())


@dataclass(frozen=True)
class Requirement:
    """One extra spec: its metadata key, and the states of that key that it accepts.

    ``is_optional``: a host may lack the key, because it has another namespace.
    """

    key: str
    states: States
    is_optional: bool


@dataclass(frozen=True)
class Requirements:
    """The parsed extra specs of a flavor.

    ``asked`` are the requirements of normal mode, sorted by key. ``by_name`` maps a key without the
    escape scope to the flavor's values, for forced mode. Keys that begin with an ``ignored`` prefix
    are not compared on either side.
    """

    asked: tuple[Requirement, ...]
    by_name: Mapping[str, tuple[States, ...]] = field(hash=False)
    ignored: tuple[str, ...] = ()

    @classmethod
    def parse(cls, extra_specs: Mapping[str, str], ignored: tuple[str, ...] = ()) -> Requirements:
        """Parse the extra specs of a flavor, without the reserved key and the ignored prefixes."""
        asked: list[Requirement] = []
        by_name: dict[str, tuple[States, ...]] = {}
        extra_specs = extra_specs or {}
        for name in sorted(extra_specs, key=str):
            spelt = str(name)
            key = spelt.removeprefix(SCOPE)
            if key == FORCE or spelt.startswith(ignored):
                continue
            states = key_states.parse(extra_specs[name])
            # An extra spec in another namespace may have another purpose.
            asked.append(Requirement(key, states, is_optional=key == spelt and ':' in key))
            bare = unscoped(spelt)
            by_name[bare] = (*by_name.get(bare, ()), states)
        return cls(tuple(sorted(asked, key=lambda each: each.key)), by_name, ignored)

    def check(
        self, aggregates: Sequence[Mapping[str, str]], names: Sequence[str] | None = None
    ) -> Verdict:
        """Check a host by the metadata of its aggregates; a rejection names the aggregates."""
        host = HostMetadata(aggregates, names)
        forced = host.forced_keys(self.ignored)
        refusal = self._answer(forced, host) if forced else self._ask(host)
        if refusal is not None:
            return refusal
        if forced.keys() <= {FORCE} if forced else not self.asked:
            return Verdict.passed('aggregate_metadata.nothing_asked')
        return Verdict.passed('aggregate_metadata.matches', mode='forced' if forced else 'normal')

    def unmet(self, aggregates: Sequence[Mapping[str, str]]) -> Verdict | None:
        """Return the rejection in normal mode, or None; cheaper than ``check``."""
        return self._ask(HostMetadata(aggregates))

    def _ask(self, host: HostMetadata) -> Verdict | None:
        """Check normal mode: each extra spec matches a value of its key, or its absence."""
        for requirement in self.asked:
            states, found = requirement.states, host.values(requirement.key)
            if found:
                is_met = states.accepts(found)
            else:
                # Report a contradiction even if there is no value to compare.
                may_lack = requirement.is_optional or states.accepts_absent
                is_met = may_lack and states.fault != ILLEGAL
            if not is_met:
                return _not_found(requirement, host)
        return None

    def _answer(self, forced: Mapping[str, Collection[str]], host: HostMetadata) -> Verdict | None:
        """Check forced mode: the metadata and the flavor must accept a common state."""
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
    faulty = [side for side in ((demanded, aggregates), (given, FLAVOR)) if side[0].fault]
    if faulty:
        # Prefer an illegal value, which is logged as a warning.
        states, where = min(faulty, key=lambda side: side[0].fault != ILLEGAL)
        return _faulty(key, states, where, aggregates)
    if not given.accepts_present:
        code = 'forced_missing_key'
    elif not demanded.accepts_present:
        code = 'forced_unwanted_key'
    elif demanded.conditions and given.conditions:
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
