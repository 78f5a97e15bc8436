"""The demo's story: document 003's scenarios S1, S2 and S3, each checked against Nova.

The way of the data: every chapter asks Senlin for something, lets it get done, prints what Nova has
as a table, and checks it. A check that fails is remembered, and the demo ends in failure; what can
not be done at all is an error and ends it at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from senlin_affinity.conf.files import example
from senlin_affinity.policy.affinity import GROUP_NAME_PREFIX
from senlin_affinity.sandbox.cloud import SandboxCloud
from senlin_affinity.sandbox.demo.screen import Screen
from senlin_affinity.sandbox.demo.stage import Actor, Ended, Nova, stage

CLOUD = 'clouds/demo.yaml'
DRS_HOST = 'vsphere-drs-1'


@dataclass(frozen=True)
class Scene:
    """Who is on stage, and what they write on."""

    user: Actor
    admin: Actor
    nova: Nova
    cloud: SandboxCloud
    screen: Screen


def run(screen: Screen | None = None, cloud_file: str = CLOUD) -> bool:
    """Start the sandbox, tell the story, end the sandbox; True if every check passed."""
    screen = screen or Screen()
    with screen.working('starting a real Nova, Placement and Senlin') as tell:
        cloud = SandboxCloud.from_file(example(cloud_file), senlin=True, progress=tell)
        cloud.start()
    try:
        scene = Scene(*stage(cloud), cloud, screen)
        for chapter in (the_cloud, create_group, inherit_group, refuse_mismatch, use_drs):
            chapter(scene)
    finally:
        with screen.working('ending the sandbox'):
            cloud.stop()
    return screen.summary()


def the_cloud(scene: Scene) -> None:
    """Show the hosts."""
    scene.screen.title('The cloud: a real Nova, Placement and Senlin, on this machine')
    rows = scene.nova.hosts()
    scene.screen.table(('compute host', 'hypervisor', 'zone', 'status'), rows)
    scene.screen.check('three compute hosts answer', 3, len(rows))


def create_group(scene: Scene) -> None:
    """S2: the policy creates a group with rules, six nodes land three and three, detach deletes."""
    screen = scene.screen
    screen.title('S2  A server group of its own: at most 3 nodes on a host')
    screen.say('policy anti-affinity.yaml (max_server_per_host: 3), a cluster without nodes')
    user = scene.user
    policy, profile = user.policy('anti-affinity.yaml'), user.profile('server.yaml')
    cluster = user.cluster('six', profile)
    with screen.working('attaching the policy'):
        ended = user.attach(cluster, policy)
    _must_succeed(screen, 'the attach', ended)
    group = scene.nova.group(f'{GROUP_NAME_PREFIX}{cluster}')
    screen.table(
        ('server group', 'policy', 'rules'),
        [(group.name, group.policy, _in_words(group.rules))] if group else [],
    )
    rules = group and (group.policy, group.rules)
    screen.check(
        'Nova has the group, with the rule', ('anti-affinity', {'max_server_per_host': 3}), rules
    )
    if not group:
        return
    with screen.working('scaling out by 6: six servers boot on the real scheduler'):
        ended = user.scale_out(cluster, 6)
    _must_succeed(screen, 'the scale-out by 6', ended)
    landed = scene.nova.servers_on_hosts(group.id)
    screen.host_map(landed)
    screen.check(
        'six nodes on two hosts land 3 + 3',
        {'cmp-1': 3, 'cmp-2': 3},
        {host: len(names) for host, names in landed.items()},
    )
    with screen.working('detaching the policy'):
        ended = user.detach(cluster, policy)
    _must_succeed(screen, 'the detach', ended)
    screen.check('the created group is gone', None, scene.nova.group(group.name))
    with screen.working('deleting the cluster'):
        user.delete_cluster(cluster)


def inherit_group(scene: Scene) -> None:
    """S1: the profile names a group; a node created by itself joins it; detach leaves it alone."""
    screen, user = scene.screen, scene.user
    screen.title('S1  A group that exists already, named by the profile')
    group_id = scene.nova.create_group(scene.cloud.connection('demo'), 'web')
    screen.say('profile server-with-group.yaml (scheduler_hints: {group: web})')
    screen.say('policy inherit.yaml')
    policy, profile = user.policy('inherit.yaml'), user.profile('server-with-group.yaml')
    cluster = user.cluster('heirs', profile)
    with screen.working('attaching the policy'):
        ended = user.attach(cluster, policy)
    _must_succeed(screen, 'the attach', ended)
    data = user.binding(cluster, policy).get('AffinityPolicy', {}).get('data', {})
    screen.table(('binding', 'value'), [(key, _in_words(value)) for key, value in data.items()])
    screen.check(
        'the binding inherits the group',
        (group_id, True),
        (data.get('servergroup_id'), data.get('inherited_group')),
    )
    with screen.working('scaling out by 1, then creating a node straight into the cluster'):
        ended = user.scale_out(cluster, 1)
        status = user.node('straight', cluster, profile)
    _must_succeed(screen, 'the scale-out by 1', ended)
    screen.check('the node that was created straight into the cluster is up', 'ACTIVE', status)
    landed = scene.nova.servers_on_hosts(group_id)
    screen.host_map(landed)
    screen.check(
        'both servers are in the group, one on each host',
        {'cmp-1': 1, 'cmp-2': 1},
        {host: len(names) for host, names in landed.items()},
    )
    with screen.working('detaching the policy'):
        ended = user.detach(cluster, policy)
    _must_succeed(screen, 'the detach', ended)
    screen.check('the inherited group is still there', ['web'], scene.nova.groups())
    with screen.working('deleting the cluster'):
        user.delete_cluster(cluster)


def refuse_mismatch(scene: Scene) -> None:
    """A policy that is not the group's is refused, and says why."""
    screen, user = scene.screen, scene.user
    screen.title('A policy that does not match its group is refused')
    screen.say('the same profile (group web is anti-affinity), policy affinity.yaml')
    policy, profile = user.policy('affinity.yaml'), user.profile('server-with-group.yaml')
    cluster = user.cluster('misfit', profile)
    with screen.working('attaching the policy'):
        ended = user.attach(cluster, policy)
    screen.quote('Senlin says', ended.reason)
    screen.check('the attach failed', 'FAILED', ended.status)
    screen.check(
        'its reason names both policies',
        True,
        "Policies specified (affinity) doesn't match" in ended.reason
        and '(anti-affinity)' in ended.reason,
    )
    screen.check('no group was created', ['web'], scene.nova.groups())
    user.delete_cluster(cluster)


def use_drs(scene: Scene) -> None:
    """S3: an administrator's cluster on a vSphere host with DRS, refused while that is disabled."""
    screen, admin = scene.screen, scene.admin
    screen.title('S3  A vSphere host with DRS')
    screen.say(f'policy drs.yaml, an administrator; {DRS_HOST} is still disabled')
    policy, profile = admin.policy('drs.yaml'), admin.profile('server.yaml')
    cluster = admin.cluster('drs', profile)
    with screen.working('attaching the policy'):
        ended = admin.attach(cluster, policy)
    _must_succeed(screen, 'the attach', ended)
    with screen.working('resizing to 2'):
        ended = admin.resize(cluster, 2)
    screen.quote('Senlin says', ended.reason)
    is_told = 'drs.disabled on 1' in ended.reason
    screen.check('the resize is refused, with the reason', True, is_told)
    scene.nova.enable(DRS_HOST)
    screen.say(f'{DRS_HOST} is enabled now')
    with screen.working('resizing to 2'):
        ended = admin.resize(cluster, 2)
    _must_succeed(screen, 'the resize to 2', ended)
    group = scene.nova.group(f'{GROUP_NAME_PREFIX}{cluster}')
    landed = scene.nova.servers_on_hosts(group.id) if group else {}
    screen.host_map(landed)
    screen.check(
        'both nodes are on the DRS host',
        {DRS_HOST: 2},
        {host: len(names) for host, names in landed.items()},
    )
    with screen.working('detaching the policy'):
        ended = admin.detach(cluster, policy)
    _must_succeed(screen, 'the detach', ended)
    screen.check('only the inherited group is left', ['web'], scene.nova.groups())
    with screen.working('deleting the cluster'):
        admin.delete_cluster(cluster)


def _in_words(value: object) -> str:
    """A value as a person writes it."""
    if isinstance(value, Mapping):
        return ', '.join(f'{key}: {number}' for key, number in value.items()) or '(none)'
    return str(value).lower() if isinstance(value, bool) else str(value)


def _must_succeed(screen: Screen, what: str, ended: Ended) -> None:
    if ended.status != 'SUCCEEDED':
        screen.quote('Senlin says', ended.reason)
    screen.check(f'{what} succeeded', 'SUCCEEDED', ended.status)
