"""Several requests are planned together."""

import json
import pickle

import pytest

from senlin_affinity.answers.headline import limiting_reason
from senlin_affinity.engine.workload import plan_requests
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.nova.quota_charges import DRIVER, USAGE
from senlin_affinity.scenario.scenario import Scenario
from tests.support.asked import resolve
from tests.support.small_cloud import CONSTRAINTS, request_of, rules_of, snapshot_of
from tests.support.values import replace

SMALL = {'free': 2}
FLAVORS = {'big': {'vcpus': 3, 'ram': 1536, 'disk': 3}}
ANTI = ServerGroup.planned('web', 'anti-affinity', {})
TOGETHER = ServerGroup.planned('db', 'affinity', {})


def planned(*requests, hosts=None, **row):
    """Return the plan of requests for the names a, b, ..., each a mapping of fields."""
    row = {'hosts': hosts or {'h1': {'free': 4}, 'h2': {'free': 4}}, 'flavors': FLAVORS, **row}
    open_options = {each.key for each in row.pop('open', ())}
    rules = rules_of(row)
    rules = replace(rules, explicit=rules.explicit - open_options)
    more = {key: row.pop(key) for key in ('not_read', 'removed', 'new_groups') if key in row}
    cloud = snapshot_of(row)
    found = []
    for name, fields in zip('abcdef', requests, strict=False):
        group = fields.get('server_group')
        plain = {key: value for key, value in fields.items() if key != 'server_group'}
        asked = resolve(request_of({**row, 'request': plain}), cloud, rules)
        found.append((name, replace(asked.request, server_group=group)))
    return plan_requests(found, Scenario.of(cloud), CONSTRAINTS, **more)


def asked(count, **more):
    return {'count': count, **more}


def hosts_of(plan):
    return {
        each.name: sorted(placed.host for placed in each.decision.placements)
        for each in plan.requests
    }


def test_requests_that_fit_anywhere():
    plan = planned(asked(3), asked(2, flavor='f'))
    assert (plan.fits, plan.is_any_host, plan.is_certain) == (True, True, True)
    assert plan.line() == (
        'fits in this order on these hosts: 5 of 5 servers placed; fits whichever hosts Nova picks'
    )
    assert (plan.order, plan.tried) == (('a', 'b'), 1)


def test_another_order_is_found():
    """The small servers leave no host with room for the large one."""
    hosts = {'h1': {'free': 3}, 'h2': {'free': 5}}
    plan = planned(asked(2), asked(2, flavor='big'), hosts=hosts)
    assert (plan.fits, plan.is_any_host, plan.order) == (True, False, ('b', 'a'))
    assert hosts_of(plan) == {'a': ['h2', 'h2'], 'b': ['h1', 'h2']}
    assert [each.name for each in plan.requests] == ['a', 'b']


def test_a_group_of_several_requests_is_shared():
    plan = planned(asked(1, server_group=ANTI), asked(1, server_group=ANTI))
    assert hosts_of(plan) == {'a': ['h1'], 'b': ['h2']}
    assert plan.is_any_host
    assert [each.server_group for each in plan.requests] == ['web', 'web']


def test_a_group_of_affinity_goes_where_all_of_it_fits():
    hosts = {'h1': {'free': 4}, 'h2': {'free': 5}, 'h3': {'free': 8}}
    plan = planned(
        asked(4), asked(4, server_group=TOGETHER), asked(4, server_group=TOGETHER), hosts=hosts
    )
    assert (plan.fits, plan.is_any_host) == (True, False)
    assert {*hosts_of(plan)['b'], *hosts_of(plan)['c']} == {'h3'}


def test_a_request_that_does_not_fit_alone_is_decided_without_the_others():
    """The servers of the others would otherwise take a part of its quota."""
    flavors = {'four': {'vcpus': 4, 'ram': 512, 'disk': 1}}
    row = {'hosts': {'h1': {'free': 40}}, 'flavors': flavors, 'quotas': {'cores': [40, 30]}}
    plan = planned(asked(1, flavor='four'), asked(3, flavor='four'), **row)
    a, b = plan.requests
    assert [each.text for each in plan.obstacles] == [
        'b does not even fit alone',
        '16 cores of the project are needed, and the quota leaves 10',
    ]
    assert (a.is_alone, b.is_alone) == (False, True)
    assert limiting_reason(b.decision) == (
        "the project's quota of cores has 10 of 40 left, but 3 servers need 12"
    )
    assert (b.decision.capacity, len(b.decision.placements), plan.placed) == (2, 1, 2)
    assert 'quota cores: 46' in [each.change for each in b.decision.remedies]  # beside a


QUOTAS = {'instances': [10, 4], 'cores': [20, 4], 'server_group_members': [3, None],
          'server_groups': [5, 4]}  # fmt: skip


@pytest.mark.parametrize(
    ('requests', 'row', 'code', 'text'),
    [
        ([asked(9)], {}, 'workload.request', 'a does not even fit alone'),
        (
            [asked(5), asked(4)],
            {},
            'workload.resources',
            '9 servers of a, b need 9 VCPU on 2 hosts, which have 8 left',
        ),
        (
            [asked(1), asked(1), asked(1)],
            {'flavor': {'vcpus': 3}, 'hosts': {'h1': {'free': 5}, 'h2': {'free': 5}}},
            'workload.servers',
            '3 servers of a, b, c need 2 hosts, which have room for 2',
        ),
        (
            [asked(3, availability_zone='z'), asked(2, availability_zone='z'), asked(1)],
            {'hosts': {'h1': {'free': 4, 'zone': 'z', 'aggregates': ['z']}, 'h2': {'free': 40}},
             'aggregates': {'z': {'zone': 'z'}}},
            'workload.resources',
            '5 servers of a, b need 5 VCPU on 1 host, which has 4 left',
        ),
        (
            [asked(2, server_group=ANTI), asked(4, availability_zone='z')],
            {'hosts': {'h1': {'free': 4, 'zone': 'z', 'aggregates': ['z']}, 'h2': {'free': 40}},
             'aggregates': {'z': {'zone': 'z'}}},
            'workload.resources',
            '5 servers of a, b need 5 VCPU on 1 host, which has 4 left',
        ),
        (
            [asked(1, server_group=ANTI), asked(2, server_group=ANTI)],
            {},
            'workload.group',
            'group web gets 3 servers, and the hosts that they may use have 2 slots',
        ),
        (
            [asked(3, server_group=TOGETHER), asked(3, server_group=TOGETHER)],
            {},
            'workload.group',
            'group db has the policy affinity, and no host has room for its 6 servers',
        ),
        (
            [asked(4), asked(3)],
            {'quotas': QUOTAS},
            'workload.quota',
            '7 instances of the project are needed, and the quota leaves 6',
        ),
        (
            [asked(3, flavor='big'), asked(3, flavor='big')],
            {'quotas': QUOTAS, 'hosts': {'h1': {'free': 40}}},
            'workload.quota',
            '18 cores of the project are needed, and the quota leaves 16',
        ),
        (
            [asked(2, server_group=TOGETHER), asked(2, server_group=TOGETHER)],
            {'quotas': QUOTAS},
            'workload.quota',
            '4 members of server group db are needed, and the quota leaves 3',
        ),
        (
            [asked(1, server_group=ANTI), asked(1, server_group=TOGETHER)],
            {'quotas': QUOTAS},
            'workload.quota',
            '2 server groups of the project are needed, and the quota leaves 1',
        ),
    ],
)  # fmt: skip
def test_proofs_that_servers_do_not_fit(requests, row, code, text):
    plan = planned(*requests, **row)
    assert (plan.fits, plan.is_any_host, plan.tried) == (False, False, 1)
    assert (code, text) in plan.obstacles
    assert plan.line().startswith(f'does not fit: {plan.obstacles[0].text}; ')


def test_a_shared_pool_counts_once():
    pooled = {'VCPU': [9, 0], 'MEMORY_MB': [9216, 0], 'DISK_GB': {'capacity': 6, 'used': 0,
              'pool': 'nfs'}}  # fmt: skip
    hosts = {name: {'resources': pooled} for name in ('h1', 'h2')}
    plan = planned(asked(4), asked(3), hosts=hosts, pools={'nfs': {'DISK_GB': [6, 0]}})
    expected = '7 servers of a, b need 7 DISK_GB on 2 hosts, which have 6 left'
    assert expected in [each.text for each in plan.obstacles]


def test_the_first_request_that_does_not_fit_is_explained():
    plan = planned(asked(3), asked(9), asked(9))
    assert plan.explained is plan.requests[1]
    assert plan.explained.decision.remedies
    assert not plan.requests[2].decision.remedies
    shown = plan.as_dict()['requests']
    assert ['hosts' in each for each in shown] == [False, True, False]


def test_no_order_is_found():
    """The group fits on h1 alone, where another large server has no room: no sum shows it."""
    plan = planned(
        asked(2, flavor='big', server_group=TOGETHER),
        asked(1),
        asked(1, flavor='big'),
        hosts={'h1': {'free': 6}, 'h2': {'free': 3}},
        flavors={**FLAVORS},
    )
    assert (plan.fits, plan.is_unknown) in ((None, False), (False, False))


def test_unknown_hosts():
    plan = planned(asked(1), asked(1), hosts=None, quotas={'instances': [1, 0]})
    assert plan.fits is False
    cloud = {'hosts': None, 'flavors': FLAVORS}
    request = resolve(request_of(cloud), snapshot_of(cloud), rules_of(cloud)).request
    plan = plan_requests([('a', request)], Scenario.of(snapshot_of(cloud)), CONSTRAINTS)
    assert (plan.fits, plan.is_unknown, plan.tried) == (None, True, 1)
    assert plan.line() == 'not known whether it fits: 0 of 1 servers placed'


def test_parts_that_were_not_read_and_servers_that_are_removed():
    plan = planned(asked(1), not_read=('x: a nested stack',))
    assert (plan.fits, plan.is_certain) == (True, False)
    assert plan.line().endswith('; 1 part was not read')
    plan = planned(asked(9), removed=('old',))
    assert (plan.fits, len(plan.obstacles)) == (None, 1)


def test_quotas_that_may_be_exceeded_are_no_certainty():
    """Unified limits and Nova's own driver count cores in two ways."""
    flavor = {'vcpus': 4, 'extra_specs': {'resources:VCPU': '1'}}
    row = {'flavor': flavor, 'quotas': {'cores': [11, 0]}, 'open': (DRIVER, USAGE)}
    assert planned(asked(1), asked(1), **row).is_any_host
    plan = planned(asked(2), asked(1), **row)
    assert (plan.fits, plan.is_unknown, plan.is_any_host) == (None, True, False)
    assert plan.requests[1].decision.capacity_certain == 0


def test_no_servers():
    plan = planned()
    assert (plan.fits, plan.wanted, plan.line()[:4]) == (True, 0, 'fits')


def test_a_plan_is_plain():
    plan = planned(asked(3), asked(6))
    assert pickle.loads(pickle.dumps(plan)) == plan
    found = json.loads(json.dumps(plan.as_dict()))
    assert found['format'] == 1
    assert [each['name'] for each in found['requests']] == ['a', 'b']


def test_hosts_that_are_not_certain_make_a_list_uncertain():
    """Each request alone certainly fits; which hosts the first one leaves is open."""
    hosts = {'h1': {'free': 4, 'nested': True}, 'h2': {'free': 3}}
    plan = planned(asked(3), asked(2), hosts=hosts)
    assert plan.requests[0].decision.capacity_certain == 3
    assert (plan.fits, plan.is_certain, plan.fits_by_upper_bound) == (True, False, True)
    assert plan.line().startswith('fits by an upper bound only: 5 of 5 servers placed')
    assert planned(asked(3), hosts=hosts).is_certain
