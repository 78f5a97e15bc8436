"""An exception in a constraint is reported with the constraint, the method, and its argument."""

from typing import ClassVar

import numpy as np
import pytest

from senlin_affinity.constraints.base import (
    Change,
    Constraint,
    Domain,
    OneOf,
    RaisedNumber,
    Reason,
    Verdict,
)
from senlin_affinity.constraints.resources import ResourcesConstraint
from senlin_affinity.model.errors import (
    ConstraintError,
    InvalidSpec,
    PluginError,
    in_words,
    is_defect,
)
from senlin_affinity.model.server_group import Member
from senlin_affinity.model.verdict import Assumption, OpenAssumption
from senlin_affinity.scenario.column import Column
from tests.support.asked import plan
from tests.support.small_cloud import request_of, rules_of, snapshot_of
from tests.support.values import replace

ROW = {'hosts': {f'cmp-{number}': {} for number in range(1, 6)}, 'request': {'count': 99}}


class Odd(Constraint):
    """A constraint with every method that rejects nothing, until one of them is replaced."""

    name = 'odd'
    order = 1
    summary = 'odd'
    needs = ('hosts',)
    filters = ()
    reads = ('host', 'free')
    reasons: ClassVar = {
        'odd.ok': Reason('ok'),
        'odd.of': Reason('{host} is fine'),
        'odd.why': Reason('{host} may be fine', caveat='who knows'),
        'odd.detail': Reason('ok', detail='rack'),
    }

    def check(self, asked, host, cloud):
        return Verdict.passed('odd.ok', room=2)

    def has_domains(self, request, scenario):
        return True

    def domains(self, request, scenario, host):
        return [Domain('row', host.host)]

    def check_domains(self, request, scenario, rooms):
        return dict.fromkeys(rooms, Verdict.passed('odd.ok', room=2))

    def check_request(self, request, cloud):
        return Verdict.passed('odd.ok')

    def proposals(self, request, scenario, evaluation):
        return []

    def assumptions(self, request, cloud):
        return [Assumption('odd.luck', 'luck')] * 2


def fails(*_arguments):
    return {}['rack']


UNNAMED = RaisedNumber('odd', 'odd: {n}', path=('options', 'x'), now=1, most=2)
NO_ROOM = ' on host cmp-1: ValueError: room must be None or an integer'


@pytest.mark.parametrize(
    ('method', 'wrong', 'words'),
    [
        ('check', fails, " on host cmp-1: KeyError: 'rack'"),
        ('check', lambda *_: None, ' on host cmp-1: ValueError: the answer must be a Verdict'),
        ('check', lambda *_: Verdict.passed('odd.ok', room=0.5), NO_ROOM),
        ('check', lambda *_: Verdict.passed('odd.ok', room=-1), NO_ROOM),
        ('check', lambda *_: Verdict.passed('odd.o'),
         ' on host cmp-1: ValueError: code odd.o is not in reasons'),
        ('check', lambda *_: Verdict.rejected('odd.of', rack='r1'),
         ' on host cmp-1: ValueError: verdict odd.of lacks the fact host of its sentence'),
        ('check', lambda *_: Verdict.rejected('odd.detail', host='a'),
         ' on host cmp-1: ValueError: verdict odd.detail lacks the fact rack of its sentence'),
        ('check', lambda _asked, host, _cloud: host.traits,
         " on host cmp-1: AttributeError: 'traits' is not in reads"),
        ('prepare', lambda *_: Verdict.skipped('odd.o'),
         ': ValueError: code odd.o is not in reasons'),
        ('prepare', fails, ": KeyError: 'rack'"),
        ('check_domains', lambda _r, _s, rooms: dict.fromkeys(rooms, Verdict.skipped('odd.o')),
         ' on row cmp-1, cmp-2, cmp-3 and 2 more: ValueError: code odd.o is not in reasons'),
        ('check_request', lambda *_: Verdict.skipped('odd.o'),
         ': ValueError: code odd.o is not in reasons'),
        ('column', fails, ": KeyError: 'rack'"),
        ('column', lambda *_: Column.of([], np.zeros(0, int)),
         ': ValueError: the answer has 0 verdicts for '),
        ('has_domains', fails, ": KeyError: 'rack'"),
        ('domains', fails, " on host cmp-1: KeyError: 'rack'"),
        ('domains', lambda *_: ['r1'], ' on host cmp-1: AttributeError: '),
        ('check_domains', fails, " on row cmp-1, cmp-2, cmp-3 and 2 more: KeyError: 'rack'"),
        ('check_domains', lambda *_: {}, ': ValueError: the answer has no Verdict for row cmp-1'),
        ('check_domains', lambda request, scenario, rooms: dict.fromkeys(rooms, 3),
         ': ValueError: the answer must be a Verdict, not 3'),
        ('check_request', fails, ": KeyError: 'rack'"),
        ('check_request', lambda *_: True, ': ValueError: the answer must be a Verdict, not True'),
        ('proposals', fails, ": KeyError: 'rack'"),
        ('assumptions', fails, ": KeyError: 'rack'"),
        ('assumptions', lambda *_: [('odd.luck', '')],
         ": ValueError: each answer must be an Assumption, a filter, or an Option that is False by "
         "default, not ('odd.luck'"),
        ('proposals', lambda *_: [Change('odd', 'odd', {'option': {}})],
         ": ValueError: data: there is no action 'option': did you mean options?"),
        ('proposals', lambda *_: [OneOf('odd', '', choices=(UNNAMED,))],
         ': ValueError: each choice of a OneOf must be a plain Change, not RaisedNumber('),
        ('proposals', lambda *_: [UNNAMED],
         ": ValueError: 'odd: {n}' must contain {number}"),
        ('proposals', lambda *_: ['more'], ": ValueError: each answer must be a Change"),
    ],
)  # fmt: skip
def test_an_exception_is_reported(method, wrong, words):
    odd = type('Odd', (Odd,), {method: staticmethod(wrong)})()
    with pytest.raises(ConstraintError) as caught:
        plan(request_of(ROW), snapshot_of(ROW), [odd, ResourcesConstraint()])
    said = str(caught.value)
    assert said.startswith(f'constraint odd: {method} failed')
    assert words in said
    assert is_defect(caught.value)
    assert is_defect(KeyError('oops'))
    assert not is_defect(InvalidSpec('no'))
    assert ' on ' not in in_words(caught.value)


def test_an_exception_of_a_waiver_is_reported():
    odd = Odd()
    odd.is_waivable, odd.check, odd.without = True, lambda *_: Verdict.rejected('odd.ok'), fails
    with pytest.raises(ConstraintError, match='^constraint odd: without failed'):
        plan(request_of(ROW), snapshot_of(ROW), [odd, ResourcesConstraint()])


def test_an_object_of_another_class():
    with pytest.raises(PluginError, match='is not an instance of a subclass of Constraint'):
        plan(request_of(ROW), snapshot_of(ROW), [object()])


def test_the_innermost_constraint_is_reported():
    odd, late = Odd(), Odd()
    late.name = 'late'
    late.check_request = lambda request, cloud: (
        fails() if request.availability_zone == 'az-1' else Verdict.passed('odd.ok', room=1)
    )
    odd.proposals = lambda *_: [Change('odd', 'zone', {'availability_zone': 'az-1'})]
    with pytest.raises(ConstraintError, match='constraint late: check_request failed: KeyError'):
        plan(request_of(ROW), snapshot_of(ROW), [odd, late])


ONE = {'hosts': {'cmp-1': {'free': 9}}}
FREE = ('free',)


@pytest.mark.parametrize(
    ('answer', 'reads', 'at_most'),
    [
        (Verdict.passed('odd.ok'), FREE, ('constraint odd, which returns no number of servers',)),
        (Verdict.passed('odd.ok'), ('host',), ()),
        (Verdict.skipped('odd.ok'), FREE, ()),
        (Verdict.passed('odd.ok', room=9), FREE, ()),
        (Verdict.passed('odd.ok', room=9, is_at_most=True), FREE, ('constraint odd (ok)',)),
        (Verdict.passed('odd.of', room=9, is_at_most=True, host='a'), FREE, ('constraint odd',)),
        (
            Verdict.passed('odd.why', room=9, is_at_most=True, host='a'),
            FREE,
            ('constraint odd (who knows)',),
        ),
    ],
)
def test_an_unknown_room_is_at_most(answer, reads, at_most):
    """A constraint that reads resources may reject after they are used."""
    odd = Odd()
    odd.check = lambda *_: answer
    odd.has_domains = lambda *_: False
    odd.reads = reads
    decision = plan(request_of(ONE), snapshot_of(ONE), [odd, ResourcesConstraint()])
    assert (decision.capacity, decision.fits, decision.at_most) == (9, True, at_most)
    assert decision.capacity_certain == (0 if at_most else 9)
    group = {**ONE, 'group': {'policy': 'affinity'}}  # Nova chooses its host
    decision = plan(request_of(group), snapshot_of(group), [odd, ResourcesConstraint()])
    assert decision.capacity_certain == (0 if at_most else 9)
    # Soft-deleted servers count in server groups only, and the request has none.
    cloud = replace(snapshot_of(ONE), soft_deleted=(Member('server-1'),))
    assert plan(request_of(ONE), cloud, [odd, ResourcesConstraint()]).at_most == at_most
    nested = replace(snapshot_of(ONE).hosts[0], is_nested=True)
    cloud = replace(snapshot_of(ONE), hosts=(nested,))
    decision = plan(request_of(ONE), cloud, [odd, ResourcesConstraint()])
    words = 'hosts with nested resource providers'
    assert decision.at_most == (*(each for each in at_most if 'returns' in each), words)
    both = (*snapshot_of(ONE).hosts, nested.but(host='cmp-2', hypervisor_hostname='cmp-2'))
    decision = plan(
        request_of(ONE), replace(cloud, hosts=both), [odd, ResourcesConstraint()], rules_of(ONE)
    )
    assert decision.at_most == (*at_most, words)


def test_an_unknown_number_of_a_request_is_no_caveat_about_quotas():
    odd = Odd()
    odd.check_request = lambda *_: Verdict.unknown('odd.ok', room=5)
    decision = plan(request_of(ONE), snapshot_of(ONE), [odd, ResourcesConstraint()])
    assert decision.at_most == ('parts of the snapshot that are not known',)


@pytest.mark.parametrize('is_at_most', [True, False])
def test_a_domains_upper_bound_marks_the_capacity(is_at_most):
    """Even if a host in it has less."""
    odd = Odd()
    odd.domains = lambda *_: [Domain('row', 'a')]
    odd.check_domains = lambda request, scenario, rooms: dict.fromkeys(
        rooms, Verdict.passed('odd.ok', room=5, is_at_most=is_at_most)
    )
    decision = plan(request_of(ROW), snapshot_of(ROW), [odd, ResourcesConstraint()])
    assert (decision.capacity, bool(decision.at_most)) == (5, is_at_most)


@pytest.mark.parametrize(
    ('of_host', 'code', 'at_most'),
    [
        (Verdict.passed('odd.detail', room=5), 'odd.detail', ()),
        (Verdict.passed('odd.detail', room=6), 'odd.ok', ()),
        (Verdict.unknown('odd.detail'), 'odd.ok', ('parts of the snapshot that are not known',)),
    ],
)
def test_a_host_has_the_stricter_verdict_of_itself_and_its_domain(of_host, code, at_most):
    odd = Odd()
    odd.check = lambda *_: replace(of_host, facts={'rack': 'a'})
    odd.domains = lambda *_: [Domain('row', 'a')]
    odd.check_domains = lambda request, scenario, rooms: dict.fromkeys(
        rooms, Verdict.passed('odd.ok', room=5)
    )
    decision = plan(
        replace(request_of(ONE), count=0), snapshot_of(ONE), [odd, ResourcesConstraint()]
    )
    assert decision.hosts[0].verdicts['odd'].code == code
    assert (decision.capacity, decision.at_most) == (5, at_most)


@pytest.mark.parametrize(
    ('kind', 'free', 'is_there', 'is_in_line'),
    [
        (Assumption, 2, True, False),
        (Assumption, 0, False, False),
        (OpenAssumption, 2, True, True),
        (OpenAssumption, 0, True, True),
    ],
)
def test_the_assumptions_about_a_request_that_does_not_fit(kind, free, is_there, is_in_line):
    """Each once; assumptions that can only lower the number are not in the line."""
    odd, room = Odd(), {'hosts': {'cmp-1': {'free': free}}, 'request': {'count': 3}}
    odd.assumptions = lambda *_: [kind('odd.luck', 'luck')] * 2
    rules = [odd, ResourcesConstraint()]
    decision = plan(request_of(room), snapshot_of(room), rules, rules_of(room))
    assert decision.fits is False
    assert decision.assumptions == (('odd.luck', 'luck'),) * is_there
    assert decision.line().endswith(', assuming luck') == is_in_line
