"""The users of a group in Senlin's database, and the check of a bound group."""

import datetime
import itertools
import uuid
from types import SimpleNamespace

import pytest
from oslo_db.exception import DBError
from oslo_utils import timeutils
from senlin import objects
from sqlalchemy.exc import SQLAlchemyError

from senlin_affinity.groups.audit import FOREIGN
from senlin_affinity.groups.steps import GroupUser, Use
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.plugins.senlin import bound_group
from senlin_affinity.plugins.senlin import group_registry as registry
from senlin_affinity.policy.binding import Binding
from senlin_affinity.policy.placement import Refusal
from senlin_affinity.preflight.cloud_view import CloudView
from tests.engine.support import binding, plain, profile, spec

GROUP, OTHER = 'XYZ-ABCD', 'another'
BOUND = Binding(GROUP, is_inherited=True)
NAMED = plain(servergroup={'name': 'web'})


def seen(*groups):
    """Return a cloud in which the preflight has read these groups."""
    known = tuple(ServerGroup(each, each, 'anti-affinity') for each in groups)
    return CloudView(CloudSnapshot(server_groups=known))


def test_a_group_that_the_preflight_has_read_is_not_read_again(desk, caplog):
    cluster, policy = desk.bound()
    asked = []
    for view in (seen(GROUP, OTHER), seen(OTHER), CloudView(), CloudError('no answer')):
        asked.append(0)

        def groups():
            asked[-1] += 1

        assert bound_group.refusal(policy, cluster.id, BOUND, view, cluster, groups) is None
    assert asked == [0, 1, 1, 1]
    assert 'Traceback' in caplog.text


def test_the_binding_replaces_the_notes_of_0_9(desk):
    cluster, policy = desk.bound()
    for data in ({'senlin_affinity': {cluster.id: {'made': [GROUP]}}}, {}):
        objects.Policy.update(desk.context, policy.id, {'data': data})
        policy.data = data
        assert not bound_group.refusal(policy, cluster.id, BOUND, seen(GROUP), cluster, None)
        assert objects.Policy.get(desk.context, policy.id).data == {}


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
    bound_group.warn_of_hint('policy', action, BOUND, lambda: None)
    assert 'Traceback' in caplog.text


@pytest.mark.parametrize(
    ('error', 'is_outage', 'is_mistake', 'words'),
    [
        (DBError(), True, False, "Senlin's database failed (DBError): try again"),
        (SQLAlchemyError(), True, False, "Senlin's database failed (SQLAlchemyError): try again"),
        (KeyError('odd'), False, True, "KeyError: 'odd'"),
        (CloudError('odd'), False, False, 'odd'),
    ],
    ids=lambda given: type(given).__name__,
)
def test_errors_for_the_owner(error, is_outage, is_mistake, words):
    assert registry.is_outage(error) is is_outage
    assert registry.is_mistake(error) is is_mistake
    assert registry.in_words(error) == words


def hinting(group):
    return profile(scheduler_hints={'group': group})


def test_the_users_of_a_group(desk):
    """Clusters, running attaches, profiles and notes; another project uses a group by its id."""
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

    own = cluster('own', profile=hinting('web'), **keeps)
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
    note = {'senlin_affinity': {'of a cluster': {'made': [group]}}}
    objects.Policy.update(context, ours[1], {'data': note})
    for name in ('web', group):
        other = cluster('y', profile=hinting(name))
        objects.Profile.update(context, other.profile_id, {'project': 'elsewhere', 'name': name})

    def use(name, policy=ours[1]):
        return registry.read_use(own, policy, group, name, 'prefix-')

    assert use('web') == Use(
        (
            GroupUser(heir[0], 'heir', heir[1]),
            GroupUser(old[0], 'old', old[1], is_owner=True, may_own=False),
            GroupUser(far[0], FOREIGN, far[1], may_own=False),
        ),
        ('keeper',),
        ('profile', 'profile', FOREIGN),
        ('by hint', 'by name', 'keeper'),
        is_noted=True,
    )
    assert use('web', 'another policy').users[0] == GroupUser(own.id, 'own', ours[1])
    assert (use(None).profiles, use(None).attaching) == (
        ('profile', FOREIGN),
        ('by hint', 'keeper'),
    )
    objects.Policy.update(context, ours[1], {'data': {}})
    assert use('web').is_noted is False
    names = (f'prefix-{own.id}', f'prefix-{uuid.UUID(int=1)}')
    assert [use(name).has_cluster for name in names] == [True, False]
