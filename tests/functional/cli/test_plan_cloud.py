"""``senlin-affinity plan`` on a cloud that does not show all: it says what is not known and why."""

import pytest

from tests.functional.http_cloud import HttpCloud
from tests.support import command, fake_keystone
from tests.support.fake_nova import FakeFlavor, FakeHost, FakeNova

HOSTS = tuple(FakeHost(f'cmp-{number}') for number in (1, 2, 3))
SMALL = (FakeFlavor('1', 'm1.small', {}),)
NO_HOSTS = 'the hosts: could not list the hypervisors: Nova answered 403: '
NO_AGGREGATES = 'the aggregates: could not list the aggregates: Nova answered 403: '
NOT_KNOWN = 'What is not known:'


class CloudOf(HttpCloud):
    """A cloud that takes everybody for one user."""

    def __init__(self, nova, user):
        super().__init__(nova)
        self.user = user

    def answer(self, method, target, headers, body):
        return super().answer(method, target, {**headers, 'X-Auth-Token': self.user}, body)


@pytest.fixture
def plan(run):
    """``plan(nova, 6, '--server-group', 'web')``, as an administrator unless told otherwise."""

    def run_plan(nova, count, *options, user='admin', cut=None):
        with CloudOf(nova, user) as cloud:
            cloud.placement.cut = cut
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
            asked = ('--count', str(count), '--flavor', 'm1.small', *options)
            return run('plan', *asked, **environment)

    return run_plan


@pytest.fixture
def nova():
    """Three hosts; a group with three servers on two of them."""
    fake = FakeNova(hosts=HOSTS, flavors=SMALL)
    group = fake.add_group('web', rules={'max_server_per_host': 3})
    for host in ('cmp-1', 'cmp-1', 'cmp-2'):
        fake.boot(group, host)
    return fake


def below(done, title):
    """The lines of the view below a title."""
    lines = iter(done.stdout.splitlines())
    assert title in lines, done.stdout
    found = []
    for line in lines:
        if not line:
            break
        found.append(line.strip())
    return found


def test_an_answer_of_placement_that_was_cut(plan, nova):
    cut = (
        "the resources: Placement's answers did not come to 2 of 3 hosts "
        '(if it cuts them, raise its option max_allocation_candidates)'
    )
    done = plan(nova, 1000, cut=1)
    assert (done.returncode, done.stderr) == (1, '')
    first, *others = below(done, NOT_KNOWN)
    assert first == cut
    assert others == ['resources: the free resources are not known, on 2 hosts']
    # The hosts that are known hold one: it fits, and the capacity is more than is told.
    done = plan(nova, 1, cut=1)
    assert (done.returncode, done.stderr) == (0, '')
    assert below(done, NOT_KNOWN) == [cut]


def test_a_cloud_that_shows_all_has_nothing_to_tell(plan, nova):
    done = plan(nova, 1)
    assert (done.returncode, done.stderr, NOT_KNOWN in done.stdout) == (0, '', False)


def test_a_plain_user_reads_nova_s_words_and_where_servers_are_together(plan, nova):
    done = plan(nova, 6, '--server-group', 'web', user='demo')
    assert (done.returncode, done.stderr) == (1, '')
    hosts, aggregates = below(done, NOT_KNOWN)
    assert hosts.startswith(NO_HOSTS)
    assert aggregates.startswith(NO_AGGREGATES)
    assert below(done, 'What is known of server group web:') == [
        '3 servers, on 2 hosts: 2, 1',
        'these hosts have 3 slots left (max_server_per_host: 3)',
    ]
    assert 'cmp-' not in done.stdout


def test_no_group_that_was_asked_about_is_nothing_to_tell(plan, nova):
    done = plan(nova, 6, user='demo')
    assert len(below(done, NOT_KNOWN)) == 2
    assert 'What is known of' not in done.stdout


def test_rx_07_quotas_of_the_group_s_project_that_can_not_be_read(plan, nova):
    """Nova knows no project of this id any more, and refuses nothing for it: neither do we."""
    nova.limits |= {'maxTotalInstances': 1, 'totalInstancesUsed': 1}
    group = nova.add_group('db', project_id='gone')
    done = plan(nova, 2, '--server-group', group)
    assert (done.returncode, done.stderr) == (4, '')
    head = done.stdout.splitlines()[0]
    assert head.endswith("at most 3, because of the project's quotas, which are not known")
    assert below(done, NOT_KNOWN) == [
        'the quotas: could not read the quotas of project gone: Nova answered 400: '
        'Project ID gone is not a valid project.'
    ]
