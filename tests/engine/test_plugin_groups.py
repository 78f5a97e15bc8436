"""The users of a group in Senlin's database, and the check of a bound group."""

import datetime
import itertools
import uuid
from types import SimpleNamespace

import pytest
from oslo_db.exception import DBError
from oslo_utils import timeutils
from senlin import objects
from senlin.objects import cluster_lock
from sqlalchemy.exc import SQLAlchemyError

from senlin_affinity.groups.audit import FOREIGN
from senlin_affinity.groups.steps import GroupUser, Leave, LockGroup, LockName, Use
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import AffinityError, CloudError, GroupBusy
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.plugins.senlin import bound_group
from senlin_affinity.plugins.senlin import group_registry as registry
from senlin_affinity.plugins.senlin.group_driver import Driver
from senlin_affinity.policy.senlin_data import Binding, Refusal
from tests.engine.support import binding, plain, profile, spec

GROUP, OTHER = 'XYZ-ABCD', 'another'
BOUND = Binding(GROUP, is_inherited=True)
#: All tests have one database, so no other test may use this name.
NAME = 'of the users'
NAMED = plain(servergroup={'name': NAME})


def seen(*groups):
    """Return a cloud in which the preflight has read these groups."""
    known = tuple(ServerGroup(each, each, 'anti-affinity') for each in groups)
    return Cloud(server_groups=known)


def test_a_group_that_the_preflight_has_read_is_not_read_again(desk, caplog):
    cluster, policy = desk.bound()
    asked = []
    for view in (seen(GROUP, OTHER), seen(OTHER), Cloud(), CloudError('no answer')):
        asked.append(0)

        def groups():
            asked[-1] += 1

        assert bound_group.refusal(policy, cluster.id, BOUND, view, cluster, groups) is None
    assert asked == [0, 1, 1, 1]
    assert 'Traceback' in caplog.text


def test_only_an_enabled_policy_with_another_group_is_in_conflict(desk):
    cluster, policy = desk.bound()

    def refusal():
        return bound_group.refusal(policy, cluster.id, BOUND, seen(GROUP), cluster, None)

    disabled = desk.policy()
    desk.bind(cluster, disabled, binding(OTHER))
    objects.ClusterPolicy.update(desk.context, cluster.id, disabled.id, {'enabled': False})
    for data in (binding(GROUP), {'AffinityPolicy': 'odd'}, {}):
        desk.bind(cluster, desk.policy(), data)
    assert refusal() is None
    desk.bind(cluster, desk.policy(), binding(OTHER))
    assert refusal() == Refusal(
        'the cluster has another affinity policy, web (senlin.policy.affinity-1.1), with another '
        'server group, another: detach or disable one of the policies'
    )


def test_a_defect_in_the_check_of_a_hint_is_logged_with_its_traceback(caplog):
    action = SimpleNamespace(entity=SimpleNamespace(rt={}))
    bound_group.warn_of_hint('policy', action, BOUND, Cloud(), lambda: None)
    assert 'Traceback' in caplog.text


def test_a_group_that_the_preflight_has_read_is_not_read_for_a_hint(caplog):
    rt = {'profile': SimpleNamespace(spec=hinting(GROUP))}
    action = SimpleNamespace(entity=SimpleNamespace(rt=rt))
    bound = Binding('the id', is_inherited=True)
    known = (ServerGroup('the id', GROUP, 'anti-affinity'),)
    view = Cloud(server_groups=known)
    with caplog.at_level('WARNING'):
        bound_group.warn_of_hint('policy', action, bound, view, lambda: None)
    assert caplog.text == ''


@pytest.mark.parametrize(
    ('error', 'is_outage', 'is_defect', 'words'),
    [
        (DBError(), True, False, "Senlin's database failed (DBError): try again"),
        (SQLAlchemyError(), True, False, "Senlin's database failed (SQLAlchemyError): try again"),
        (KeyError('odd'), False, True, "KeyError: 'odd'"),
        (CloudError('odd'), False, False, 'odd'),
    ],
    ids=lambda given: type(given).__name__,
)
def test_errors_for_the_owner(error, is_outage, is_defect, words):
    assert registry.is_outage(error) is is_outage
    assert registry.is_defect(error) is is_defect
    assert registry.in_words(error) == words


def hinting(group):
    return profile(scheduler_hints={'group': group})


def test_the_users_of_a_group(desk):
    """Clusters, running attaches and profiles; another project uses a group by its id."""
    group, context, running = str(uuid.UUID(int=171)), desk.context, []
    times = (timeutils.utcnow(True) + datetime.timedelta(number) for number in itertools.count())
    keeps = {'data': {'senlin_affinity': {'kept': group}}}

    def cluster(name, **more):
        made = desk.cluster(**more)
        objects.Cluster.update(context, made.id, {'name': name, 'created_at': next(times)})
        return desk.load_cluster(made.id)

    def bind(target, data, wanted=None):
        policy = desk.policy(wanted)
        desk.bind(target, policy, data)
        return target.id, policy.id

    def attach(target, wanted, action='CLUSTER_ATTACH_POLICY', **values):
        inputs = {'policy_id': wanted and desk.policy(wanted).id}
        running.append((desk.action(target, action, inputs).id, values))

    own = cluster('own', profile=hinting(NAME), **keeps)
    ours = bind(own, binding(group))
    heir = bind(cluster('heir'), binding(group))
    old = bind(cluster('old'), binding(group, inherited=False), spec('1.0'))
    far = bind(cluster('x', project='elsewhere'), binding(group))
    for data in (binding(OTHER), {'AffinityPolicy': 'odd'}):
        bind(cluster('none'), data)
    bind(SimpleNamespace(id=str(uuid.UUID(int=1))), binding(group))
    attach(cluster('by name'), NAMED)
    attach(cluster('by hint', profile=hinting(group.upper())), plain())
    attach(cluster('keeper', **keeps), plain())
    attach(own, NAMED)
    attach(cluster('x', project='elsewhere'), NAMED)
    attach(cluster('no policy'), None)
    attach(cluster('other name', profile=hinting(['a', 'b'])), plain())
    attach(cluster('other action'), NAMED, 'CLUSTER_UPDATE_POLICY')
    attach(cluster('dead engine'), NAMED, owner=str(uuid.uuid4()))
    attach(cluster('over'), NAMED, status='SUCCEEDED')
    for action, values in running:
        objects.Action.update(context, action, {'status': 'RUNNING', **values})
    for name in (NAME, group):
        other = cluster('y', profile=hinting(name))
        objects.Profile.update(context, other.profile_id, {'project': 'elsewhere', 'name': name})

    def use(name, policy=ours[1]):
        return registry.read_use(own, policy, group, name, 'prefix-')

    assert use(NAME) == Use(
        (
            GroupUser(heir[0], 'heir', heir[1]),
            GroupUser(old[0], 'old', old[1], is_owner=True, may_own=False),
            GroupUser(far[0], FOREIGN, far[1], may_own=False),
        ),
        ('keeper',),
        ('profile', 'profile', FOREIGN),
        ('by hint', 'by name', 'keeper'),
    )
    assert use(NAME, 'another policy').users[0] == GroupUser(own.id, 'own', ours[1])
    assert (use(None).profiles, use(None).attaching) == (
        ('profile', FOREIGN),
        ('by hint', 'keeper'),
    )
    names = (f'prefix-{own.id}', f'prefix-{uuid.UUID(int=1)}')
    assert [use(name).has_cluster for name in names] == [True, False]


#: Wildcards of SQL, and what JSON escapes; beside each, a name that a careless query could confuse.
NAMES = ('w_b', 'w%', 'w\\b', 'w/b', 'w"b', 'été', '\u7fa4', 'Wob')
NEAR = ('wxb', 'wxyz', 'w\\\\b', 'w/xb', "w'b", 'ete', '\u7ec4', 'wob')


@pytest.mark.parametrize(('name', 'near'), zip(NAMES, NEAR, strict=True))
def test_a_profile_or_policy_names_exactly_this_group(desk, name, near):
    known, actions = [], []
    for each in (name, near):
        known.append(desk.cluster(profile=hinting(each)))
        policy = desk.policy(spec(servergroup={'name': each}))
        target = desk.cluster()
        objects.Cluster.update(desk.context, target.id, {'name': f'to {each}'})
        inputs = {'policy_id': policy.id}
        actions.append(desk.action(target, 'CLUSTER_ATTACH_POLICY', inputs).id)
    for action in actions:
        objects.Action.update(desk.context, action, {'status': 'RUNNING'})
    for cluster, each in zip(known, (name, near), strict=True):
        objects.Profile.update(desk.context, cluster.profile_id, {'name': f'of {each}'})
    use = registry.read_use(desk.cluster(), '', OTHER, name, 'prefix-')
    assert (use.profiles, use.attaching) == ((f'of {name}',), (f'to {name}',))


def test_clusters_that_do_not_use_the_group_are_not_loaded(desk, monkeypatch):
    group, load, loaded = str(uuid.uuid4()), registry.jsonutils.loads, []
    own, user = desk.cluster(), desk.cluster(profile=hinting(NAME))
    desk.bind(user, desk.policy(), binding(group))

    def read():
        loaded.clear()
        use = registry.read_use(own, '', group, NAME, 'prefix-')
        return use, len(loaded)

    monkeypatch.setattr(
        registry.jsonutils, 'loads', lambda text, **more: loaded.append(text) or load(text, **more)
    )
    before = read()
    for number in range(20):
        other = desk.cluster(profile=hinting(f'other-{number}'))
        desk.bind(other, desk.policy(), binding(str(uuid.uuid4())))
    assert read() == before


def test_only_the_heir_becomes_the_owner(desk):
    """The binding is deleted in the same transaction."""
    own, other = desk.cluster(data={'other': 1}), desk.cluster()
    ours, theirs, third = (desk.policy() for _ in range(3))
    for cluster, policy in ((own, ours), (own, third), (other, ours), (other, theirs)):
        desk.bind(cluster, policy, binding(GROUP, inherited=cluster is other))
    desk.bind(other, third, binding(OTHER))

    def owners():
        pairs = [(cluster, policy) for cluster in (own, other) for policy in (ours, theirs, third)]
        rows = [objects.ClusterPolicy.get(desk.context, each.id, it.id) for each, it in pairs]
        return [row and not row.data['AffinityPolicy']['data']['inherited_group'] for row in rows]

    before = owners()
    for policy, why in ((third.id, 'another group'), (str(uuid.UUID(int=1)), 'no binding')):
        heir = GroupUser(other.id, 'b', policy)
        with pytest.raises(AffinityError, match='^cluster b left the group: try again$'):
            registry.leave(own, ours.id, Leave(GROUP, heir))
        assert owners() == before == [True, None, True, False, False, False], why
    registry.leave(own, ours.id, Leave(GROUP, GroupUser(other.id, 'b', theirs.id)))
    assert owners() == [None, None, True, False, True, False]
    assert desk.load_cluster(own.id).data == {'other': 1}
    registry.leave(own, third.id, Leave(OTHER, is_kept=True))
    kept = {'other': 1, 'senlin_affinity': {'kept': OTHER}}
    assert own.data == desk.load_cluster(own.id).data == kept


def test_only_the_action_that_holds_the_lock_of_a_cluster_is_running(desk):
    cluster = desk.cluster()
    assert not registry.is_running(cluster.id, 'CLUSTER_DELETE')
    actions = [desk.action(cluster, f'CLUSTER_{name}').id for name in ('DELETE', 'RESIZE')]
    cluster_lock.ClusterLock.acquire(cluster.id, actions[0], -1)
    kinds = ('CLUSTER_DELETE', 'CLUSTER_RESIZE')
    assert [registry.is_running(cluster.id, kind) for kind in kinds] == [True, False]
    cluster_lock.ClusterLock.release(cluster.id, actions[0], -1)


def test_a_lock_is_awaited(desk, option, monkeypatch):
    """And one of an action that has ended is taken at once."""
    option('request_timeout', 5)
    running = desk.action(desk.cluster(), 'CLUSTER_DETACH_POLICY').id
    cluster_lock.ClusterLock.acquire('the-group', running, -1)
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        cluster_lock.ClusterLock.release('the-group', running, -1)

    monkeypatch.setattr(registry.time, 'sleep', sleep)
    with registry.lock_group('mine', 'the-group'):
        assert registry.lock_holders('the-group') == ('mine',)
    assert (slept, registry.lock_holders('the-group')) == ([registry.PAUSE], ())


def test_a_step_that_finds_another_action_at_work_starts_again(option, monkeypatch):
    option('request_timeout', 5)
    slept, begun = [], []

    class Step:
        def step(self):
            begun.append(1)
            if len(begun) == 1:
                raise GroupBusy('at work')
            return 'outcome'
            yield

    monkeypatch.setattr(registry.time, 'sleep', slept.append)
    assert Driver(None, '', None, None).run(Step()) == 'outcome'
    assert (begun, slept) == ([1, 1], [registry.PAUSE])


def test_a_step_that_finds_another_action_at_work_ends(option):
    option('request_timeout', 0.1)

    class Step:
        def step(self):
            raise GroupBusy('at work')
            yield

    with pytest.raises(GroupBusy, match='at work'):
        Driver(None, '', None, None).run(Step())


def test_a_step_holds_its_locks_until_it_ends(desk):
    cluster, found = desk.cluster(), []
    name_lock = str(uuid.uuid5(uuid.NAMESPACE_OID, f'{cluster.project} name'))

    class Step:
        def step(self):
            for effect in (LockName('name'), LockGroup('the-group')):
                yield effect
                found.extend(map(registry.lock_holders, (name_lock, 'the-group')))

    Driver(cluster, '', None, None).run(Step())
    ours = (cluster.id,)
    assert found == [ours, (), ours, ours]
    assert [*map(registry.lock_holders, (name_lock, 'the-group'))] == [(), ()]
