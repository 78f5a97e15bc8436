"""``senlin-affinity plan`` reports which parts of a cloud are unknown, and why."""

import pytest

from tests.functional.http_cloud import HttpCloud
from tests.support import command, fake_keystone
from tests.support.fake_nova import FakeFlavor, FakeHost, FakeNova

HOSTS = tuple(FakeHost(f'cmp-{number}') for number in (1, 2, 3))
SMALL = (FakeFlavor('1', 'm1.small', {}),)
NO_HOSTS = 'the hosts: could not list the hypervisors: Nova answered 403: '
NO_AGGREGATES = 'the aggregates: could not list the aggregates: Nova answered 403: '
UNKNOWN_TITLE = 'What is not known'
THEIRS = ('instances', 'cores', 'ram', 'server_groups', 'server_group_members')


class SingleUserCloud(HttpCloud):
    """A cloud in which every request has the same user."""

    def __init__(self, nova, user):
        super().__init__(nova)
        self.user = user

    def answer(self, method, target, headers, body):
        return super().answer(method, target, {**headers, 'X-Auth-Token': self.user}, body)


@pytest.fixture
def plan(run):
    """Return a function that runs plan, by default as an administrator."""

    def run_plan(nova, count, *options, user='admin', cut_after=None):
        with SingleUserCloud(nova, user) as cloud:
            cloud.placement.cut = cut_after
            environment = {
                **command.NO_CLOUD,
                'OS_AUTH_URL': f'{cloud.url}/identity/v3',
                'OS_USERNAME': user,
                'OS_PROJECT_NAME': user,
                'OS_USER_DOMAIN_ID': 'default',
                'OS_PROJECT_DOMAIN_ID': 'default',
                'OS_REGION_NAME': fake_keystone.REGION,
                'COLUMNS': '200',
            }
            plan_options = ('--count', str(count), '--flavor', 'm1.small', *options)
            return run('plan', *plan_options, **environment)

    return run_plan


@pytest.fixture
def nova():
    """Return three hosts, and a group with three servers on two of them."""
    fake = FakeNova(hosts=HOSTS, flavors=SMALL)
    group = fake.add_group('web', rules={'max_server_per_host': 3})
    for host in ('cmp-1', 'cmp-1', 'cmp-2'):
        fake.boot(group, host)
    return fake


def below(done, title):
    """Return the lines of the view below a title."""
    lines = iter(done.stdout.splitlines())
    assert title in lines, done.stdout
    found = []
    for line in lines:
        if not line:
            break
        found.append(line.strip())
    return found


def test_a_truncated_answer_of_placement_is_reported(plan, nova):
    cut_after = (
        "the resources: Placement's answers lack 2 of 3 hosts "
        '(if Placement truncates its answers, raise max_allocation_candidates)'
    )
    done = plan(nova, 1000, cut_after=1)
    assert (done.returncode, done.stderr) == (1, '')
    assert below(done, UNKNOWN_TITLE) == [cut_after]
    assert '2 hosts: may fit: the free resources are not known: cmp-2, cmp-3' in done.stdout
    # One server fits on the known hosts; the capacity is a lower bound.
    done = plan(nova, 1, cut_after=1)
    assert (done.returncode, done.stderr) == (0, '')
    assert below(done, UNKNOWN_TITLE) == [cut_after]


def test_a_non_admin_reads_novas_message_and_the_members_by_host(plan, nova):
    done = plan(nova, 6, '--server-group', 'web', '--long', user='demo')
    assert (done.returncode, done.stderr) == (1, '')
    hosts, aggregates = below(done, UNKNOWN_TITLE)
    assert hosts.startswith(NO_HOSTS)
    assert aggregates.startswith(NO_AGGREGATES)
    assert below(done, 'What is known of server group web') == [
        '3 servers, on 2 hosts: 2, 1',
        'these hosts have 3 slots left (max_server_per_host: 3)',
    ]
    assert 'cmp-' not in done.stdout


def test_rx_07_unknown_quotas_of_the_groups_project_are_reported(plan, nova):
    """Nova no longer knows the project, and does not enforce its quotas either."""
    nova.limits |= {'maxTotalInstances': 1, 'totalInstancesUsed': 1}
    group = nova.add_group('db', project_id='gone')
    done = plan(nova, 2, '--server-group', group)
    assert (done.returncode, done.stderr) == (4, '')
    head = done.stdout.splitlines()[0]
    assert head.endswith("(at most 3). Not known: the project's quotas.")
    assert below(done, UNKNOWN_TITLE) == [
        'the quotas: could not read the quotas of project gone: Nova answered 400: '
        'Project ID gone is not a valid project.'
    ]


def test_rx_07_an_administrator_plans_for_the_user_of_another_projects_group(plan, nova):
    """Nova answers 403 to amy, who has 9 of 10 allowed members; bob has none."""
    nova.quota_sets['p'] = {**dict.fromkeys(THEIRS, (9999, 0)), 'server_group_members': (10, 0)}
    nova.limits |= {'maxServerGroupMembers': 10}
    group = nova.add_group('db', 'soft-anti-affinity', project_id='p', user_id='amy')
    for _member in range(9):
        nova.boot(group, 'cmp-1', project='p', user='amy')
    of_database = ('--option', 'quota_driver=nova.quota.DbQuotaDriver')

    done = plan(nova, 5, '--server-group', group, *of_database)
    assert (done.returncode, done.stderr) == (3, '')
    first = 'Only 1 of 5 fit: server group db has 9 of 10 allowed members: no room for 5 more.'
    assert done.stdout.splitlines()[0] == first
    user = 'user: amy (the creator of server group db; --user selects another)'
    assert user in below(done, 'Based on')

    bob = '0123456789abcdef0123456789abcdef'
    done = plan(nova, 5, '--server-group', group, '--user', bob, *of_database)
    assert (done.returncode, done.stderr) == (0, '')
    assert f'user: {bob} (from --user)' in below(done, 'Based on')
