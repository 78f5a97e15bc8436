"""The places of constraints, remedies, commands and validators are those of CONTRIBUTING.

``test_constraints_guard`` and the tests of the manual check the other files of each.
"""

import ast
import pkgutil
import re

from senlin_affinity.extra_specs import validators
from tests.support.our_constraints import PROPOSALS
from tests.support.tables import read
from tests.unit.docs.test_manual import OURS, ROOT, entry_points, remedies_of

PACKAGE = ROOT / 'senlin_affinity'
PLACES = ('constraints/<name>.py', 'cli/<name>.py', 'extra_specs/validators/<area>.py')


def calls(path, name):
    tree = ast.parse(path.read_text(encoding='utf-8'))
    return any(
        isinstance(each, ast.Call) and ast.unparse(each.func) == name for each in ast.walk(tree)
    )


def test_contributing_has_the_paths():
    text = (ROOT / 'CONTRIBUTING.rst').read_text(encoding='utf-8')
    assert re.findall(r'``senlin_affinity/([\w/<>]+\.py)``', text) == list(PLACES)


def test_constraints_and_commands_are_in_their_packages():
    for package in ('senlin_affinity.constraints', 'senlin_affinity.cli'):
        assert entry_points(package)
        assert all(each.startswith(f'{package}.') for each in entry_points(package).values())


def test_only_a_constraint_proposes_its_remedy_and_a_row_plans_it():
    said_in = [path for path in PACKAGE.rglob('*.py') if any(calls(path, x) for x in PROPOSALS)]
    elsewhere = {path.stem for path in said_in if path.parent.name != 'constraints'}
    # That a constraint is given up, or hosts and flavors that several constraints propose.
    assert elsewhere == {'search', 'alternatives'}
    rows = {remedy[0] for row in read('remedies') for remedy in row['remedies']}
    assert {code for rule in OURS for code in remedies_of(rule)} - rows == set()


def test_every_file_of_validators_is_in_the_list():
    files = (PACKAGE / 'extra_specs/validators').glob('*.py')
    declaring = {path.stem for path in files if '\nVALIDATORS' in path.read_text(encoding='utf-8')}
    assert declaring == {module.__name__.rpartition('.')[2] for module in validators._MODULES}


def test_every_name_in_the_glossary_exists():
    page = (ROOT / 'doc/source/reference/glossary.rst').read_text(encoding='utf-8')
    for name in re.findall(
        r'``((?:api|cloud|constraints|extra_specs|groups|model|nova|planner|plugins|policy|preflight)\b[\w.]*)``',
        page,
    ):
        assert pkgutil.resolve_name(f'senlin_affinity.{name}')
