"""A user with the rights of ``rights/*-reader.yaml`` runs commands for operators, and only reads.

If one of the rights is missing, the answer names it, or what it would show.
"""

import json
import re
from pathlib import Path

import pytest
import yaml

from senlin_affinity.sandbox.identities import ADMIN, DEMO, REGION
from tests.support import command
from tests.support.sandbox import SandboxCloud
from tests.support.waiting import until

RIGHTS = Path(__file__).parents[2] / 'etc/senlin-affinity/rights'
GRANTED = {
    service: yaml.safe_load((RIGHTS / f'{service}-reader.yaml').read_text(encoding='utf-8'))
    for service in ('nova', 'placement')
}
_PLAN = ('plan', '--count', '1', '--flavor', 'm1.tiny', '--image', 'cirros', '--project')
PLAN = (*_PLAN, DEMO.project.id)
IN_GROUP = (*PLAN, '--server-group', 'web')
IN_PROJECT = (*_PLAN, ADMIN.project.id)
EXPLAIN = ('server', 'explain', 'huge')
STATUS = ('status', '-f', 'value')
#: The quotas of the caller's user differ.
ANSWER = ('fits', 'capacity', 'capacity_is_upper_bound', 'hosts', 'failure', 'explanation')
COMPUTE = 'os_compute_api:'
#: The commands whose answer names a missing right; otherwise, words instead of the right.
NAMED_BY = {
    f'{COMPUTE}os-hypervisors:list-detail': (PLAN, STATUS),
    f'{COMPUTE}os-services:list': (PLAN,),
    f'{COMPUTE}os-aggregates:index': (PLAN, STATUS),
    f'{COMPUTE}servers:detail:get_all_tenants': (IN_GROUP, EXPLAIN, STATUS),
    f'{COMPUTE}os-extended-server-attributes': (IN_GROUP,),
    f'{COMPUTE}os-migrations:index': (IN_GROUP,),
    f'{COMPUTE}os-migrations:index:all_projects': (IN_GROUP,),
    f'{COMPUTE}os-migrations:index:host': (IN_GROUP,),
    f'{COMPUTE}os-quota-sets:detail': (IN_PROJECT,),
    'placement:resource_providers:list': (PLAN, STATUS),
    'placement:allocation_candidates:list': (PLAN,),
}
WORDS = {f'{COMPUTE}os-extended-server-attributes': 'members whose host is not known'}


@pytest.fixture(scope='module')
def cloud():
    """Yield a group with a server that is being resized, and a server that found no host."""
    flavors = {'m1.tiny': {}, 'm1.small': {'ram': 128}, 'm1.huge': {'vcpus': 1000}}
    aggregates = {'ssd': {'hosts': ['cmp-1']}}
    with SandboxCloud(2, flavors=flavors, aggregates=aggregates) as running:
        compute = running.connection('demo').compute
        ids = {flavor.name: flavor.id for flavor in compute.flavors()}
        group = compute.create_server_group(name='web', policy='anti-affinity').id
        request = {'image_id': running.image_id, 'networks': 'none'}
        compute.create_server(name='huge', flavor_id=ids['m1.huge'], **request)
        moved = compute.create_server(
            name='web-1', flavor_id=ids['m1.tiny'], scheduler_hints={'group': group}, **request
        )

        def is_at(status):
            until(
                lambda: compute.get_server(moved.id).status == status,
                what=f'{status}\n{running.logs()}',
            )

        is_at('ACTIVE')
        compute.resize_server(moved, ids['m1.small'])
        is_at('VERIFY_RESIZE')
        yield running


@pytest.fixture
def granted(cloud):
    """Return a function that grants all rights but one."""

    def grant(missing=None):
        for service, rules in GRANTED.items():
            left = {rule: value for rule, value in rules.items() if rule != missing}
            file = cloud.log_dir / f'{service}-policy.d/reader.yaml'
            file.write_text(yaml.safe_dump(left), encoding='utf-8')

    return grant


@pytest.fixture
def run(cloud, tmp_path):
    """Return a function that runs a command as a user."""
    clouds = {
        user: {'auth': cloud.auth(user), 'region_name': REGION} for user in ('admin', 'auditor')
    }
    file = tmp_path / 'clouds.yaml'
    file.write_text(yaml.safe_dump({'clouds': clouds}), encoding='utf-8')
    return lambda user, *arguments: command.run(
        *arguments, OS_CLOUD=user, OS_CLIENT_CONFIG_FILE=str(file), COLUMNS='80'
    )


@pytest.mark.long
def test_the_account_gets_the_answers_of_an_administrator(cloud, granted, run):
    """It sends reads only. None is rejected, but those of what else than servers fills a host."""
    granted()
    cloud.clear_requests()
    for arguments, status in ((PLAN, 0), (IN_GROUP, 3), (IN_PROJECT, 0), (EXPLAIN, 3)):
        answers = []
        for user in ('auditor', 'admin'):
            done = run(user, *arguments, '-f', 'json')
            assert done.returncode == status, done.stdout + done.stderr
            answer = json.loads(done.stdout)
            answers.append({key: answer.get(key) for key in ANSWER})
        assert answers[0] == answers[1]
    assert run('auditor', *STATUS).returncode == 0
    sent = {(each['method'], each['status'], each['path']) for each in cloud.requests(None)}
    optional = {each for each in sent if each[2].endswith(('/allocations', '/inventories'))}
    assert {each[:2] for each in sent - optional} == {('GET', 200)}
    assert {each[:2] for each in optional} <= {('GET', 200), ('GET', 403)}


def test_the_account_gets_the_metrics_of_an_administrator(cloud, granted, run):
    """Except for server groups: Nova shows those of all projects to administrators only."""
    granted()
    cloud.clear_requests()
    found = []
    for user in ('auditor', 'admin'):
        done = run(user, 'capacity', '-f', 'prometheus')
        assert (done.returncode, done.stderr) == (0, '')
        lines = done.stdout.replace(f'cloud="{user}"', '').splitlines()
        found.append([each for each in lines if not re.search('timestamp|server_groups', each)])
    assert found[0] == found[1]
    assert any(each.startswith('senlin_affinity_capacity_servers') for each in found[0])
    assert [each for each in cloud.requests(None) if each['status'] != 200] == []


def test_every_right_is_tested():
    assert {*NAMED_BY} == {rule for rules in GRANTED.values() for rule in rules}


@pytest.mark.long
@pytest.mark.parametrize(
    ('right', 'arguments'),
    [(right, each) for right, commands in NAMED_BY.items() for each in commands],
    ids=lambda value: value if isinstance(value, str) else ' '.join(value[:2]),
)
def test_the_answer_names_a_missing_right(granted, run, right, arguments):
    granted(missing=right)
    done = run('auditor', *arguments)
    output = ''.join(f'{done.stdout}{done.stderr}'.split())
    assert ''.join(WORDS.get(right, right).split()) in output, done.stdout + done.stderr
    assert done.returncode in (0, 1, 4)


@pytest.mark.long
def test_the_account_changes_nothing(cloud, granted):
    granted()
    compute = cloud.connection('auditor').compute
    (server,) = (each for each in compute.servers() if each.name == 'web-1')
    for method, path, body in (
        ('POST', '/os-server-groups', {'server_group': {'name': 'x', 'policy': 'affinity'}}),
        ('POST', '/os-aggregates', {'aggregate': {'name': 'x'}}),
        ('DELETE', f'/servers/{server.id}', None),
    ):
        answer = compute.request(path, method, json=body, microversion='2.79')
        assert answer.status_code == 403, (path, answer.text)
