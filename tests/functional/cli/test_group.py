"""``senlin-affinity group`` with a fake Nova and a fake Senlin.

``tests/engine/test_story_group_command.py`` uses the real ones.
"""

import argparse
import io
import json
import uuid
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest

from senlin_affinity.cli.group import DeleteGroups
from senlin_affinity.cloud import transport
from tests.functional.http_cloud import HttpCloud
from tests.recordings.exchanges import Reply
from tests.support import command, fake_keystone
from tests.support.fake_nova import FakeHost, FakeNova

PROJECT = 'admin-project'
OWN = {'project_id': PROJECT}
BIDI = 'cmp\u202e-1'
NONE_LEFT = 'there are no orphans\n'


class Senlin(HttpCloud):
    """A cloud with a Senlin, from lists of plain values.

    ``gone`` are clusters that a request by id does not find, with the clusters that exist from then
    on; ``by_id`` are clusters that a request by id finds, but no list contains; ``kept`` are groups
    that Nova does not delete; ``times`` the actions of servers.
    """

    def __init__(self, nova, **lists):
        super().__init__(nova)
        self.has_senlin = self.is_administrator = True
        empty = ('nodes', 'profiles', 'actions', 'clusters', 'policies')
        self.lists = {**{key: [] for key in empty}, **lists}
        self.bindings, self.gone, self.kept = {}, {}, set()
        self.by_id = set()

    def answer(self, method, target, headers, body):
        parts = urlsplit(target)
        path = parts.path.strip('/').split('/')
        if path[0] == 'identity' and method == 'POST':
            urls = {'compute': f'{self.url}/compute/v2.1', 'clustering': self.senlin}
            if not self.has_senlin:
                del urls['clustering']
            return Reply(201, fake_keystone.token('admin', urls))
        if path[0] == 'clustering':
            return self._senlin(path[2:], parse_qs(parts.query))
        if method == 'DELETE' and path[-1] in self.kept:
            return Reply(403, {'forbidden': {'code': 403, 'message': f'{path[-1]} stays'}})
        if path[-2] == 'servers' and method == 'GET' and path[-1] != 'detail':
            if any(server.id == path[-1] for server in self.nova.servers):
                return Reply(200, {'server': {'id': path[-1], 'name': 'member'}})
            return Reply(404, {'itemNotFound': {'code': 404, 'message': 'not found'}})
        return super().answer(method, target, headers, body)

    @property
    def senlin(self):
        return f'{self.url}/clustering/v1'

    def _senlin(self, path, query):
        if not path:
            link = {'rel': 'self', 'href': self.senlin}
            return Reply(200, {'version': {'id': '1.0', 'status': 'CURRENT', 'links': [link]}})
        if path[0] == 'clusters' and path[2:]:
            if path[1] in self.gone:
                self.lists['clusters'] = self.gone[path[1]]
                return Reply(404, {'error': {'code': 404, 'message': 'not found'}})
            own = [{'cluster_id': path[1], **each} for each in self.bindings.get(path[1], [])]
            return Reply(200, {'cluster_policies': own})
        if path[0] == 'clusters' and path[1:]:
            known = [each for each in self.lists['clusters'] if each['id'] == path[1]]
            if path[1] not in self.by_id and not known:
                return Reply(404, {'error': {'code': 404, 'message': 'not found'}})
            return Reply(200, {'cluster': {'id': path[1]}})
        found = self.lists[path[0]]
        if 'global_project' in query and not self.is_administrator:
            return Reply(403, {'error': {'code': 403, 'message': 'Forbidden'}})
        if not self.is_administrator:
            found = [each for each in found if each.get('project') == PROJECT]
        if path[0] == 'actions':
            found = [each for each in found if each['status'] in query['status']]
        return Reply(200, {path[0]: found})


def policy(name=None, **more):
    """Return a policy whose spec names this group."""
    wanted = {'servergroup': {'name': name}} if name else {}
    spec = {'type': 'senlin.policy.affinity', 'version': '1.1', 'properties': wanted}
    return {
        'id': 'p1', 'name': 'p', 'type': 'senlin.policy.affinity-1.1', 'project': PROJECT,
        'data': {}, 'spec': spec, **more,
    }  # fmt: skip


def orphan(nova):
    """Create a group that is named after a cluster that does not exist; return its id."""
    return nova.add_group(f'senlin-affinity-{uuid.uuid4()}')


def cluster(key, **more):
    return {'id': key, 'name': f'name of {key}', 'project': PROJECT, 'data': {}, **more}


def bound(group, name='p', kind='senlin.policy.affinity-1.1', *, inherited=True):
    data = {'servergroup_id': group, 'inherited_group': inherited}
    return {
        'policy_id': name, 'policy_name': name, 'policy_type': kind, 'enabled': True,
        'data': {'AffinityPolicy': {'version': '1.0', 'data': data}},
    }  # fmt: skip


@pytest.fixture
def nova():
    return FakeNova(hosts=(FakeHost(BIDI), FakeHost('cmp-2')))


@pytest.fixture
def group(run):
    def ask(cloud, *words, text='', columns='300'):
        environment = {**command.NO_CLOUD, **cloud.environment, 'COLUMNS': columns}
        return command.run('group', *words, text=text, **environment)

    return ask


def groups(nova):
    return {each['id'] for each in nova.groups}


@pytest.fixture
def two(nova):
    """Create an orphan, and a group that a policy names and no cluster uses."""
    sure, named = orphan(nova), nova.add_group('web')
    with Senlin(nova, policies=[policy('web')]) as cloud:
        yield cloud, sure, named


@pytest.mark.parametrize(('words', 'text'), [(('--yes',), ''), ((), 'y\n')])
def test_a_group_with_a_chosen_name_is_not_deleted(group, nova, two, words, text):
    cloud, sure, named = two
    listed = group(cloud, 'list', '-f', 'value', '-c', 'ID', '-c', 'Made By')
    assert listed.stdout.splitlines() == [f'{sure} policy', f'{named} perhaps a policy']
    assert (
        f'nothing uses it; to delete it:\n$ openstack server group delete {named}\n'
        in listed.stderr
    )
    assert group(cloud, 'list', '--orphans', '-f', 'value', '-c', 'ID').stdout == f'{sure}\n'
    audited = group(cloud, 'audit', '-f', 'value', '-c', 'Server Group', '-c', 'State')
    assert audited.returncode == 3
    assert audited.stdout.splitlines()[1:] == ['web perhaps left behind']
    dry = group(cloud, 'delete', '--orphans', '--dry-run')
    assert (dry.returncode, groups(nova)) == (3, {sure, named})
    done = group(cloud, 'delete', '--orphans', *words, text=text)
    assert (done.returncode, done.stderr, groups(nova)) == (0, '', {named})
    assert group(cloud, 'delete', '--orphans', *words, text=text).stdout == NONE_LEFT
    assert group(cloud, 'audit').returncode == 0


def test_a_failed_deletion_does_not_stop_the_others(group, nova):
    made = sorted(orphan(nova) for _ in range(3))
    with Senlin(nova) as cloud:
        cloud.kept = {made[0], made[1]}
        done = group(cloud, 'delete', '--orphans', '--yes')
    assert (done.returncode, groups(nova)) == (1, {made[0], made[1]})
    assert [f'{each} stays' in done.stderr for each in made] == [True, True, False]
    assert done.stdout.endswith(f' ({made[2]})\n')


def test_a_cluster_that_a_list_lacks(group, nova):
    """A list may be outdated."""
    cluster_id = str(uuid.uuid4())
    made = nova.add_group(f'senlin-affinity-{cluster_id}')
    with Senlin(nova) as cloud:
        cloud.by_id = {cluster_id}
        done = group(cloud, 'delete', '--orphans', '--yes')
    assert (done.returncode, groups(nova)) == (3, {made})
    assert done.stderr == f'server group {made} is no longer an orphan: kept\n'


def test_a_deletion_without_effect(group, nova):
    made = orphan(nova)
    with Senlin(nova) as cloud:
        answer = cloud.answer

        def ignore(method, target, headers, body):
            return Reply(204, None) if method == 'DELETE' else answer(method, target, headers, body)

        cloud.answer = ignore
        done = group(cloud, 'delete', '--orphans', '--yes')
    assert (done.returncode, groups(nova)) == (1, {made})
    assert f'Nova still has server group {made} after its deletion' in done.stderr


@pytest.mark.parametrize('stdin', [None, io.StringIO()], ids=['closed', 'ended'])
def test_standard_input_without_an_answer(nova, two, stdin):
    cloud = two[0]
    status, said = delete(cloud, stdin)
    assert (status, len(groups(nova))) == (2, 2)
    assert said == 'error: nothing was deleted: nobody answered; use --yes to confirm\n'


def test_the_question_has_no_deadline(nova, two, monkeypatch):
    cloud, _sure, named = two
    now = [1000.0]
    monkeypatch.setattr(transport, 'time', SimpleNamespace(monotonic=lambda: now[0]))

    def think():
        now[0] += 3600
        return 'y\n'

    assert delete(cloud, SimpleNamespace(readline=think)) == (0, '')
    assert groups(nova) == {named}


def delete(cloud, stdin):
    """Run the command in an application; return the exit status and stderr."""
    client = SimpleNamespace(affinity=cloud.connection())
    app = SimpleNamespace(
        stdin=stdin, stdout=io.StringIO(), stderr=io.StringIO(), client_manager=client
    )
    deletes = DeleteGroups(app, argparse.Namespace(os_cloud='x', debug=False))
    words = ['--orphans', '--timeout', '60']
    status = deletes.run(deletes.get_parser('group delete').parse_args(words))
    return status, app.stderr.getvalue()


@pytest.mark.parametrize('is_before', [True, False], ids=['before', 'during'])
@pytest.mark.parametrize('stays', [False, True], ids=['', 'the first stays'])
def test_a_group_that_a_cluster_starts_to_use(group, nova, is_before, stays):
    """A binding before the deletion keeps the group; a binding during it is reported.

    A failed deletion decides the exit status.
    """
    first, second = sorted([orphan(nova), orphan(nova)])
    with Senlin(nova, policies=[policy()], clusters=[cluster('c1')]) as cloud:
        wanted, answer = (first if is_before else second), cloud.answer
        cloud.kept = {first} if stays else set()

        def adopt(method, target, headers, body):
            reply = answer(method, target, headers, body)
            if method == 'DELETE' and target.endswith(wanted):
                cloud.bindings = {'c1': [bound(second)]}
            return reply

        cloud.answer = adopt
        done = group(cloud, 'delete', '--orphans', '--yes')
    if is_before:
        kept = f'server group {second} is no longer an orphan: kept\n'
        assert (done.returncode, groups(nova)) == (1 if stays else 3, {second, *cloud.kept})
        failed, _, after = done.stderr.rpartition(kept)
        assert (f'{first} stays' in failed, bool(failed), after) == (stays, stays, '')
    else:
        assert (done.returncode, groups(nova)) == (1, cloud.kept)
        assert 'was deleted while a policy was attached to cluster name of c1' in done.stderr


@pytest.mark.parametrize('refers_by', ['binding', 'hint', 'kept'])
@pytest.mark.parametrize('is_administrator', [True, False])
def test_a_cluster_of_another_project_uses_the_group(group, nova, refers_by, is_administrator):
    """An administrator's command keeps the group; other users read what was not checked."""
    sure = orphan(nova)
    other = cluster('c1', name='secret', project='elsewhere')
    hint = {'type': 'os.nova.server', 'properties': {'scheduler_hints': {'group': sure}}}
    profiles = [{'id': 'p', 'project': 'elsewhere', 'spec': hint}] * (refers_by == 'hint')
    if refers_by == 'kept':
        other['data'] = {'senlin_affinity': {'kept': sure}}
    lists = {'policies': [policy()], 'clusters': [other], 'profiles': profiles}
    with Senlin(nova, **lists) as cloud:
        cloud.is_administrator = is_administrator
        cloud.bindings = {'c1': [bound(sure)] * (refers_by == 'binding')}
        shown = group(cloud, 'list', '-f', 'json', '-c', 'Used By', '-c', 'Orphan')
        done = group(cloud, 'delete', '--orphans', '--yes')
    (row,) = json.loads(shown.stdout)
    assert 'secret' not in shown.stdout + done.stdout
    if is_administrator:
        assert row['Used By'] == ['of another project'] * (refers_by != 'hint')
        assert (done.returncode, done.stdout, done.stderr) == (0, NONE_LEFT, '')
        assert (row['Orphan'], groups(nova), shown.stderr) == (False, {sure}, '')
    else:
        words = 'clusters of other projects may use these orphans: only an administrator can'
        assert (row['Orphan'], groups(nova), done.returncode) == (True, set(), 0)
        assert (shown.stderr, done.stderr) == (f'{words} check this\n',) * 2


def test_a_name_in_a_policy_of_another_project(group, nova):
    """It is a group of that project."""
    nova.add_group('web')
    with Senlin(nova, policies=[policy('web', project='elsewhere')]) as cloud:
        listed = group(cloud, 'list', '-f', 'value', '-c', 'Made By')
        audited = group(cloud, 'list', '--all-projects', '-f', 'value', '-c', 'Made By')
    assert (listed.stdout, audited.stdout) == ('-\n', 'perhaps a policy\n')


def test_a_group_with_two_owners(group, nova):
    web = nova.add_group('web', **OWN)
    both = [cluster('c1'), cluster('c2')]
    with Senlin(nova, policies=[policy()], clusters=both) as cloud:
        cloud.bindings = {each: [bound(web, inherited=False)] for each in ('c1', 'c2')}
        done = group(cloud, 'audit', '-f', 'json')
    (row,) = json.loads(done.stdout)
    assert (done.returncode, row['State'], row['Server Group']) == (3, 'two owners', 'web')


def test_an_audit_covers_the_groups_of_the_project(group, nova):
    """A cluster of another project uses the group, and says nothing of its own."""
    web = nova.add_group('web', **OWN)
    nova.boot(web, BIDI, project=PROJECT)
    other = cluster('c1', name='secret', project='elsewhere')
    with Senlin(nova, policies=[policy()], clusters=[other]) as cloud:
        cloud.bindings = {'c1': [bound(web), bound('x', 'z', 'policy-1.0')]}
        done = group(cloud, 'audit', '-f', 'json')
        named = group(cloud, 'audit', '--cluster', 'secret')
    (row,) = json.loads(done.stdout)
    assert (done.returncode, row['Server Group'], row['State']) == (0, 'web', 'ok')
    assert named.returncode == 2


def test_an_audit_covers_groups_that_no_cluster_uses(group, nova):
    web, own = nova.add_group('web', **OWN), nova.add_group('own', **OWN)
    for _ in range(2):
        nova.boot(web, BIDI, project=PROJECT)
    with Senlin(nova, policies=[policy()], clusters=[cluster('c1')]) as cloud:
        cloud.bindings = {'c1': [bound(own)]}
        done = group(cloud, 'audit', '-f', 'json')
        of_cluster = group(cloud, 'audit', '--cluster', 'c1', '-f', 'json')
        deleted = group(cloud, 'delete', '--orphans', '--yes')
    (row,) = json.loads(done.stdout)
    assert (done.returncode, row['Server Group'], row['State']) == (3, 'web', 'violated')
    assert (of_cluster.returncode, json.loads(of_cluster.stdout)) == (0, [])
    assert (deleted.stdout, {each['id'] for each in nova.groups}) == (
        'there are no orphans\n',
        {web, own},
    )


def test_a_cluster_that_is_deleted_meanwhile(group, nova):
    sure = nova.add_group('sure')
    both = [cluster('c1'), cluster('c2')]
    with Senlin(nova, policies=[policy()], clusters=both) as cloud:
        cloud.gone = {'c1': [both[1]]}
        cloud.bindings = {'c2': [bound(sure)]}
        done = group(cloud, 'list', '-f', 'json', '-c', 'Used By')
        assert (done.stderr, json.loads(done.stdout)) == ('', [{'Used By': ['name of c2']}])
        cloud.gone = {'c2': [both[1]]}
        done = group(cloud, 'list')
    assert (done.returncode, 'Senlin answered 404' in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ('status', 'is_orphan'),
    [
        ('INIT', False), ('WAITING', False), ('READY', False), ('RUNNING', False),
        ('SUSPENDED', False), ('WAITING_LIFECYCLE_COMPLETION', False),
        ('SUCCEEDED', True), ('FAILED', True), ('CANCELLED', True),
    ],
)  # fmt: skip
def test_an_unfinished_attach_keeps_its_group(group, nova, status, is_orphan):
    sure = orphan(nova)
    action = {'id': 'a', 'status': status, 'project': PROJECT, 'inputs': {'policy_id': 'p1'}}
    with Senlin(nova, policies=[policy(sure)], actions=[action]) as cloud:
        done = group(cloud, 'list', '-f', 'json', '-c', 'Orphan')
    assert json.loads(done.stdout) == [{'Orphan': is_orphan}]


def test_names_are_escaped_only_in_tables(group, nova):
    web, other = nova.add_group('web', **OWN), nova.add_group('other', **OWN)
    nova.boot(web, BIDI, project=PROJECT)
    named = cluster('c1', name='a\u202eb')
    with Senlin(nova, policies=[policy()], clusters=[named]) as cloud:
        cloud.bindings = {'c1': [bound(web, 'x\u202ey'), bound(other, 'z', 'policy-1.0')]}
        shown = group(cloud, 'audit', '--all-projects')
        rows = json.loads(group(cloud, 'audit', '--all-projects', '-f', 'json').stdout)
    assert '\u202e' not in shown.stdout
    assert 'None' not in shown.stdout, 'a finding without a time'
    assert shown.returncode == 3
    assert rows[0]['Host'] == BIDI
    assert rows[1]['Servers'] == 'a\u202eb'
    assert 'x\u202ey (' in rows[1]['Server Group']


def node(server, status='ACTIVE'):
    return {
        'id': f'node of {server}', 'name': 'n', 'cluster_id': 'c1', 'project': PROJECT,
        'physical_id': server, 'status': status,
    }  # fmt: skip


def test_a_nova_without_senlin(group, nova):
    web, other = nova.add_group('web', **OWN), nova.add_group('other', **OWN)
    server = nova.boot(web, BIDI, project=PROJECT)
    with Senlin(nova) as cloud:
        cloud.has_senlin = False
        listed = group(cloud, 'list', '-f', 'json', '-c', 'ID', '-c', 'Used By', '-c', 'Orphan')
        audited = group(cloud, 'audit', '--all-projects', '-f', 'json')
        named = group(cloud, 'audit', 'other', '-f', 'json')
        needing = [
            group(cloud, *words)
            for words in (
                ('list', '--orphans'),
                ('audit', '--cluster', 'c1'),
                ('delete', '--orphans', '--yes'),
            )
        ]
    assert {each['ID'] for each in json.loads(listed.stdout)} == {web, other}
    assert {each['Orphan'] for each in json.loads(listed.stdout)} == {False}
    (row,) = json.loads(audited.stdout)
    assert (row['Servers'], row['Names'], row['State']) == ([server], ['member'], 'ok')
    assert (audited.returncode, json.loads(named.stdout)) == (0, [])
    assert [done.returncode for done in needing] == [1, 1, 1]
    assert all('Senlin' in done.stderr for done in needing), needing


def test_a_server_that_does_not_exist_is_not_outside_the_group(group, nova):
    web = nova.add_group('web', **OWN)
    alone = nova.boot(nova.add_group('other', **OWN), BIDI, project=PROJECT)
    nodes = [node(alone), node('gone', 'ERROR')]
    with Senlin(nova, policies=[policy()], clusters=[cluster('c1')], nodes=nodes) as cloud:
        cloud.bindings = {'c1': [bound(web)]}
        done = group(cloud, 'audit', '--cluster', 'c1', '-f', 'json')
        nodes.pop(0)
        without = group(cloud, 'audit', '--cluster', 'c1', '-f', 'json')
    (row,) = json.loads(done.stdout)
    assert (done.returncode, row['State']) == (3, 'outside of the group')
    assert (row['Servers'], row['Names']) == ([alone], ['member'])
    assert (without.returncode, json.loads(without.stdout)) == (0, [])


@pytest.mark.parametrize('columns', ['80', '40'])
def test_a_table_has_ids_with_long_only_and_breaks_none(group, nova, columns):
    web = nova.add_group('web', **OWN)
    server = nova.boot(web, 'cmp-1', project=PROJECT)
    with Senlin(nova, policies=[policy()], clusters=[cluster('c1')]) as cloud:
        cloud.bindings = {'c1': [bound(web)]}
        for words, unique in (('list', web), ('audit', server)):
            short = group(cloud, words, columns=columns).stdout
            long = group(cloud, words, '--long', columns=columns).stdout
            chosen = group(cloud, words, '-f', 'value').stdout
            assert (unique in short, unique in long, unique in chosen) == (False, True, True)
            assert 'web' in short


def test_an_empty_list_says_so(group, nova):
    with Senlin(nova, policies=[policy()]) as cloud:
        said = [
            group(cloud, *words).stdout
            for words in (('list',), ('list', '--orphans'), ('audit',), ('list', '-f', 'value'))
        ]
    assert said == [
        'there are no server groups\n',
        'there are no orphans\n',
        'there are no members and no findings\n',
        '',
    ]
