"""The demo's story: document 003's scenarios S1, S2 and S3, each checked against Nova.

The way of the data: every chapter asks Senlin for something, lets it get done, prints what Nova has
as a table, and checks it. A check that fails is remembered, and the demo ends in failure; what can
not be done at all is an error and ends it at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from senlin_affinity.conf.files import example
from senlin_affinity.policy.affinity import GROUP_NAME_PREFIX
from senlin_affinity.sandbox.cloud import SandboxCloud
from senlin_affinity.sandbox.demo.screen import Screen
from senlin_affinity.sandbox.demo.stage import Actor, Nova, Running, stage

CLOUD = 'clouds/demo.yaml'
DRS_HOST = 'vsphere-drs-1'


@dataclass(frozen=True)
class Scene:
    """Who is on stage, and what they write on."""

    user: Actor
    admin: Actor
    nova: Nova
    screen: Screen


def run(screen: Screen | None = None, cloud_file: str = CLOUD) -> bool:
    """Start the sandbox, tell the story, end the sandbox; True if every check passed."""
    screen = screen or Screen()
    with screen.working('starting Nova, Placement and Senlin') as tell:
        cloud = SandboxCloud.from_file(example(cloud_file), senlin=True, progress=tell)
        cloud.start()
    try:
        scene = Scene(*stage(cloud), screen)
        for chapter in CHAPTERS:
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
    policy, profile = _from_examples(user, 'anti-affinity.yaml', 'server.yaml')
    cluster = user.create_cluster('six', profile)
    _must_succeed(screen, 'the attach', 'attaching the policy', user.attach(cluster, policy))
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
    doing = 'scaling out by 6: six servers boot on the real scheduler'
    _must_succeed(screen, 'the scale-out by 6', doing, user.scale_out(cluster, 6))
    landed = scene.nova.servers_on_hosts(group.id)
    screen.host_map(landed)
    screen.check(
        'six nodes on two hosts land 3 + 3',
        {'cmp-1': 3, 'cmp-2': 3},
        {host: len(names) for host, names in landed.items()},
    )
    _must_succeed(screen, 'the detach', 'detaching the policy', user.detach(cluster, policy))
    screen.check('the created group is gone', None, scene.nova.group(group.name))
    with screen.working('deleting the cluster'):
        user.delete_cluster(cluster)


def inherit_group(scene: Scene) -> None:
    """S1: the profile names a group; a node created by itself joins it; detach leaves it alone."""
    screen, user = scene.screen, scene.user
    screen.title('S1  A group that exists already, named by the profile')
    group_id = user.create_group('web')
    screen.say('profile server-with-group.yaml (scheduler_hints: {group: web})')
    screen.say('policy inherit.yaml')
    policy, profile = _from_examples(user, 'inherit.yaml', 'server-with-group.yaml')
    cluster = user.create_cluster('heirs', profile)
    _must_succeed(screen, 'the attach', 'attaching the policy', user.attach(cluster, policy))
    data = user.binding(cluster, policy).get('AffinityPolicy', {}).get('data', {})
    screen.table(('binding', 'value'), [(key, _in_words(value)) for key, value in data.items()])
    screen.check(
        'the binding inherits the group',
        (group_id, True),
        (data.get('servergroup_id'), data.get('inherited_group')),
    )
    _must_succeed(screen, 'the scale-out by 1', 'scaling out by 1', user.scale_out(cluster, 1))
    with screen.working('creating a node straight into the cluster'):
        node = user.create_node('straight', profile, cluster)
    screen.check('the node that was created straight into the cluster is up', 'ACTIVE', node.status)
    landed = scene.nova.servers_on_hosts(group_id)
    screen.host_map(landed)
    screen.check(
        'both servers are in the group, one on each host',
        {'cmp-1': 1, 'cmp-2': 1},
        {host: len(names) for host, names in landed.items()},
    )
    _must_succeed(screen, 'the detach', 'detaching the policy', user.detach(cluster, policy))
    screen.check('the inherited group is still there', ['web'], scene.nova.groups())
    with screen.working('deleting the cluster'):
        user.delete_cluster(cluster)


def refuse_mismatch(scene: Scene) -> None:
    """A policy that is not the group's is refused, and says why."""
    screen, user = scene.screen, scene.user
    screen.title('A policy that does not match its group is refused')
    screen.say('the same profile (group web is anti-affinity), policy affinity.yaml')
    policy, profile = _from_examples(user, 'affinity.yaml', 'server-with-group.yaml')
    cluster = user.create_cluster('misfit', profile)
    with screen.working('attaching the policy'):
        ended = user.attach(cluster, policy).ended()
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


def spread_zones(scene: Scene) -> None:
    """Nodes of a plain user, evenly over the zones: each of them gets its own."""
    screen, user = scene.screen, scene.user
    screen.title('A spread over the zones, for everybody')
    screen.say('policy spread-zones.yaml, a plain user, who sees no host; zones az1 and az2')
    policy, profile = _from_examples(user, 'spread-zones.yaml', 'server.yaml')
    cluster = user.create_cluster('even', profile)
    _must_succeed(screen, 'the attach', 'attaching the policy', user.attach(cluster, policy))
    _must_succeed(screen, 'the scale-out by 4', 'scaling out by 4', user.scale_out(cluster, 4))
    group = scene.nova.group(f'{GROUP_NAME_PREFIX}{cluster}')
    landed = scene.nova.servers_on_hosts(group.id) if group else {}
    screen.host_map(landed)
    zone_of = {host: zone for host, _hypervisor, zone, _status in scene.nova.hosts()}
    screen.check(
        'four nodes on two zones land 2 + 2',
        {'az1': 2, 'az2': 2},
        {zone_of[host]: len(names) for host, names in landed.items()},
    )
    _must_succeed(screen, 'the detach', 'detaching the policy', user.detach(cluster, policy))
    with screen.working('deleting the cluster'):
        user.delete_cluster(cluster)


def ask_first(scene: Scene) -> None:
    """The preflight: what can not fit is refused before Nova is asked, with what would help."""
    screen, admin = scene.screen, scene.admin
    screen.title('The preflight: refused before Nova is asked, with the reason')
    screen.say(
        'policy one-per-host.yaml, an administrator; two hosts are enabled, six nodes wanted'
    )
    policy, profile = _from_examples(admin, 'one-per-host.yaml', 'server.yaml')
    cluster = admin.create_cluster('many', profile)
    _must_succeed(screen, 'the attach', 'attaching the policy', admin.attach(cluster, policy))
    with screen.working('scaling out by 6'):
        ended = admin.scale_out(cluster, 6).ended()
    screen.quote('Senlin says', ended.reason)
    screen.check(
        'the scale-out is refused at 3', True, 'does not fit: 2 of 6 placed' in ended.reason
    )
    screen.check(
        'it says what would help', True, 'max_server_per_host: 3 (capacity 6)' in ended.reason
    )
    group = scene.nova.group(f'{GROUP_NAME_PREFIX}{cluster}')
    landed = scene.nova.servers_on_hosts(group.id) if group else None
    screen.check('no server was created', {}, landed)
    _must_succeed(screen, 'the detach', 'detaching the policy', admin.detach(cluster, policy))
    with screen.working('deleting the cluster'):
        admin.delete_cluster(cluster)


def use_drs(scene: Scene) -> None:
    """S3: an administrator's cluster on a vSphere host with DRS, refused while that is disabled."""
    screen, admin = scene.screen, scene.admin
    screen.title('S3  A vSphere host with DRS')
    screen.say(f'policy drs.yaml, an administrator; {DRS_HOST} is still disabled')
    policy, profile = _from_examples(admin, 'drs.yaml', 'server.yaml')
    cluster = admin.create_cluster('drs', profile)
    _must_succeed(screen, 'the attach', 'attaching the policy', admin.attach(cluster, policy))
    with screen.working('resizing to 2'):
        ended = admin.resize(cluster, 'EXACT_CAPACITY', 2).ended()
    screen.quote('Senlin says', ended.reason)
    is_told = 'host_state.disabled on 1' in ended.reason
    screen.check('the resize is refused, with the reason', True, is_told)
    scene.nova.enable(DRS_HOST)
    screen.say(f'{DRS_HOST} is enabled now')
    resize = admin.resize(cluster, 'EXACT_CAPACITY', 2)
    _must_succeed(screen, 'the resize to 2', 'resizing to 2', resize)
    group = scene.nova.group(f'{GROUP_NAME_PREFIX}{cluster}')
    landed = scene.nova.servers_on_hosts(group.id) if group else {}
    screen.host_map(landed)
    screen.check(
        'both nodes are on the DRS host',
        {DRS_HOST: 2},
        {host: len(names) for host, names in landed.items()},
    )
    _must_succeed(screen, 'the detach', 'detaching the policy', admin.detach(cluster, policy))
    screen.check('only the inherited group is left', ['web'], scene.nova.groups())
    with screen.working('deleting the cluster'):
        admin.delete_cluster(cluster)


CHAPTERS = (
    the_cloud,
    create_group,
    inherit_group,
    refuse_mismatch,
    spread_zones,
    ask_first,
    use_drs,
)


def _in_words(value: object) -> str:
    """A value as a person writes it."""
    if isinstance(value, Mapping):
        return ', '.join(f'{key}: {number}' for key, number in value.items()) or '(none)'
    return str(value).lower() if isinstance(value, bool) else str(value)


def _from_examples(user: Actor, policy: str, profile: str) -> tuple[str, str]:
    """Create a policy and a profile from files of the project's examples; their ids."""
    policy_spec = yaml.safe_load(example(f'policies/{policy}').read_text())
    profile_spec = yaml.safe_load(example(f'profiles/{profile}').read_text())
    return user.create_policy(policy, policy_spec), user.create_profile(profile, profile_spec)


def _must_succeed(screen: Screen, what: str, doing: str, running: Running) -> None:
    """Wait for the end of an action, and check that it is a good one."""
    with screen.working(doing):
        ended = running.ended()
    if ended.status != 'SUCCEEDED':
        screen.quote('Senlin says', ended.reason)
    screen.check(f'{what} succeeded', 'SUCCEEDED', ended.status)
