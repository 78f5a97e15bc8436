"""All constraints are loaded in their order, or loading fails."""

import sys
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest
from stevedore import ExtensionManager
from stevedore.extension import Extension

from senlin_affinity.conf import constraint_plugins
from senlin_affinity.constraints.base import NAMESPACE, Constraint
from senlin_affinity.constraints.drs import PATTERN, DrsConstraint
from senlin_affinity.constraints.quota import QuotaConstraint
from senlin_affinity.constraints.server_group import ServerGroupConstraint
from senlin_affinity.model.errors import PluginError
from senlin_affinity.model.option import Option
from senlin_affinity.model.verdict import Reason, Verdict, sentence
from tests.support.our_constraints import OURS
from tests.support.values import replace

FULL = Reason('the rack is full')


def extension(name, plugin, target='somewhere.else:Thing'):
    return Extension(name, EntryPoint(name, target, 'senlin_affinity.constraints'), plugin, None)


def third_party(name, **declared):
    """Return a constraint of another package with the order of one of ours."""
    return type(
        name, (ServerGroupConstraint,), {'name': name, 'order': 60, 'reasons': {}, **declared}
    )


RACK = third_party('rack', reasons={'rack.full': FULL})


def test_order():
    kinds = [QuotaConstraint, ServerGroupConstraint, RACK, DrsConstraint]
    found = constraint_plugins.check_constraints(extension(kind.name, kind) for kind in kinds)
    assert [constraint.name for constraint in found] == ['drs', 'rack', 'server_group', 'quota']
    assert constraint_plugins.check_constraints([]) == ()


@pytest.mark.parametrize('kind', OURS)
def test_our_constraints_implement_the_protocol(kind):
    (constraint,) = constraint_plugins.check_constraints([extension(kind.name, kind)])
    assert isinstance(constraint, Constraint)
    assert constraint.summary
    assert constraint.reasons


def test_installed():
    """The entry points of the package are these, and all of them can be loaded."""
    assert tuple(map(type, constraint_plugins.load_constraints())) == OURS


class NoSubclass:
    name, order, summary, needs, filters = 'no_subclass', 1, 'has another base class', (), ()
    reasons = {}

    def check_request(self, request, cloud):
        return Verdict.passed('no_subclass.ok')


class NoCheck(Constraint):
    name, order, summary, needs = 'no_check', 1, 'answers nothing', ()


class NoOrder(Constraint):
    name, summary = 'no_order', 'has no place'

    def check_request(self, request, cloud):
        return Verdict.passed('no_order.ok')


class OldForm(NoCheck):
    name = 'old_form'
    is_host_specific = False

    def check_host(self, resolved, host):
        return Verdict.passed('old_form.ok')


class NoDomains(NoCheck):
    name = 'no_domains'

    def check_domains(self, request, scenario, rooms):
        return {}


class Breaks(ServerGroupConstraint):
    def __init__(self):
        raise RuntimeError('no database')


FOREIGN = third_party('foreign', reasons={'server_group.full': FULL})


@pytest.mark.parametrize(
    ('name', 'plugin', 'words'),
    [
        ('breaks', Breaks, 'cannot be created: no database'),
        ('none', None, 'cannot be created'),
        ('needs', lambda _one: None, 'cannot be created'),
        ('no_subclass', NoSubclass, 'is not a subclass of senlin_affinity.constraints.base.'),
        ('no_check', NoCheck, 'must define one of check, column, check_domains, check_request'),
        (
            'old_form',
            OldForm,
            'defines check_host, which nothing calls any more: define reads, prepare and check '
            'instead (see "howto/own-constraint" in the manual)',
        ),
        ('no_order', NoOrder, 'has no order, needs'),
        ('no_domains', NoDomains, 'has no domains'),
        ('text', str, 'is not a subclass of senlin_affinity.constraints.base.Constraint'),
        ('rock', RACK, 'calls itself rack'),
        ('foreign', FOREIGN, 'code server_group.full'),
        ('odd', third_party('odd', reasons={'odd.full': 'no Reason'}), 'odd.full must be a Reason'),
        ('odd', third_party('odd', reasons=None), 'and reasons a mapping'),
        ('odd', third_party('odd', order='1'), 'order must be an integer'),
        ('odd', third_party('odd', options=[PATTERN]), 'options must be a tuple of Option'),
        ('odd', third_party('odd', options=('x',)), 'options must be a tuple of Option'),
        ('odd', third_party('odd', needs='hosts'), "needs must be a tuple of str, not 'hosts'"),
        ('odd', third_party('odd', filters='RackFilter'), 'filters must be a tuple of str'),
        (
            'odd',
            third_party('odd', needs=('hosts', 'servergroups')),
            "needs: a snapshot has no 'servergroups': did you mean server_groups?",
        ),
        ('odd', third_party('odd', reads='traits'), "reads must be a tuple of str, not 'traits'"),
        (
            'odd',
            third_party('odd', reads=('traits', 'aggregate')),
            "reads: a host has no 'aggregate': did you mean aggregates?",
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else '',
)
def test_an_entry_point_that_is_not_a_constraint(name, plugin, words):
    with pytest.raises(PluginError) as caught:
        constraint_plugins.check_constraints(
            [extension('drs', DrsConstraint), extension(name, plugin)]
        )
    assert f'constraint {name} (somewhere.else:Thing)' in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ('error', 'words'),
    [(SystemExit, 'SystemExit: Ends'), (ImportError, 'ImportError: Ends')],
)
def test_a_constraint_that_does_not_load_is_named(monkeypatch, error, words):
    def end(name):
        raise error(name)

    module = ModuleType('acme')
    module.__getattr__ = end
    monkeypatch.setitem(sys.modules, 'acme', module)
    found = {NAMESPACE: [EntryPoint('acme', 'acme:Ends', NAMESPACE)]}
    monkeypatch.setattr(ExtensionManager, 'ENTRY_POINT_CACHE', found)
    with pytest.raises(PluginError) as caught:
        constraint_plugins.load_constraints()
    assert str(caught.value) == f'constraint acme (acme:Ends) does not load: {words}'


def test_a_constraint_may_read_fields_properties_and_free_amounts():
    kind = third_party('odd', reads=('traits', 'is_vsphere', 'free', 'servers'))
    assert len(constraint_plugins.check_constraints([extension('odd', kind)])) == 1


def test_two_constraints_of_one_name():
    pair = [extension('drs', DrsConstraint), extension('drs', RACK, 'third.party:Drs')]
    said = '^2 constraints are called drs: somewhere.else:Thing, third.party:Drs$'
    with pytest.raises(PluginError, match=said):
        constraint_plugins.check_constraints(pair)


@pytest.mark.parametrize('facts', [('rack.empty', {}), ('rack.full', {'rack': 7})])
def test_a_reason_has_a_complete_sentence(facts):
    code, known = facts
    reasons = {'rack.full': Reason('rack {rack} in row {row} is full')}
    with pytest.raises(PluginError, match='cannot be rendered'):
        sentence(Verdict.rejected(code, **known), reasons)


@pytest.mark.parametrize(
    ('option', 'is_fine'),
    [
        (PATTERN, True),
        (replace(PATTERN, default='x'), False),
        (replace(PATTERN, key='other', name='drs_pattern'), False),
        (replace(PATTERN, name='other'), False),
        (replace(PATTERN, key='other', group='acme'), True),
        (Option('request_timeout', 7, 'Another one.'), True),
    ],
)
def test_two_constraints_may_share_an_option(option, is_fine):
    counts = third_party('counts', options=(option,))
    pair = [extension('drs', DrsConstraint), extension('counts', counts)]
    if is_fine:
        assert len(constraint_plugins.check_constraints(pair)) == 2
        return
    with pytest.raises(PluginError, match=r'constraints drs and counts declare the option '):
        constraint_plugins.check_constraints(pair)
