"""Compare our validators with those of the real Nova, except for listed differences.

Nova's patterns take exponential time, so values for it must be short (D4-08).
"""

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import strategies as st

from senlin_affinity.extra_specs import validate
from senlin_affinity.extra_specs.registry import Registry
from senlin_affinity.model.errors import InvalidExtraSpec

REGISTRY = Registry()
#: The names that this project adds to Nova.
OURS = ('force_metadata_check', 'reservation:{id}')
FAMILIES = sorted(each.name for each in REGISTRY.own if each.name not in OURS)
SHORT = 12


class Nova:
    """A proxy for the functions of ``tests/support/nova_child.py`` in its process."""

    def __init__(self, process):
        self.process = process
        self.words = self.limits()

    def __getattr__(self, name):
        return lambda *arguments: self.ask(name, *arguments)

    def ask(self, *question):
        print(json.dumps(question), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


@pytest.fixture(scope='session')
def nova():
    command = [sys.executable, '-W', 'ignore', '-m', 'tests.support.nova_child']
    root, pipe = Path(__file__).parents[2], subprocess.PIPE
    with subprocess.Popen(command, cwd=root, stdin=pipe, stdout=pipe, text=True) as process:
        yield Nova(process)
        process.stdin.close()


def is_accepted(name, value):
    try:
        validate(name, value, 'strict', REGISTRY)
    except InvalidExtraSpec:
        return False
    return True


def difference(name, value):
    """Return the id of the listed difference, or None if both must agree."""
    namespace, colon, key = name.partition(':')
    if name == 'force_metadata_check' or re.fullmatch('reservation:.+', name):
        return 'RX-05'
    if name not in FAMILIES and not (colon and NAMESPACE.fullmatch(namespace)):
        return 'D4-02'
    if namespace == 'hw' and re.fullmatch(r'numa_(cpus|mem)[^.]\d+', key):
        return 'D4-10'
    if namespace == 'aggregate_instance_extra_specs' and re.match(r'\s*<or>', value):
        words = value.split()
        alternatives = words[1::2] if words and words[0] == '<or>' else []
        return 'Q0-5' if '!' in alternatives and len(set(alternatives)) > 1 else None
    return None


#: The namespaces of Nova.
NAMESPACE = re.compile(
    'accel|aggregate_instance_extra_specs|capabilities|hw|hw_rng|hw_video|os|pci_passthrough|quota|'
    '(resources|trait)[a-zA-Z0-9_-]{0,64}|vmware'
)


def check(nova, name, value):
    """Check that both agree or differ as listed, and return the id of the difference."""
    found = difference(name, value)
    if found is None:
        assert is_accepted(name, value) is nova.takes(name, value), (name, value)
    elif found == 'RX-05':
        is_taken = name != 'force_metadata_check' or nova.takes('hw:boot_menu', value)
        assert is_accepted(name, value) is is_taken
    else:
        assert not is_accepted(name, value), (found, name, value)
    return found


FILLERS = {
    'group': ('', '1', '_net-a', 'x' * 64),
    'num': ('0', '17', '٣'),
    'key': ('ssd', 'a:b', 'a b', '\t'),
    'filter': ('', ':a', ':a:b_1'),
    'resource': ('GPU', '_', '1'),
    'trait': ('GPU', '_', '1'),
}
WRONG_FILLERS = ('', 'é', '-', 'x' * 65, '\n', ':', '::a', 'a.b', 'gpu')


def names(family, fillers=FILLERS):
    """Yield names that match a template."""
    parameters = re.findall(r'{(\w+)}', family)
    for values in itertools.product(*(fillers[parameter] for parameter in parameters)):
        name = family
        for parameter, value in zip(parameters, values, strict=True):
            name = name.replace(f'{{{parameter}}}', value)
        yield name


def near_misses(name):
    """Yield similar names that a person may write by mistake."""
    yield from (name.upper(), name.lower(), name.capitalize(), f' {name}', f'{name} ', f'{name}\n')
    yield from (name.replace('.', 'X'), name.replace(':', '.'), name.replace('_', '-'))
    yield from (name[1:], name[:-1], f'{name}s', name.partition(':')[2], f'{name}:', f'x{name}')
    yield name.replace(':', '1:', 1)


EDGES = (
    '', ' ', '0', '1', '-1', '+1', ' 1 ', '1\n', '1.0', '01', '1_0', '15', '16', '٣', 'true',
    'True', 'YES', ' on ', 'off', 'f', 'n', '2', 'none', 'None', '*', '~', '!', '<or> 1 <or> ~',
    '<or> ! <or> 1', '0-3', '0-3,^1', '^0', '0,', 'gpu:1', 'gpu:1,b:2', 'gpu:1 , b:2', 'a,b',
    'a,,b', '2MB', 'large', 'required', 'dedicated', '\x00', '\u2028', 'ſ', 'İ',
)  # fmt: skip


def values(nova, family):
    """Yield values near the limits of Nova's validator."""
    yield from EDGES
    for word in nova.words[family]:
        yield from (word, word.upper(), f'{word} ', word[1:], word + word)


#: Values of few characters, so that many nearly match.
VALUES = st.one_of(
    st.text('0123-,^', max_size=SHORT),
    st.text('a0:, -', max_size=SHORT),
    st.text('12kKMGTibt', max_size=8),
    st.integers(-3, 20).map(str),
    st.sampled_from(EDGES),
    st.text(max_size=SHORT),
    st.lists(st.sampled_from(['<or>', '!', '~', '*', ' ', '1', 's==', '<in>']), max_size=6).map(
        ''.join
    ),
)


def spellings(family):
    return [each for name in names(family) for each in (name, *near_misses(name))]


NAMES = st.one_of(
    # By index, so that a failure does not print the whole list.
    st.integers(0, len(FAMILIES) - 1).flatmap(
        lambda place: st.sampled_from(spellings(FAMILIES[place]))
    ),
    st.tuples(
        st.sampled_from(['hw', 'trait', 'trait1', 'os', 'foo', 'reservation', 'Hw', '']),
        st.sampled_from([':', '', '::']),
        st.sampled_from(['cpu_policy', 'CUSTOM_A', 'VCPU', 'a', '', 'numa_mem.1', 'secure_boot'])
        | st.text(max_size=4),
    ).map(''.join),
)
