"""List our constraints in the order of their reasons, and the codes of their remedies."""

import ast
import configparser
import importlib
import inspect
import sys
from pathlib import Path

from senlin_affinity.constraints.base import Constraint

PROPOSALS = ('Change', 'ChangedHosts', 'MovedServer', 'NewHosts', 'OneOf', 'RaisedNumber')
_SETUP = configparser.ConfigParser()
_SETUP.read(Path(__file__).parents[2] / 'setup.cfg', encoding='utf-8')


def _registered():
    """Yield the classes that setup.cfg registers."""
    lines = _SETUP['options.entry_points']['senlin_affinity.constraints'].strip().splitlines()
    for line in lines:
        module, _colon, name = line.partition('=')[2].strip().partition(':')
        yield getattr(importlib.import_module(module), name)


OURS = tuple(sorted(_registered(), key=lambda constraint: constraint.order))


def remedies_of(constraint):
    """Return the codes of the remedies of a constraint's module, each once, in their order."""
    module = sys.modules[constraint.__module__]
    tree = ast.walk(ast.parse(inspect.getsource(module)))
    calls = sorted((each for each in tree if isinstance(each, ast.Call)), key=lambda x: x.lineno)
    found = (_code(each, vars(module)) for each in calls)
    codes = [*dict.fromkeys(code for code in found if code is not None)]
    assert bool(codes) is (constraint.proposals is not Constraint.proposals)
    return [*codes, *(['rule_given_up'] if constraint.is_waivable else [])]


def _code(call, names):
    """Return the code of the proposal that a call makes, or changes; None for other calls."""
    name = ast.unparse(call.func)
    if name == 'joining':
        return 'aggregate_hosts'
    if name in PROPOSALS:
        return eval(ast.unparse(call.args[0]), names)
    codes = (each.value.value for each in call.keywords if (name, each.arg) == ('replace', 'code'))
    return next(codes, None)
