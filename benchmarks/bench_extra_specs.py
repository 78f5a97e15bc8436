"""Compare the validation of extra specs with Nova's ``validate``, and measure hostile values.

Both validate the same names and values in one run, so that the ratios do not depend on the
machine's load. Nova finds an exact name in a dictionary, and tries all patterns for every other
name; there are more of them than Python's cache holds, so that each is compiled again.

The second table has the slowest hostile value of 255 characters for each pattern.

Run: make bench. Prints the minimum of the rounds for one call, and how many times faster ours is.
"""

from __future__ import annotations

import itertools
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator

from nova.api.validation.extra_specs import validators as nova
from nova.exception import ValidationError

from benchmarks.goals import Goal, report
from senlin_affinity.extra_specs import validate
from senlin_affinity.extra_specs.registry import Registry
from senlin_affinity.model.errors import InvalidExtraSpec

ROUNDS = 20
LENGTH = 255
#: Maximum seconds for any value.
LIMIT = 0.01
#: Kinds of names, each with the minimum ratio to Nova's time.
KINDS = {
    'exact': (1, [('hw:cpu_policy', 'dedicated'), ('hw:numa_nodes', '2'), ('hw:pmu', 'true')]),
    'templated hw:': (5, [('hw:numa_cpus.0', '0-3'), ('hw:numa_mem.1', '512')]),
    'traits': (20, [('trait{}:HW_CPU_X86_AVX2', 'required'), ('trait{}:COMPUTE_NODE', 'required')]),
    'custom traits': (20, [('trait{}:CUSTOM_A', 'required')]),
    'resources': (10, [(f'resources{{}}:{name}', '1') for name in ('VCPU', 'CUSTOM_A')]),
    'unknown': (
        100,
        [(name, '1') for name in ('hw:cpu_pollicy', 'trait:HW_CPU_X86_AVX22', 'foo:bar', 'foo')],
    ),
}
#: The reason for the missed goals of these kinds.
SLOWER = ('exact', 'templated hw:', 'traits', 'resources')
MICROSECONDS = 'it is 5 us; a cache and an index that saved a few were deleted'
#: Parts of hostile values: repeated words, prefixes and suffixes.
WORDS = (
    '0',
    '0,',
    '0-',
    '^0',
    ',0',
    'a',
    'a,',
    ' ',
    ' ,',
    ', ',
    'a:1,',
    ':1',
    '1k',
    ':a',
    '-',
    '_A',
)
BEFORE = ('', '0', 'a:1', 'a:1,', ':')
BEHIND = ('!', '\x00', ':', ',', '-', '')


def cases(given: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return each extra spec without a group number and, where one is possible, with one."""
    return list(
        dict.fromkeys((name.format(group), value) for name, value in given for group in ('', '1'))
    )


def seconds(judge: Callable[[str, str], object], specs: list[tuple[str, str]], times: int) -> float:
    """Return the seconds of one call, measured in one round."""
    start = time.process_time()
    for _ in range(times):
        for name, value in specs:
            try:
                judge(name, value)
            except (ValidationError, InvalidExtraSpec):
                continue
    return (time.process_time() - start) / times / len(specs)


def against_nova() -> Iterator[Goal]:
    for kind, (wanted, given) in KINDS.items():
        specs = cases(given)
        # Short rounds in turns: other load on the machine affects both alike.
        rounds = [
            (seconds(validate, specs, 50), seconds(nova.validate, specs, 1 if wanted > 20 else 5))
            for _ in range(ROUNDS)
        ]
        ours, theirs = (min(found) for found in zip(*rounds, strict=True))
        print(f'{kind:16} {ours * 1e6:7.2f} us {theirs * 1e6:9.1f} us')
        name = f"judge an extra spec, {kind}: times faster than Nova's"
        reason = MICROSECONDS if kind in SLOWER else None
        yield Goal(name, theirs / ours, wanted, reason, is_least=True)


def hostile_values() -> Iterator[Goal]:
    """Measure each pattern with its slowest value."""
    shipped: dict[str, tuple[re.Pattern[str], str]] = {}
    for validator in Registry().validators:
        regexes = [part.regex for part in validator.parts if part and not part.is_literal]
        for regex in filter(None, (validator.value.regex, *regexes)):
            shipped.setdefault(regex.pattern, (regex, validator.name))
    found = []
    for pattern, (regex, name) in shipped.items():
        slowest = max(hostile(), key=lambda value: seconds_of(regex.fullmatch, value, 3))
        worst = seconds_of(regex.fullmatch, slowest, ROUNDS)
        if worst > LIMIT:
            print(f'{worst * 1e6:10.1f} us  {pattern}  ({name})')
        found.append(worst)
    name = f'the slowest of {len(shipped)} patterns and {len(list(hostile()))} hostile values: us'
    yield Goal(name, max(found) * 1e6, LIMIT * 1e6)
    suggest = Registry().suggest
    names = [f'{namespace}{value}'[:LENGTH] for namespace in ('', 'hw:') for value in hostile()]
    worst = max(seconds_of(suggest, name, 3) for name in names)
    yield Goal('suggestions for an unknown hostile name: us', worst * 1e6, LIMIT * 1e6)


def hostile() -> Iterable[str]:
    for before, word, behind in itertools.product(BEFORE, WORDS, BEHIND):
        room = LENGTH - len(before) - len(behind)
        yield before + (word * LENGTH)[:room] + behind


def seconds_of(call: Callable[[str], object], value: str, rounds: int) -> float:
    found = []
    for _ in range(rounds):
        start = time.process_time()
        call(value)
        found.append(time.process_time() - start)
    return min(found)


if __name__ == '__main__':
    sys.exit(report([*against_nova(), *hostile_values()]))
