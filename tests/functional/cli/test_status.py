"""``senlin-affinity status`` with engines that differ, and with a Senlin that lists nothing."""

import json

import pytest

from tests.functional.cli.test_group import OWN, PROJECT, Senlin, policy
from tests.support import command
from tests.support.fake_nova import FakeHost, FakeNova


def reports(*engines):
    """Return the data of a policy with the reports of engines: (host, release, ids of services)."""
    return {
        'affinity_engines': {
            host: {'release': release, 'options': 'a', 'services': ids, 'at': at}
            for host, release, ids, at in engines
        }
    }


TWO = reports(('ctl-1', '0.9.1', 'e1', '08:00'), ('ctl-2', '0.10.0', 'old e2', '08:00'))
UPGRADED = reports(('ctl-1', '0.10.0', 'e1', '09:00'))
STOPPED = reports(('ctl-1', '0.9.1', 'old', '07:00'), ('ctl-2', '0.10.0', 'e2', '08:00'))


def service(key, host, state='up'):
    return {'id': key, 'host': host, 'binary': 'senlin-engine', 'state': state}


def action(key, owner, **more):
    return {
        'id': key, 'owner': owner, 'status': 'RUNNING', 'action': 'CLUSTER_SCALE_OUT',
        'target': 'c1', **more,
    }  # fmt: skip


@pytest.fixture
def status(run):
    """Run the command; return the exit status and the findings: ``status(cloud)``."""

    def ask(cloud, *words):
        environment = {**command.NO_CLOUD, **cloud.environment}
        done = command.run('status', '-f', 'json', *words, **environment)
        return done.returncode, json.loads(done.stdout)

    return ask


def cloud_with(policies, services, actions=()):
    senlin = Senlin(FakeNova(hosts=(FakeHost('cmp-1'),)), policies=policies, actions=[*actions])
    senlin.lists['services'] = services
    return senlin


def of(rows, check, *columns):
    return [tuple(row[each] for each in columns) for row in rows if row['Check'] == check]


def test_engines_with_different_releases_are_findings(status):
    up = [service('e1', 'ctl-1'), service('e2', 'ctl-2')]
    with cloud_with([policy(data=TWO)], up) as cloud:
        code, rows = status(cloud)
    details = 'has {} (options a); other engines differ'
    assert code == 3
    assert of(rows, 'engines', 'State', 'Object', 'Details') == [
        ('finding', 'ctl-1', details.format('0.9.1')),
        ('finding', 'ctl-2', details.format('0.10.0')),
    ]


def test_all_checks_share_one_login(status, monkeypatch):
    requests = []
    with cloud_with([policy()], [service('e1', 'ctl-1')]) as cloud:
        answer = cloud.answer

        def record(method, target, headers, body):
            requests.append((method, target.partition('?')[0]))
            return answer(method, target, headers, body)

        monkeypatch.setattr(cloud, 'answer', record)
        status(cloud)
    assert requests.count(('POST', '/identity/v3/auth/tokens')) == 1


def test_the_latest_report_of_an_engine_counts(status):
    up = [service('e1', 'ctl-1'), service('e2', 'ctl-2')]
    policies = [policy(data=TWO), policy(id='p2', data=UPGRADED)]
    with cloud_with(policies, up) as cloud:
        _code, rows = status(cloud)
    assert {each for (each,) in of(rows, 'engines', 'State')} == {'ok'}


def test_the_report_of_a_stopped_engine_does_not_count(status):
    """An upgraded engine reports its release with its first action."""
    up = [service('e1', 'ctl-1'), service('e2', 'ctl-2')]
    with cloud_with([policy(data=STOPPED)], up) as cloud:
        _code, rows = status(cloud)
    assert of(rows, 'engines', 'State', 'Details') == [
        ('ok', 'has not used the policy since it started'), ('ok', 'has 0.10.0 (options a)'),
    ]  # fmt: skip


def test_an_unfinished_action_of_an_engine_that_is_down_is_a_finding(status):
    known = [service('e1', 'ctl-1'), service('e2', 'ctl-2', 'down')]
    actions = [action('a1', 'e1'), action('a2', 'e2'), action('a3', 'e3'), action('a4', None)]
    with cloud_with([], known, actions) as cloud:
        code, rows = status(cloud)
    assert code == 3
    assert of(rows, 'actions', 'Object') == [('a2',), ('a3',)]
    assert of(rows, 'engines', 'Object', 'Details') == [
        ('ctl-1', 'has not used the policy since it started'), ('ctl-2', 'is down'),
    ]  # fmt: skip


def test_an_unprepared_action_of_a_node_is_a_finding(status):
    """Before microversion 1.14, Senlin does not show the cluster, so nothing is reported."""
    init = {'status': 'INIT', 'action': 'NODE_CREATE', 'target': 'n'}
    actions = [
        action('a1', 'e1'), action('a2', None, **init, cluster_id='c1'),
        action('a3', None, **init, cluster_id='c2'), action('a4', None, **init),
    ]  # fmt: skip
    with cloud_with([], [service('e1', 'ctl-1')], actions) as cloud:
        _code, rows = status(cloud)
    assert of(rows, 'actions', 'Object') == [('a3',)]


def test_a_user_who_may_not_list_everything_gets_unknown_checks(status):
    with cloud_with([], []) as cloud:
        cloud.is_administrator = False
        code, rows = status(cloud)
    assert code == 1
    assert of(rows, 'engines', 'State') == of(rows, 'groups', 'State') == [('unknown',)]


def test_a_cloud_without_senlin_has_no_engines_to_check(status):
    with cloud_with([], []) as cloud:
        cloud.has_senlin = False
        _code, rows = status(cloud)
    assert of(rows, 'engines', 'State', 'Details') == [('not checked', 'this cloud has no Senlin')]


@pytest.fixture
def senlin_conf(write, tmp_path):
    """Write files, and return the options that name them: ``senlin_conf(cloud, section...)``."""

    def make(*sections):
        write('senlin.conf', '\n'.join(sections))
        return '--config-file', str(tmp_path / 'senlin.conf')

    return make


def test_configuration_files_that_contradict_each_other_are_findings(
    status, senlin_conf, write, tmp_path
):
    write(
        'nova.conf',
        '[filter_scheduler]\n'
        'enabled_filters = AggregateInstanceExtraSpecsFilter, AggregateInstanceTypeFilter\n'
        '[scheduler]\nmax_placement_results = 7\n',
    )
    files = (
        *senlin_conf('[affinity]\nenabled_filters = ComputeFilter\n'),
        *('--nova-conf', str(tmp_path / 'nova.conf')),
    )
    with cloud_with([], []) as cloud:
        code, rows = status(cloud, *files)
    assert code == 3
    assert of(rows, 'credentials', 'Details') == [('there are no operator credentials',)]
    differing = ['max_placement_results', 'enabled_filters']
    assert of(rows, 'options', 'Object') == [(f'[affinity] {each}',) for each in differing]
    assert of(rows, 'filters', 'Object') == [('enabled_filters',)]


def test_an_engine_that_reads_nova_conf_does_not_contradict_it(
    status, senlin_conf, write, tmp_path
):
    path = tmp_path / 'nova.conf'
    write('nova.conf', '[filter_scheduler]\nenabled_filters = ComputeFilter\n')
    own = f'[affinity]\nnova_conf = {path}\nenabled_filters = RamFilter\n'
    with cloud_with([], []) as cloud:
        _code, rows = status(cloud, *senlin_conf(own), '--nova-conf', str(path))
    assert of(rows, 'options', 'State') == [('ok',)]


def test_operator_credentials_that_do_not_work_are_a_finding(status, senlin_conf):
    login = (
        '[senlin_affinity_cloud]\nauth_type = password\nauth_url = http://127.0.0.1:9/v3\n'
        'username = u\npassword = p\nproject_name = p\n'
    )
    with cloud_with([], []) as cloud:
        code, rows = status(cloud, *senlin_conf(login))
    ((state, details, fix),) = of(rows, 'credentials', 'State', 'Details', 'Fix')
    assert (code, state) == (3, 'finding')
    assert details.startswith('they do not work: could not log in at http://127.0.0.1:9/v3')
    assert fix.startswith('correct them: ')


def test_a_violated_group_that_no_cluster_uses_is_a_finding(status):
    with cloud_with([policy()], [service('e1', 'ctl-1')]) as cloud:
        nova = cloud.nova
        web = nova.add_group('web', **OWN)
        for _ in range(2):
            nova.boot(web, 'cmp-1', project=PROJECT)
        code, rows = status(cloud)
    assert code == 3
    assert of(rows, 'groups', 'State', 'Object') == [('finding', 'web')]
