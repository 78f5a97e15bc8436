"""The view of a plan and of a failed server handles every width, cloud, name and stream."""

import functools
import io

import pytest
from msgspec import structs

from senlin_affinity.api import Question
from senlin_affinity.cli import view, view_hosts, view_notes
from senlin_affinity.cli.view_notes import Answer
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.server_group import Member
from senlin_affinity.nova.actions import Action
from tests.support.asked import plan, resolve
from tests.support.small_cloud import CONSTRAINTS, request_of, snapshot_of
from tests.support.values import replace
from tests.unit.answers.test_explanation import (
    GROUP,
    SERVER,
    THREE,
    explained,
    failed_server,
)
from tests.unit.preflight.test_server_action import asked

CLOUD = {
    'hosts': {**THREE, 'cmp-4': {'disabled': True}, 'cmp-5': {'free': 0}},
    'group': GROUP,
    'quotas': {'instances': [10, 4], 'server_group_members': [10, None]},
}


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv('COLUMNS', '80')


def answer_of(row, snapshot=None, unavailable=None, **more):
    snapshot = snapshot or snapshot_of(row)
    request = request_of(row)
    if snapshot.server_groups:
        request = replace(request, server_group=snapshot.server_groups[0].id)
    decision, resolved = plan(request, snapshot, CONSTRAINTS), resolve(request, snapshot)
    return Answer(
        decision, *resolved, structs.replace(snapshot, unavailable=unavailable or {}), **more
    )


def planned(answer, stream=None, *, is_long=False):
    stream = stream or io.StringIO()
    view.show_plan(answer, stream, is_long=is_long)
    return stream.getvalue()


def shown(found, cloud_view=None, options=None, *, is_long=False):
    stream = io.StringIO()
    answer = view_notes.of_explanation(found, cloud_view or Cloud(), options or {})
    view.show_explanation(found, answer, stream, is_long=is_long)
    return stream.getvalue()


# -- both


@functools.cache
def large_cloud(number):
    """A third of the hosts is disabled, most others are full, and two take servers."""
    hosts = {
        f'compute-{n:04}.example.org': {'disabled': n % 3 == 2, 'free': n < 2}
        for n in range(number)
    }
    row = {'hosts': hosts, 'group': GROUP, 'request': {'count': 6}}
    return answer_of(row), explained(row, failed_server(6))


@pytest.mark.parametrize('is_long', [False, True])
@pytest.mark.parametrize('width', [80, 140])
@pytest.mark.parametrize('number', [3, 5000])
def test_a_view_is_legible_at_every_width(width, number, is_long, monkeypatch):
    """No line is wider, no cloud makes it long, and the answer comes before help and hosts."""
    monkeypatch.setenv('COLUMNS', str(width))
    answer, explanation = large_cloud(number)
    of_plan, of_server = planned(answer, is_long=is_long), shown(explanation, is_long=is_long)
    for text in of_plan, of_server:
        lines = text.splitlines()
        assert [line for line in lines if len(line) > width and '$ ' not in line] == []
        titles = [line for line in lines if line in ('What would help', 'Hosts')]
        assert titles == ['What would help', 'Hosts']
        assert 'compute-0000.example.org' in text
        assert ('[host_state.disabled]' in text) == is_long
        assert len(lines) < 30 or is_long
        assert (f'compute-{number - 1:04}.example.org' in text) == (is_long or number == 3)
    assert of_plan.startswith('Only 2 of 6 fit: server group web allows 1 per host, and ')


def test_the_hosts_of_a_large_cloud_are_grouped():
    answer, _explanation = large_cloud(5000)
    assert [*view_hosts.groups(answer)] == [
        '2 hosts: full with these servers: compute-0000.example.org (+1), '
        'compute-0001.example.org (+1)',
        '3,332 hosts: too little VCPU left: compute-0003.example.org (0 of 1), '
        'compute-0004.example.org (0 of 1), compute-0006.example.org (0 of 1), '
        'compute-0007.example.org (0 of 1), compute-0009.example.org (0 of 1), and 3,327 more',
        '1,666 hosts: the compute service is disabled',
    ]


def test_hosts_that_nearly_fit_come_first_by_name():
    """Those that only one constraint rejects, and of these, those with most of it free."""
    hosts = {f'far-{n}': {'disabled': True, 'free': 0} for n in range(6)}
    hosts |= {'near-1': {'disabled': True}, 'near-2': {'free': 1}, 'near-3': {'free': 2}}
    row = {'hosts': hosts, 'request': {'count': 1, 'flavor': 'large'}}
    row['flavors'] = {'large': {'vcpus': 3}}
    assert [*view_hosts.groups(answer_of(row))] == [
        '2 hosts: too little VCPU left: near-3 (2 of 3), near-2 (1 of 3)',
        '7 hosts: the compute service is disabled: near-1, and 6 more',
    ]


def test_a_reason_of_several_hosts_is_in_the_plural():
    row = {'hosts': THREE, 'flavor': {'extra_specs': {'resources:VGPU': '1'}}}
    assert [*view_hosts.groups(answer_of(row))] == ['3 hosts: offer no VGPU: cmp-1, cmp-2, cmp-3']


def test_many_reasons_are_cut():
    names = [f'CUSTOM_{n}' for n in range(15)]
    hosts = {
        f'cmp-{n}': {'traits': [each for each in names if each != name]}
        for n, name in enumerate(names)
    }
    specs = {f'trait:{name}': 'required' for name in names}
    found = explained({'hosts': hosts, 'flavor': {'extra_specs': specs}})
    answer = Answer(found.decision, found.request, found.cloud, Cloud())
    lines = [*view_hosts.groups(answer)]
    assert len(lines) == 11
    assert lines[0] == '1 host: lacks CUSTOM_0: cmp-0'
    assert lines[-1] == '5 hosts: 5 other reasons (see --long)'
    assert len([*view_hosts.groups(answer, is_long=True)]) == 15


def test_hosts_of_many_aggregates_share_a_reason():
    hosts = {f'cmp-{n}': {'aggregates': [f'a-{n % 7}']} for n in range(8)}
    row = {'hosts': hosts, 'aggregates': {f'a-{n}': {} for n in range(7)}}
    found = explained(row, member_of=tuple(f'!a-{n}' for n in range(7)))
    answer = Answer(found.decision, found.request, found.cloud, Cloud())
    assert [*view_hosts.groups(answer)] == [
        '8 hosts: are in an aggregate that member_of forbids: cmp-0 (a-0), cmp-1 (a-1), cmp-2 '
        '(a-2), cmp-3 (a-3), cmp-4 (a-4), and 3 more'
    ]


def test_hosts_of_one_aggregate_share_its_name():
    row = {'hosts': {name: {'aggregates': ['a']} for name in ('b', 'c')}, 'aggregates': {'a': {}}}
    found = explained(row, member_of=('!a',))
    answer = Answer(found.decision, found.request, found.cloud, Cloud())
    assert [*view_hosts.groups(answer)] == [
        '2 hosts: are in aggregate a, which member_of forbids: b, c'
    ]


@pytest.mark.parametrize(
    'character', ['\x1b[31m', '\x9b31m', '\ud800', '\u2028', '\u202e', '\u200b']
)
@pytest.mark.parametrize('is_long', [False, True])
def test_control_characters_are_replaced(character, is_long):
    """In the names of hosts, aggregates and groups, and in reasons of the cloud."""
    row = {
        'hosts': {
            f'cmp{character}': {'resources': None},
            'b': {'aggregates': [f'fenced{character}']},
        },
        'group': {'policy': 'affinity', 'members': [None]},
        'request': {'count': 2},
    }
    text = planned(answer_of(row, unavailable={'quotas': f'no{character}'}), is_long=is_long)
    failed = failed_server(1, message=f'No valid host was found. {character}')
    text += shown(explained({'hosts': THREE}, failed), is_long=is_long)
    assert 'cmp?' in text
    assert 'the quotas: no?' in text
    assert not any(sign in text for sign in character if not sign.isalnum() and sign != '[')
    text.encode()


@pytest.mark.parametrize('name', ['web[bold]', 'a:smile:b'])
def test_a_name_is_printed_literally(name):
    """Markup and emoji codes are not interpreted."""
    row = {'hosts': {name: {}}, 'group': {'policy': 'affinity'}}
    assert f'\n{name}  ' in planned(answer_of(row), is_long=True)
    snapshot = replace(snapshot_of(row), hosts=None)
    group = replace(snapshot.server_groups[0], name=name, members=(Member('vm-1', host_id='1'),))
    snapshot = replace(snapshot, server_groups=(group,))
    assert f'What is known of server group {name}\n' in planned(answer_of(row, snapshot))


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self):
        return True


def test_only_a_terminal_gets_colours(monkeypatch):
    answer = answer_of({'hosts': {'cmp-1': {}}})
    assert planned(answer, Terminal()).startswith('\x1b[1;32mThe server fits')
    assert planned(answer).startswith('The server fits')
    monkeypatch.setenv('NO_COLOR', '1')
    assert planned(answer, Terminal()).startswith('The server fits')


class ClosedStream(io.StringIO):
    """A stream whose reader is closed."""

    def write(self, text):
        raise BrokenPipeError


def test_a_broken_pipe_is_raised_to_the_command():
    with pytest.raises(BrokenPipeError):
        planned(answer_of({'hosts': {'cmp-1': {}}}), ClosedStream())


# -- a plan

HUGE = {'a': {'free': 160}}


@pytest.mark.parametrize(
    ('row', 'sentence'),
    [
        ({'hosts': {'a': {'free': 1}}}, 'The server fits; no more would fit.'),
        (
            {'hosts': {'a': {'free': 3}}, 'request': {'count': 2}},
            'Both servers fit; 1 more would fit.',
        ),
        (
            {'hosts': {'a': {'free': 3}}, 'request': {'count': 3}},
            'All 3 servers fit; no more would fit.',
        ),
        ({'hosts': {'a': {'free': 3}}, 'request': {'count': 0}}, '3 servers would fit.'),
        (
            {'hosts': HUGE, 'quotas': {'instances': [20, 0]}, 'request': {'count': 0}},
            "20 fit, limited by the project's quota of instances; the hosts have room for 160.",
        ),
        (
            {'hosts': HUGE, 'quotas': {'cores': [9, 7]}, 'request': {'count': 2}},
            "Both servers fit; no more would fit. The limit is the project's quota of cores; the "
            'hosts have room for 160.',
        ),
        (
            {'hosts': None, 'quotas': {'ram': [1024, 0]}, 'request': {'count': 0}},
            "At most 2 fit, limited by the project's quota of ram; the hosts are not known.",
        ),
        (
            {'hosts': {'a': {'free': 3}}, 'quotas': {'ram': [4096, 0]}, 'request': {'count': 0}},
            '3 servers would fit.',
        ),
        (
            {'hosts': HUGE, 'quotas': {'cores': [9, 9]}, 'request': {'count': 0}},
            "0 fit, limited by the project's quota of cores; the hosts have room for 160.",
        ),
        (
            {'hosts': {'a': {'free': 0}}},
            'The server does not fit: too little VCPU left (the only host).',
        ),
        ({'hosts': {}, 'request': {'count': 3}}, 'None of the 3 servers fits: there is no host.'),
        (
            {'hosts': {'a': {'free': 1}, 'b': {'disabled': True}}, 'request': {'count': 2}},
            'Only 1 of 2 fit: b has room, but its compute service is disabled; too little VCPU '
            'left (1 of 2 hosts).',
        ),
        (
            {'hosts': {'a': {'free': 1}, 'b': {'resources': None}}, 'request': {'count': 2}},
            'It is not known whether 2 servers fit: 1 certainly fit',
        ),
    ],
)
def test_the_answer_is_a_sentence(row, sentence):
    assert ' '.join(planned(answer_of(row)).split()).startswith(sentence)


def test_a_number_of_metadata_items_that_no_server_may_have_is_named():
    quotas = {'instances': [20, 0], 'metadata_items': [3, None]}
    row = {'hosts': HUGE, 'quotas': quotas, 'request': {'count': 0, 'metadata_items': 4}}
    text = ' '.join(planned(answer_of(row)).split())
    assert text.startswith('0 fit, limited by the quota metadata_items; the hosts have room for')


@pytest.mark.parametrize(
    ('at_most', 'words'),
    [
        (
            'constraint image_hypervisor (it is not known whether the hypervisors support aarch64)',
            'whether the hypervisors support aarch64',
        ),
        (
            'constraint server_count (the limit of servers on a host is not known)',
            'the limit of servers on a host',
        ),
        ("the project's quotas, which are not known", "the project's quotas"),
        ('members whose host is not known', 'the effect of members whose host is not known'),
        ('what nova.conf may enable (1 fits)', 'what nova.conf may enable (1 fits)'),
        ('filter AcmeFilter', 'the effect of filter AcmeFilter'),
        ('constraint racks', 'the effect of constraint racks'),
    ],
)
def test_an_upper_bound_says_what_is_not_known(at_most, words):
    decision = answer_of({'hosts': {'a': {'free': 13}}, 'request': {'count': 4}}).decision
    unsure = replace(decision, at_most=(at_most,), capacity_certain=0)
    wanted = f'4 servers probably fit (at most 13). Not known: {words}.'
    assert view.fit(unsure) == wanted
    some = replace(unsure, capacity_certain=2)
    assert view.fit(some) == wanted.replace('13)', '13, 2 certainly)')


def test_unknown_hosts_are_a_group():
    row = {'hosts': {'a': {'free': 1}, 'b': {'resources': None}}, 'request': {'count': 2}}
    text = planned(answer_of(row), is_long=True)
    assert '  1 host: may fit: the free resources are not known: b\n' in text
    assert text.splitlines()[-1].split() == ['b', '0', '0', '?', 'resources.unknown?']


def test_the_zones_of_chosen_hosts_are_named():
    row = {'hosts': {'cmp-1': {'zone': 'az-1', 'free': 1}, 'cmp-2': {'zone': 'az-2', 'free': 3}}}
    row['request'] = {'count': 2}
    text = planned(answer_of(row))
    assert '  1 host: chosen, with free capacity left: cmp-2 (+1 in az-2)\n' in text
    assert '  1 host: full with these servers: cmp-1 (+1 in az-1)\n' in text


def test_long_lists_every_host_with_its_codes():
    row = {
        'hosts': {
            'cmp-1': {'zone': 'az-1'},
            'cmp-2': {'zone': 'az-2', 'disabled': True, 'free': 0},
            'cmp-3': {'zone': 'az-2'},
        },
        'group': {'policy': 'anti-affinity', 'members': ['cmp-3']},
        'request': {'count': 3},
    }
    text = planned(answer_of(row), is_long=True)
    assert '\nIn one line\n  does not fit: 1 of 3 placed; 0/3 hosts left: ' in text
    assert [' '.join(line.split()) for line in text.splitlines()[-4:]] == [
        'Host Zone Members New Free Rejected by',
        'cmp-1 az-1 0 1 0 server_group.host_full',
        'cmp-2 az-2 0 0 0 host_state.disabled, resources.exhausted (VCPU)',
        'cmp-3 az-2 1 0 0 server_group.host_full',
    ]


def test_a_spread_lists_the_domains_that_do_not_count():
    """A full domain counts: the skew limits the servers in the other domains."""
    row = {
        'hosts': {
            'cmp-1': {'zone': 'az-1', 'aggregates': ['one']},
            'cmp-2': {'zone': 'az-2', 'aggregates': ['two'], 'disabled': True},
            'cmp-3': {'zone': 'az-3', 'aggregates': ['three'], 'free': 0},
            'cmp-4': {'zone': 'nova'},
        },
        'aggregates': {'one': {'zone': 'az-1'}, 'two': {'zone': 'az-2'}, 'three': {'zone': 'az-3'}},
        'request': {'count': 2, 'spread': [{'by': 'availability_zone'}]},
    }
    text = ' '.join(planned(answer_of(row)).split())
    no_host = 'does not count for max_skew: none of its hosts fits'
    assert f'az-2 {no_host} (the compute service is disabled)' in text
    assert f'nova {no_host} (' in text
    assert text.count('does not count') == 2


OWN = 'project: ours (your own; --project selects another)'


@pytest.mark.parametrize(
    ('group', 'request_project', 'is_file', 'line'),
    [
        (None, None, False, OWN),
        ('ours', None, False, 'project: ours (that of server group web)'),
        (
            'theirs',
            None,
            False,
            'project: theirs (that of server group web; its quotas are not known)',
        ),
        (None, 'ours', False, 'project: ours (from --project)'),
        (None, None, True, 'project: ours (that of the snapshot; --project selects another)'),
    ],
)
def test_the_project_of_the_quotas_is_printed(group, request_project, is_file, line):
    """An administrator reads the project, because the quotas may be those of their own project."""
    row = {'hosts': {'a': {}}, 'project': 'ours', 'quotas': {'instances': [9, 0]}}
    row['request'] = {'project_id': request_project}
    if group is not None:
        row['group'] = {'policy': 'anti-affinity', 'project': group}
    question = Question(1, 'small', project_id=request_project)
    answer = answer_of(row, is_file=is_file, question=question)
    assert line in ' '.join(planned(answer).split())
    (quota,) = (
        each for each in answer.decision.as_dict()['request'] if each['constraint'] == 'quota'
    )
    assert quota['facts'].get('project_id') == (None if group == 'theirs' else 'ours')


# -- a failed server


def test_the_example_of_the_manual():
    assert (
        shown(explained(CLOUD)).partition('  max_server_per_host: 2')[0]
        == """\
web-4 found no host at 2026-11-24 09:14 UTC (one of 4 servers requested
together).
Nova: No valid host was found. There are not enough hosts available.
Nova places such a request as a whole. 3 of 4 fit: server group web allows 1 per
host, and 3 of 5 hosts are full.
The same request would fail today. web-1 to web-4 still count: 4 of 10
instances, 4 of 10 group members.
For two minutes after the failure, nova-scheduler may count the failed servers
on the chosen hosts.

What would help
  delete the 4 servers, then request 3
"""
    )
    assert (
        shown(explained(CLOUD)).partition('\n\nHosts\n')[2]
        == """\
  3 hosts: full with these servers: cmp-1 (+1), cmp-2 (+1), cmp-3 (+1)
  1 host: the compute service is disabled: cmp-4
  1 host: too little VCPU left: cmp-5 (0 of 1)
"""
    )


def test_the_hosts_of_a_failure_are_those_without_what_is_not_modelled():
    """Nova rejected them: a hint is probably decisive, which the numbers do not count."""
    row = {'hosts': {'cmp-1': {'free': 3}}, 'servers': {SERVER: {'host': 'cmp-2'}}}
    text = shown(explained(row, failed_server(1), scheduler_hints={'same_host': SERVER}))
    assert '\nThe same request would probably fail again.\n' in text
    assert '\nHosts, without what is not modelled\n' in text
    assert '\nHosts\n' in shown(explained(CLOUD))


def test_a_tenant_reads_their_own_requirements():
    row = {**CLOUD, 'hosts': None}
    message = 'could not list the hypervisors: Nova answered 403: Policy'
    cloud_view = structs.replace(
        replace(snapshot_of(row), hosts=None), unavailable={'hosts': message, 'aggregates': 'odd'}
    )
    right = 'os_compute_api:os-hypervisors:list-detail'
    named = {'hosts': f"{message} doesn't allow {right} to be performed."}
    text = shown(explained(row), replace(cloud_view, unavailable=named))
    assert f'  the hosts: Nova shows them to administrators only\n    ({right})\n' in text
    text = shown(explained(row), cloud_view)
    assert (
        'What the request requires of a host\n'
        '  flavor small: 1 VCPU, 512 MiB of memory, 1 GiB of disk\n'
        '  a host may hold 1 of server group web\n'
    ) in text
    assert '  the hosts: Nova shows them to administrators only\n  the aggregates: odd\n' in text
    assert 'Whether the same request would fit today is not known.' in text
    assert f'  the hosts: {message}\n' in shown(explained(row), cloud_view, is_long=True)


def test_parts_that_nova_does_not_return_are_listed_if_they_matter():
    hidden = {'--hint': 'the scheduler hints (from microversion 2.100)'}
    title = 'What Nova does not return (specify it with the option)'
    fits = failed_server(1, hidden=hidden)
    assert f'{title}\n  the scheduler hints (from microversion 2.100): --hint\n' in shown(
        explained({'hosts': THREE}, fits)
    )
    assert title not in shown(explained({'hosts': {'cmp-1': {'free': 0}}}, fits))


def test_the_project_of_a_failed_server_is_not_an_option():
    assert 'project: ' not in shown(explained({**CLOUD, 'project': 'ours'}))


def test_an_explanation_names_the_options_that_a_file_sets():
    text = shown(explained(CLOUD), options={'nova.conf': ['enabled_filters'], 'empty.conf': []})
    assert '\nBased on\n' in text
    assert '  nova.conf: enabled_filters\n' in text
    assert 'empty.conf' not in text


def test_no_change_would_help():
    text = shown(explained({'hosts': {}}, failed_server(1)))
    assert 'No host takes it: there is no host.' in text
    assert '\nNo known change would help.\n' in text
    assert 'What the constraints advise' not in text


def test_a_tenant_reads_of_the_quota_without_a_command():
    text = planned(answer_of({'hosts': None, 'quotas': {'instances': [1, 1]}}))
    assert (
        '\n\nWhat would help\n  ask the operator for quota instances: 2 (capacity at most 1)\n'
        in text
    )
    assert 'openstack' not in text


# -- an action on a server


def of_action(action, hosts=None, **more):
    request = asked(action, hosts, **more)
    decision = request.decide(CONSTRAINTS)
    known = request.cloud
    answer = Answer(decision, request.request, request.cloud, known, action=request.asked)
    return planned(replace(answer, is_explained=True))


@pytest.mark.parametrize(
    ('action', 'hosts', 'words'),
    [
        (Action.MIGRATE, THREE, 'Nova accepts 2 of 2 hosts for the cold migration of web-1.\n'),
        (
            Action.LIVE_MIGRATE,
            THREE,
            'Nova probably accepts 2 of 2 hosts for the live migration of web-1.\n'
            'Not known: what Nova checks only on the chosen host (CPU model and',
        ),
        (
            Action.MIGRATE,
            {'cmp-1': {}, 'cmp-2': {'free': 0}},
            'Nova finds no host for the cold migration of web-1: too little VCPU left (the',
        ),
        (
            Action.EVACUATE,
            THREE,
            'Nova rejects the evacuation of web-1: the compute service of cmp-1 is up, and',
        ),
    ],
)
def test_an_action_begins_with_what_nova_does(action, hosts, words):
    text = of_action(action, hosts)
    assert text.startswith(words)
    assert 'quotas are ignored' not in text


@pytest.mark.parametrize(
    ('free', 'more'),
    [
        (2, ''),
        (0, 'With a larger quota, it would still fail: too little VCPU left (the only host).\n'),
    ],
)
def test_nova_api_rejects_an_action_by_a_quota_before_a_host_is_chosen(free, more):
    cloud = {'quotas': {'ram': [1124, 1024]}}
    hosts = {'cmp-1': {}, 'cmp-2': {'free': free}}
    text = of_action(Action.RESIZE, hosts, cloud=cloud, flavor='big')
    assert text.startswith(
        'nova-api rejects the resize of web-1 with 403, before Nova chooses a host: the\n'
        "project's quota of ram has 100 of 1124 MiB left, but the resize needs 512 more.\n"
        f'{more}\n'
    )


def test_an_action_without_the_hosts():
    text = of_action(Action.MIGRATE, view={'owner_sees_hosts': False})
    assert text.startswith('It is not known whether Nova finds a host for the cold migration of')


def test_an_obstacle_has_only_its_own_advice():
    text = of_action(Action.EVACUATE, {**THREE, 'cmp-2': {'disabled': True}})
    advice = text.partition('What the constraints advise\n')[2].partition('\n\n')[0]
    assert advice == '  migrate the server'
