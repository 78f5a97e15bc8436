"""Mutants: small mistakes in functions of a running process."""

import importlib.util
import textwrap

import pytest

from tests.mutants.exchange import exchange, functions
from tests.mutants.operators import in_module, mutants


def changed(source):
    """Return the replacements of each changed line."""
    return [
        [line[1:].strip() for line in each.diff.splitlines() if line[0] == '+']
        for each in mutants('m.py', textwrap.dedent(source))
    ]


@pytest.mark.parametrize(
    ('body', 'expected'),
    [
        ('return a < b', [['return None'], ['return a <= b']]),
        ('return a is b', [['return None'], ['return a is not b']]),
        ('return a and b', [['return None'], ['return a or b']]),
        ('return not a', [['return None'], ['return not not a']]),
        ('return a + 1', [['return None'], ['return a - 1'], ['return a + 2']]),
        ('return min(a, b)', [['return None'], ['return max(a, b)']]),
        ("return a['key']", [['return None'], ["return a['keyx']"]]),
        ("return 'some words'", [['return None']]),
        ("return f'{a}!'", [['return None']]),
        ('return None', []),
        ('return zip(a, b, strict=True)', [['return None']]),
        ('return zip(a, strict=False)', [['return None'], ['return zip(a, strict=True)']]),
        ('raise a', [['pass']]),
        ('a(b=True)', [['pass'], ['a()'], ['a(b=False)']]),
        ('return [x for x in a if x]', [['return None'], ['return [x for x in a]']]),
        ('a += b', [['a -= b'], ['pass']]),
        ('"""Only words."""', []),
    ],
)
def test_the_mutants_of_one_statement(body, expected):
    assert changed(f'def f(a, b):\n    {body}') == expected


def test_a_mutant_replaces_its_function_in_the_module():
    module = """
        def f(a):
            return a

        class Held:
            @property
            def f(self):
                return self.a  # kept elsewhere

        WORDS = 'after'
    """
    source = textwrap.dedent(module)
    (mutant,) = [each for each in mutants('m.py', source) if each.function == 'Held.f']
    expected = source.replace('return self.a  # kept elsewhere', 'return None')
    assert in_module(source, mutant) == expected


def test_the_key_does_not_depend_on_the_rest_of_the_file():
    function = 'def f(a):\n    return a + 1  # words\n'
    before, after = (next(mutants('m.py', text)) for text in (function, f'X = 1\n{function}'))
    assert before.key == after.key
    assert before.lines != after.lines


@pytest.fixture
def module(tmp_path):
    """A module of decorated functions, loaded from a file."""
    path = tmp_path / 'mutated.py'
    path.write_text(
        textwrap.dedent("""
            import functools

            def plain(a):
                return a + 1

            class Held:
                @property
                def shown(self):
                    return [x + 1 for x in (1, 2)]

                @functools.cached_property
                def kept(self):
                    return super().__init__() or 1
        """)
    )
    spec = importlib.util.spec_from_file_location('mutated', path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.mark.parametrize(
    ('name', 'mistake', 'value', 'mutated'),
    [
        ('plain', 'a - 1', lambda module: module.plain(1), 0),
        ('Held.shown', 'x + 2', lambda module: module.Held().shown, [3, 4]),
        ('Held.kept', 'or 2', lambda module: module.Held().kept, 2),
    ],
)
def test_the_code_of_one_function_is_replaced(module, tmp_path, name, mistake, value, mutated):
    path, held = tmp_path / 'mutated.py', module.plain
    before = value(module)
    found = mutants(str(path), path.read_text(), only=name)
    (mutant,) = (each for each in found if mistake in each.diff)
    assert exchange(functions(tmp_path), path, name, mutant.source)
    assert value(module) == mutated != before
    assert module.plain is held  # modules that imported it run the new code, too
