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

Facts of the reasons: ``asked`` and ``found`` are the raw values of the two sides; ``found`` is
empty without such a key. ``aggregates`` are the names of the aggregates with the key, or of all
aggregates of the host if none has it ("none" if it is in no aggregate).

Source: "Filter - Aggregate Instance Type Filter" (nfv-filters).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.numbers import FALSE, TRUE
from senlin_affinity.model.verdict import Reason, Verdict, sentence
from senlin_affinity.nova import extra_spec_operators
from senlin_affinity.nova.extra_spec_operators import ABSENT, ILLEGAL, States

FORCE = 'force_metadata_check'
ZONE = 'availability_zone'
SCOPE = 'aggregate_instance_extra_specs:'


@dataclass(frozen=True)
class HostMetadata:
    """The metadata of each aggregate of a host, and the names of the aggregates."""

    aggregates: Sequence[Mapping[str, str]] = field(hash=False)
    names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.aggregates is None or None in self.aggregates:
            found = tuple(metadata or {} for metadata in self.aggregates or ())
            object.__setattr__(self, 'aggregates', found)

    def values(self, key: str) -> list[Any]:
        """Return all values of a key; empty if no aggregate has it."""
        values: list[Any] = []
        for metadata in self.aggregates:
            if key in metadata:
                text = metadata[key]
                if not isinstance(text, str):
                    values.append(text)
                elif ',' in text:
                    values += map(str.strip, text.split(','))
                else:
                    values.append(text.strip())
        return values

    def forced_keys(self, ignored: tuple[str, ...] = ()) -> dict[str, set[str]]:
        """Return the keys, with the reserved one, of the aggregates that force their metadata.

        The keys have no scope; the values are all spellings of a key on this host. Keys that begin
        with an ignored prefix are left out.
        """
        forced: dict[str, set[str]] = {}
        for metadata in self.aggregates:
            if FORCE in metadata and _word(metadata) in TRUE:
                for spelling in metadata:
                    if spelling == FORCE or not str(spelling).startswith(ignored):
                        forced.setdefault(unscoped(spelling), set())
        for spelling in set().union(*self.aggregates) if forced else ():
            key = unscoped(spelling)
            if key in forced:
                forced[key].add(spelling)
        return forced

    def holders(self, spellings: Collection[str]) -> str:
        """Return the names of the aggregates with one of the keys, or else of all, or "none"."""
        named = self._named()
        holders = [name for name, metadata in named if not metadata.keys().isdisjoint(spellings)]
        return ', '.join(sorted(holders or [name for name, _ in named])) or 'none'

    def warnings(self) -> tuple[str, ...]:
        """Return a warning for each ``force_metadata_check`` that is not a boolean."""
        return tuple(
            f'{FORCE} is {metadata[FORCE]!r} in {name}, which is not a boolean, so it has no effect'
            for name, metadata in self._named()
            if FORCE in metadata and _word(metadata) not in TRUE | FALSE
        )

    def _named(self) -> list[tuple[str, Mapping[str, str]]]:
        names = self.names or [f'aggregate {i}' for i, _ in enumerate(self.aggregates, 1)]
        return list(zip(names, self.aggregates, strict=False))


def unscoped(spelling: str) -> str:
    """Return a key without the escape scope, which does not change its meaning."""
    key = str(spelling)
    while key.startswith(SCOPE):
        key = key[len(SCOPE) :]
    return key


def _word(metadata: Mapping[str, str]) -> str:
    return str(metadata[FORCE]).strip().lower()


REASONS: Mapping[str, Reason] = {
    'aggregate_metadata.matches': Reason(
        'the extra specs match the metadata of the aggregates (mode: {mode})'
    ),
    'aggregate_metadata.nothing_asked': Reason(
        'neither the extra specs nor the aggregates require anything'
    ),
    'aggregate_metadata.missing_key': Reason(
        'the flavor requires {key} "{asked}", but no aggregate of the host has this key '
        '(its aggregates: {aggregates})',
        advice='set the key on an aggregate of the host, or write "<or> VALUE <or> ~" in the extra '
        'spec',
        of_several='is in no aggregate that matches {key} "{asked}", which the flavor requires',
        of_host='aggregates: {aggregates}',
    ),
    'aggregate_metadata.mismatch': Reason(
        'the flavor requires {key} "{asked}", but the metadata of {aggregates} has "{found}"',
        advice='change the extra spec or the metadata, or use hosts of another aggregate',
        of_several='is in no aggregate that matches {key} "{asked}", which the flavor requires',
        of_host='{aggregates}: "{found}"',
    ),
    'aggregate_metadata.unwanted_key': Reason(
        'the flavor requires hosts without {key} ("{asked}"), but the metadata of {aggregates} '
        'has "{found}"',
        advice='use hosts without the key, or name the values that are allowed after "<or>"',
        of_several='is in an aggregate with {key}, but the flavor requires hosts without it '
        '("{asked}")',
        of_host='{aggregates}: "{found}"',
    ),
    'aggregate_metadata.forced_missing_key': Reason(
        'the metadata of {aggregates} requires {key} "{asked}" of every flavor, but this flavor '
        'lacks it',
        advice='set the extra spec, or use hosts of another aggregate',
        of_several='is in an aggregate that requires {key} of every flavor, but this flavor lacks '
        'it',
        of_host='{aggregates}: "{asked}"',
    ),
    'aggregate_metadata.forced_mismatch': Reason(
        'the metadata of {aggregates} requires {key} "{asked}" of every flavor, '
        'but this flavor has "{found}"',
        advice='change the extra spec, or use hosts of another aggregate',
        of_several='is in an aggregate that requires another {key} of every flavor than '
        '"{found}", which this flavor has',
        of_host='{aggregates}: "{asked}"',
    ),
    'aggregate_metadata.forced_unwanted_key': Reason(
        'the metadata of {aggregates} requires flavors without {key} ("{asked}"), '
        'but this flavor has "{found}"',
        advice='remove the extra spec from the flavor, or use hosts of another aggregate',
        of_several='is in an aggregate that requires flavors without {key}, but this flavor has '
        '"{found}"',
        of_host='{aggregates}: "{asked}"',
    ),
    'aggregate_metadata.not_comparable': Reason(
        'the metadata of {aggregates} requires {key} "{asked}", and the flavor has "{found}": '
        'two operators cannot be compared',
        advice='write plain values on one of the two sides',
        of_several='is in an aggregate whose {key} cannot be compared with "{found}", which the '
        'flavor has',
        of_host='{aggregates}: "{asked}"',
    ),
    'aggregate_metadata.illegal': Reason(
        '{key} is "{value}" in {where}: "!" says that the key must be absent, '
        'so no other value is allowed with it',
        advice='write "!" alone; "~" permits an absent key beside other values',
    ),
    'aggregate_metadata.unsatisfiable': Reason(
        '{key} is "{value}" in {where}, which no value satisfies',
        advice='add an operand to the operator: a number for = == != >= <=, words for the others',
    ),
    'aggregate_metadata.unreadable': Reason(
        '{key} is {value} in {where}, which is not a string',
        advice='write the metadata as a string',
    ),
}

#: The reasons of Nova's own filter, which has neither sentinels nor forced keys.
NOVA_REASONS: Mapping[str, Reason] = {
    'aggregate_metadata.nova_matches': Reason(
        "Nova's own filter: the extra specs match the metadata of the aggregates"
    ),
    'aggregate_metadata.nova_missing_key': Reason(
        'Nova\'s own filter: the flavor requires {key} "{asked}", but no aggregate of the host '
        'has this key (its aggregates: {aggregates})',
        advice='set the key on an aggregate of the host, or remove the extra spec from the flavor',
        of_several='is in no aggregate that matches {key} "{asked}", which the flavor requires',
        of_host='aggregates: {aggregates}',
    ),
    'aggregate_metadata.nova_mismatch': Reason(
        'Nova\'s own filter: the flavor requires {key} "{asked}", but the metadata of '
        '{aggregates} has "{found}"',
        advice='change the extra spec or the metadata, or use hosts of another aggregate',
        of_several='is in no aggregate that matches {key} "{asked}", which the flavor requires',
        of_host='{aggregates}: "{found}"',
    ),
    'aggregate_metadata.nova_fails': Reason(
        'Nova\'s own filter fails on {key}: "{asked}" and "{found}" in {aggregates}; '
        'then the whole request fails, not only this host',
        advice='correct the operator in the extra spec, or the metadata',
    ),
}


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
            states = extra_spec_operators.parse_states(extra_specs[name])
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
            demanded = extra_spec_operators.union(map(extra_spec_operators.parse_states, values))
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
            return _faulty(key, extra_spec_operators.parse_states(value), aggregates, aggregates)
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


def compared_metadata(aggregate: Aggregate) -> Mapping[str, str]:
    """Return the metadata that the filters compare: with the zone as ``availability_zone``."""
    zone = aggregate.availability_zone
    return aggregate.metadata if zone is None else {ZONE: zone, **aggregate.metadata}
