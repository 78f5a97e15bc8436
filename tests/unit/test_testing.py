"""The conformance kit passes our constraints, and finds each broken rule of another one."""

from dataclasses import fields

import pytest

from senlin_affinity import api, testing
from senlin_affinity.constraints.base import Constraint, Domain, RaisedNumber, Reason, Verdict
from tests.support.our_constraints import OURS
from tests.support.small_cloud import request_of, snapshot_of
from tests.support.tables import read

NAMES = {field.name for field in fields(api.Question)}
ROWS = [row for row in read('plan')[::10] if row['outcome'] != 'InvalidSpec']


def question_of(row):
    asked = request_of(row)
    given = {name: value for name, value in vars(asked).items() if name in NAMES}
    return api.Question(**given | {'spread': row.get('request', {}).get('spread', ())})


@pytest.mark.parametrize('row', ROWS, ids=lambda row: row['name'])
def test_our_constraints_keep_the_rules(row):
    view = api.CloudView(snapshot_of(row))
    for kind in OURS:
        testing.check(kind(), question_of(row), view)


CLOUD = {'hosts': {'cmp-1': {'traits': ['A'], 'servers': 3}, 'cmp-2': {'servers': 3}}}
OK = Verdict.passed('odd.ok')


class Odd(Constraint):
    """A constraint that keeps all rules, until one of its members is replaced."""

    name, order, summary, needs = 'odd', 50, 'odd', ('hosts',)
    is_host_specific = False
    uses_resources = False
    reasons = {
        'odd.ok': Reason('ok'),
        'odd.full': Reason('{servers:d} servers', advice='add hosts'),
        'odd.bare': Reason('full'),
        'odd.advised': Reason('ok', advice='add hosts'),
    }

    def check_host(self, resolved, host):
        return OK


def ok_if(is_ok):
    """Return a check_host that passes if the condition holds."""
    full = Verdict.rejected('odd.full', servers=1)
    return lambda self, resolved, host: OK if is_ok(resolved, host) else full


def of_domains(verdict):
    return {
        'domains': lambda self, resolved, host: [Domain('rack', host.host)],
        'check_domains': lambda self, resolved, rooms: dict.fromkeys(rooms, verdict),
    }


def always(verdict):
    return {'check_host': lambda self, resolved, host: verdict}


HAS_A = ok_if(lambda resolved, host: 'A' in host.traits)
IS_FEW = ok_if(lambda resolved, host: (host.servers or 0) < 10)
IS_FREE = ok_if(lambda resolved, host: host.resources['VCPU'].used < 10)
IS_FIRST = ok_if(lambda resolved, host: host.host == 'cmp-1')
IS_NOT_PLACED = ok_if(lambda resolved, host: not resolved.placed.get(host.host))
SPECIFIC = 'is_host_specific must be True: the verdict about host cmp-1 depends on its name or its '
CLASS = 'host_fields or specific_hosts is wrong: the verdict about host '


@pytest.mark.parametrize(
    ('members', 'message'),
    [
        pytest.param({}, None, id='all rules'),
        pytest.param({'check_host': HAS_A}, None, id='reads a trait'),
        pytest.param({'check_host': IS_FEW, 'is_host_specific': True}, None, id='by servers'),
        pytest.param({'check_host': IS_FREE, 'uses_resources': True}, None, id='by resources'),
        pytest.param(of_domains(Verdict.passed('odd.ok', room=1)), None, id='domains'),
        pytest.param(
            {'needs': ('host',)},
            "constraint Broken: needs: a snapshot has no 'host': did you mean hosts?",
            id='needs',
        ),
        pytest.param(
            always(Verdict.passed('odd.o')),
            'check_host failed on host cmp-1: ValueError: code odd.o is not in reasons',
            id='an undeclared code',
        ),
        pytest.param(
            always(Verdict.rejected('odd.full')),
            'verdict odd.full lacks the fact servers of its sentence',
            id='a missing fact',
        ),
        pytest.param(
            always(Verdict.rejected('odd.full', servers='many')),
            'odd.full: its sentence cannot be rendered: ',
            id='a sentence that cannot be rendered',
        ),
        pytest.param(
            always(Verdict.rejected('odd.bare')),
            'odd.bare rejects, but has no advice',
            id='no advice',
        ),
        pytest.param(
            of_domains(Verdict.rejected('odd.bare')),
            'odd.bare rejects, but has no advice',
            id='no advice for a domain',
        ),
        pytest.param(
            {'check_request': lambda self, resolved: Verdict.rejected('odd.bare')},
            'odd.bare rejects, but has no advice',
            id='no advice for a request',
        ),
        pytest.param(
            always(Verdict.passed('odd.advised')),
            'odd.advised does not reject, but has advice',
            id='advice that is never shown',
        ),
        pytest.param(
            {'check_host': HAS_A, 'check_hosts': lambda self, resolved, hosts: [OK] * len(hosts)},
            'check_hosts and check_host differ: the verdict about host cmp-2',
            id='check_hosts',
        ),
        pytest.param({'check_host': IS_FEW}, SPECIFIC, id='reads the servers'),
        pytest.param({'check_host': IS_FIRST}, SPECIFIC, id='reads the name'),
        pytest.param({'check_host': IS_NOT_PLACED}, SPECIFIC, id='reads the placed servers'),
        pytest.param(
            {'check_host': IS_FREE},
            'uses_resources must be True: the verdict about host cmp-1 depends on its resources',
            id='reads the resources',
        ),
        pytest.param(
            {'check_host': HAS_A, 'host_fields': lambda self, resolved: ['up']},
            f'{CLASS}cmp-2 is odd.full, but odd.ok for all hosts like it',
            id='host_fields',
        ),
        pytest.param(
            {
                'check_host': IS_FIRST,
                'is_host_specific': True,
                'specific_hosts': lambda self, resolved: ['cmp-2'],
            },
            f'{CLASS}cmp-1 is odd.ok, but odd.full for all hosts like it',
            id='specific_hosts',
        ),
        pytest.param(
            {
                'proposals': lambda self, resolved, evaluation: [
                    RaisedNumber('odd', 'odd: {n}', path=('options', 'odd'), now=1, most=2)
                ]
            },
            "proposals failed: ValueError: 'odd: {n}' must contain {number}",
            id='a number without a placeholder',
        ),
    ],
)
def test_each_broken_rule_is_one_line(members, message):
    """The question fits; the kit also asks for one more server than fits."""
    broken = type('Broken', (Odd,), members)()
    question, view = question_of(CLOUD), api.CloudView(snapshot_of(CLOUD))
    if message is None:
        testing.check(broken, question, view)
        return
    with pytest.raises(AssertionError) as caught:
        testing.check(broken, question, view)
    assert message in str(caught.value)
    assert '\n' not in str(caught.value)
