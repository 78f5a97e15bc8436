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
    view = snapshot_of(row)
    for kind in OURS:
        testing.check(kind(), question_of(row), view)


CLOUD = {'hosts': {'cmp-1': {'traits': ['A'], 'servers': 3}, 'cmp-2': {'servers': 3}}}
OK = Verdict.passed('odd.ok')
FULL = Verdict.rejected('odd.full', servers=1)


class Odd(Constraint):
    """A constraint that keeps all rules, until one of its members is replaced."""

    name, order, summary, needs = 'odd', 50, 'odd', ('hosts',)
    reasons = {
        'odd.ok': Reason('ok'),
        'odd.full': Reason('{servers:d} servers', advice='add hosts'),
        'odd.bare': Reason('full'),
        'odd.advised': Reason('ok', advice='add hosts'),
    }

    def check(self, asked, host, cloud):
        return OK


def ok_if(is_ok, *reads, prepare=lambda self, request, cloud: None):
    """Return a check that passes if the condition on what was asked, host and cloud holds."""
    return {
        'reads': reads,
        'prepare': prepare,
        'check': lambda self, asked, host, cloud: OK if is_ok(asked, host, cloud) else FULL,
    }


def of_domains(verdict):
    return {
        'domains': lambda self, request, scenario, host: [Domain('rack', host.host)],
        'check_domains': lambda self, request, scenario, rooms: dict.fromkeys(rooms, verdict),
    }


def always(verdict):
    return {'check': lambda self, asked, host, cloud: verdict}


def keep(self, request, cloud):
    """Store the number of servers in the constraint, instead of returning it."""
    self.count = request.count


KEEPS = {
    'count': 0,
    'prepare': keep,
    'check': lambda self, asked, host, cloud: OK if self.count == 0 else FULL,
}
READS_MORE = 'check must read nothing but the result of prepare, the fields of the host, and the '


@pytest.mark.parametrize(
    ('members', 'message'),
    [
        pytest.param({}, None, id='all rules'),
        pytest.param(
            ok_if(lambda asked, host, cloud: 'A' in host.traits, 'traits'), None, id='by trait'
        ),
        pytest.param(
            ok_if(lambda asked, host, cloud: (host.servers or 0) < 10, 'servers'),
            None,
            id='by servers',
        ),
        pytest.param(
            ok_if(lambda asked, host, cloud: host.free['VCPU'] > 0, 'free'), None, id='by resources'
        ),
        pytest.param(
            ok_if(
                lambda asked, host, cloud: host.host != asked,
                'host',
                prepare=lambda self, request, cloud: cloud.hosts[0].host,
            ),
            None,
            id='by the hosts of the cloud',
        ),
        pytest.param(of_domains(Verdict.passed('odd.ok', room=1)), None, id='domains'),
        pytest.param(
            {'needs': ('host',)},
            "constraint Broken: needs: a snapshot has no 'host': did you mean hosts?",
            id='needs',
        ),
        pytest.param(
            {'reads': ('trait',)},
            "constraint Broken: reads: a host has no 'trait': did you mean traits?",
            id='reads',
        ),
        pytest.param(
            always(Verdict.passed('odd.o')),
            'check failed on host cmp-1: ValueError: code odd.o is not in reasons',
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
            {'check_request': lambda self, request, cloud: Verdict.rejected('odd.bare')},
            'odd.bare rejects, but has no advice',
            id='no advice for a request',
        ),
        pytest.param(
            always(Verdict.passed('odd.advised')),
            'odd.advised does not reject, but has advice',
            id='advice that is never shown',
        ),
        pytest.param(
            ok_if(lambda asked, host, cloud: 'A' in host.traits),
            "check failed on host cmp-1: AttributeError: 'traits' is not in reads",
            id='reads another field',
        ),
        pytest.param(
            ok_if(lambda asked, host, cloud: len(cloud.hosts) == 2),
            f'{READS_MORE}cloud without its hosts, zones and quotas: the verdict about host cmp-1',
            id='reads the hosts of the cloud',
        ),
        pytest.param(
            ok_if(lambda asked, host, cloud: cloud.hosts_by_name['cmp-1']),
            f'{READS_MORE}cloud without its hosts, zones and quotas; otherwise: constraint odd: '
            "check failed on host cmp-1: KeyError: 'cmp-1'",
            id='needs the hosts of the cloud',
        ),
        pytest.param(KEEPS, f'{READS_MORE}cloud', id='keeps the request'),
        pytest.param(
            {
                'proposals': lambda self, request, cloud, evaluation: [
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
    question, view = question_of(CLOUD), snapshot_of(CLOUD)
    if message is None:
        testing.check(broken, question, view)
        return
    with pytest.raises(AssertionError) as caught:
        testing.check(broken, question, view)
    assert message in str(caught.value)
    assert '\n' not in str(caught.value)
