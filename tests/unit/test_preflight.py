"""The constraints are loaded, in their order, or not at all."""

from dataclasses import replace
from importlib.metadata import EntryPoint
from typing import ClassVar

import pytest
from stevedore.extension import Extension

from senlin_affinity import preflight
from senlin_affinity.constraints.drs import PATTERN, DrsConstraint
from senlin_affinity.constraints.host_state import HostStateConstraint
from senlin_affinity.constraints.quota import QuotaConstraint
from senlin_affinity.constraints.server_group import ServerGroupConstraint
from senlin_affinity.core.errors import PluginError
from senlin_affinity.core.objects import (
    CloudSnapshot,
    Flavor,
    Host,
    PlacementRequest,
    Resource,
    Rules,
)
from senlin_affinity.core.options import Option
from senlin_affinity.core.reasons import Reason, sentence
from senlin_affinity.core.server_group import ServerGroup
from senlin_affinity.core.verdict import Verdict
from tests.support.our_constraints import OURS


def extension(name, plugin, target='somewhere.else:Thing'):
    return Extension(name, EntryPoint(name, target, 'senlin_affinity.constraints'), plugin, None)


class Rack(ServerGroupConstraint):
    """A third party's, of the order of one of ours."""

    name = 'rack'
    order = 60
    reasons: ClassVar = {'rack.full': Reason('the rack is full')}


def test_order():
    found = preflight.check_constraints(
        extension(kind.name, kind)
        for kind in [QuotaConstraint, ServerGroupConstraint, Rack, DrsConstraint]
    )
    assert [constraint.name for constraint in found] == ['drs', 'rack', 'server_group', 'quota']
    assert preflight.check_constraints([]) == ()


def test_installed():
    """The entry points of the package are these, and all of them load."""
    found = preflight.load_constraints()
    assert tuple(map(type, found)) == OURS


def test_the_door_plans_with_all_that_are_installed():
    """RX-02, the way a library's user asks."""
    hosts = tuple(
        Host(name, name, resources={'VCPU': Resource(9, 0), 'MEMORY_MB': Resource(9000, 0)})
        for name in ('cmp-1', 'cmp-2')
    )
    group = ServerGroup('g', 'web', 'anti-affinity', {'max_server_per_host': 3})
    snapshot = CloudSnapshot(hosts, (), (Flavor('f', 'small', 1, 512, 0),), (group,), {})
    decision = preflight.plan(PlacementRequest(7, 'small', 'web'), snapshot)
    assert (decision.fits, decision.capacity) == (False, 6)
    assert list(decision.hosts[0].verdicts) == [
        kind.name for kind in OURS if kind is not QuotaConstraint
    ]
    assert list(decision.request) == ['quota']


def test_the_door_plans_with_those_that_are_given():
    snapshot = CloudSnapshot((Host('cmp-1', 'cmp-1', up=False),), (), (), ())
    request = PlacementRequest(1, 'f')
    decision = preflight.plan(
        request, replace(snapshot, flavors=None), [HostStateConstraint()], Rules()
    )
    assert decision.fits is False
    assert list(decision.hosts[0].verdicts) == ['host_state']


class Breaks(ServerGroupConstraint):
    name = 'breaks'

    def __init__(self):
        raise RuntimeError('no database')


def a(kind, **values):
    """A class with other declarations."""
    return type('Odd', (kind,), values)


BARE = {'order': 1, 'summary': 'declares little', 'needs': (), 'filters': ()}
NO_REASONS = a(object, name='bare', check_request=lambda *_: Verdict.passed('bare.ok'), **BARE)
NO_CHECK = a(object, name='bare', reasons={}, **BARE)


@pytest.mark.parametrize(
    ('name', 'plugin', 'words'),
    [
        ('breaks', Breaks, 'can not be made: no database'),
        ('none', None, 'can not be made'),
        ('needs', lambda _one: None, 'can not be made'),
        ('bare', NO_REASONS, 'is neither a HostConstraint'),
        ('bare', NO_CHECK, 'is neither a HostConstraint'),
        ('text', str, 'is neither a HostConstraint'),
        ('rock', Rack, 'calls itself rack'),
        ('odd', a(Rack, name='odd', reasons={'server_group.full': Reason("another's")}),
         'code server_group.full'),
        ('odd', a(Rack, name='odd', reasons={'odd.full': 'the rack is full'}), ''),
        ('odd', a(Rack, name='odd', reasons=None), ''),
        ('odd', a(Rack, name='odd', order='1', reasons={}), ''),
    ],
    ids=['raises', 'no class', 'wants arguments', 'no reasons', 'checks nothing', 'something else',
         'another name', "another's code", 'odd reasons', 'None for reasons', 'odd order'],
)  # fmt: skip
def test_a_constraint_that_is_not_one(name, plugin, words):
    with pytest.raises(PluginError) as caught:
        preflight.check_constraints([extension('drs', DrsConstraint), extension(name, plugin)])
    assert f'constraint {name} (somewhere.else:Thing)' in str(caught.value)
    assert words in str(caught.value)


def test_two_of_one_name():
    with pytest.raises(PluginError) as caught:
        preflight.check_constraints(
            [extension('drs', DrsConstraint), extension('drs', Rack, 'third.party:Drs')]
        )
    assert str(caught.value) == (
        '2 constraints are called drs: somewhere.else:Thing, third.party:Drs'
    )


@pytest.mark.parametrize(
    'verdict', [Verdict.rejected('rack.empty'), Verdict.rejected('rack.full', rack=7)]
)
def test_a_reason_is_never_said_half(verdict):
    """Neither with a code that is not declared, nor without a fact."""
    with pytest.raises(PluginError, match='can not be said'):
        sentence(verdict, {'rack.full': Reason('rack {rack} in row {row} is full')})


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
def test_an_option_of_two_constraints_is_one(option, is_fine):
    kind = a(DrsConstraint, name='counts', reasons={}, options=(option,))
    pair = [extension('drs', DrsConstraint), extension('counts', kind)]
    if is_fine:
        assert len(preflight.check_constraints(pair)) == 2
        return
    with pytest.raises(PluginError, match=r'constraints drs and counts declare the option '):
        preflight.check_constraints(pair)
