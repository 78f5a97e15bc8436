"""Limit the size of the source, its upward imports, duplicate names and violations of the style.

The limits are in ``guards.yaml``, and may only fall.
"""

import ast
import re
from collections import Counter, defaultdict

import pytest
import tomllib

from tests.support.guards import GUARDS, hold
from tests.support.source import PACKAGE, ROOT, Source, in_one_line, package_of, read

MODULES = read(PACKAGE)
SMALL = 40
#: Only constraints have optional members here. Elsewhere the name of the variable decides.
OF_CONSTRAINTS = ('model', 'nova', 'planner', 'constraints', 'policy', 'preflight', 'groups')
NAMES_OF_CONSTRAINTS = ('constraint', 'each', 'item', 'rule')
BANNED = re.compile(rf'\b(?:{"|".join(GUARDS["banned"])})\b', re.IGNORECASE)
VERBS = frozenset(GUARDS['verbs'].split())


def code_lines():
    sizes = Counter()
    for module in MODULES.values():
        sizes[package_of(module.name)] += module.code_lines
    total = sum(sizes.values()) - sizes['sandbox']
    tests = sum(each.code_lines for each in read(ROOT / 'tests').values())
    return {**sizes, 'all but sandbox': total, 'tests': tests}


def duplicated_classes(modules):
    places = defaultdict(list)
    for module in modules:
        for each in module.nodes:
            if isinstance(each, ast.ClassDef):
                places[each.name].append(f'{each.name}: {module.name}')
    return [each for group in places.values() if len(group) > 1 for each in group]


def detections(module):
    """Yield the calls that check whether a constraint has a member."""
    for each in module.nodes:
        if not isinstance(each, ast.Call) or not isinstance(each.func, ast.Name):
            continue
        if (each.func.id, len(each.args)) in (('hasattr', 2), ('getattr', 3)):
            variable = ast.unparse(each.args[0]).rpartition('.')[2].lstrip('_')
            if package_of(module.name) in OF_CONSTRAINTS or variable in NAMES_OF_CONSTRAINTS:
                yield f'{module.name}: {ast.unparse(each)}'


def imports():
    return {(name, other) for name, each in MODULES.items() for other in each.imports(MODULES)}


def small_modules():
    """Yield the small modules that one module imports and no entry point names."""
    setup = (ROOT / 'setup.cfg').read_text(encoding='utf-8')
    entry_points = {*re.findall(r'= *(senlin_affinity[\w.]+)', setup)}
    imported = Counter(other for _name, other in imports())
    for name, module in MODULES.items():
        if 0 < module.code_lines < SMALL and imported[name] == 1 and name not in entry_points:
            yield f'{name}: {module.code_lines}'


def banned_phrases(name, text):
    for found in BANNED.finditer(text):
        around = text[max(found.start() - 30, 0) : found.end() + 20]
        yield f'{name}: {found.group()!r} in "{around}"'


def questions(module):
    """Yield the docstrings that end in a question mark."""
    for each in module.docstrings:
        if each.value.rstrip().endswith('?'):
            yield f'{module.name}: {each.value}'


def odd_docstrings(module):
    """Yield the functions whose docstring begins with a question, or without a verb.

    The docstring of a property needs no verb (as in ruff's D401).
    """
    for each in module.nodes:
        if not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        line, _newline, _more = (ast.get_docstring(each) or '').partition('\n')
        is_property = any('property' in ast.unparse(item) for item in each.decorator_list)
        is_verb = is_property or line.split(' ')[0].rstrip(',:').lower() in VERBS
        if line and (not is_verb or re.search(r'\?(?:\s|$)', line)):
            yield f'{module.name}: {each.name}: {line}'


def test_the_line_length_stays():
    config = tomllib.loads((ROOT / 'pyproject.toml').read_text(encoding='utf-8'))
    assert config['tool']['ruff']['line-length'] == GUARDS['line_length']
    assert 'E501' not in str(config['tool']['ruff'])


def test_code_lines():
    sizes = code_lines()
    assert sizes.keys() == GUARDS['code_lines'].keys(), 'name each package in guards.yaml'
    for name, number in sizes.items():
        hold('code_lines', name, number, 'Delete code, or make it smaller.')


def test_no_more_classes_share_a_name():
    found = duplicated_classes(MODULES.values())
    hold('counts', 'classes with the same name', found, 'Give the new class another name.')


def test_no_more_optional_members_are_detected():
    found = [each for module in MODULES.values() for each in detections(module)]
    advice = 'Declare the member with a default in the class of all constraints.'
    hold('counts', 'detections of optional members', found, advice)


def test_no_more_constraints_import_the_planner():
    found = [
        f'{name} -> {other}'
        for name, other in sorted(imports())
        if (package_of(name), package_of(other)) == ('constraints', 'planner')
    ]
    advice = 'A constraint returns values of the model and calls nothing of the planner.'
    hold('counts', 'imports of planner by constraints', found, advice)


def test_no_more_small_modules_have_one_importer():
    advice = 'Move the code into the module that imports it.'
    hold('counts', 'small modules with one importer', small_modules(), advice)


def test_no_more_banned_phrases():
    advice = 'Rewrite the sentence, or delete it.'
    found = [x for each in MODULES.values() for x in banned_phrases(each.name, each.prose)]
    hold('style', 'banned phrases in the package', found, advice)
    pages = (ROOT / 'doc/source').rglob('*.rst')
    texts = [(each.name, in_one_line(each.read_text(encoding='utf-8'))) for each in pages]
    found = [x for name, text in texts for x in banned_phrases(name, text)]
    hold('style', 'banned phrases in the manual', found, advice)


def test_no_more_docstrings_of_functions_begin_without_a_verb():
    found = [each for module in MODULES.values() for each in odd_docstrings(module)]
    advice = 'Begin with a verb in the imperative. If its verb is missing in guards.yaml, add it.'
    hold('style', 'docstrings without a verb', found, advice)
    found = [each for module in MODULES.values() for each in questions(module)]
    assert not found, 'A docstring is a statement.'


VIOLATIONS = '''
class A:
    """A look."""
class A: ...
def f(x):
    """The number."""
    return hasattr(x, 'm')
'''


def test_each_violation_is_found_once():
    module = Source('senlin_affinity.planner.new', VIOLATIONS)
    assert len([*detections(module)]) == len([*odd_docstrings(module)]) == 1
    assert len([*banned_phrases('', module.prose)]) == 1
    assert len(duplicated_classes([module])) == 2


def test_a_number_above_its_limit_fails_with_the_advice(monkeypatch):
    monkeypatch.setitem(GUARDS, 'counts', {'some': 1})
    hold('counts', 'some', ['a'], 'Do this.')
    for found in (2, ['a', 'b']):
        with pytest.raises(AssertionError, match='some: 2, and at most 1 are allowed. Do this'):
            hold('counts', 'some', found, 'Do this.')
