"""Show what five specifications describe, on the real services, checked against Nova.

These are Senlin's page "Affinity Policy V1.0" (the scenarios S1, S2 and S3), and the specifications
for Nova "Aggregate Instance Type Filter", "Support filtering by forbidden aggregate membership",
"Complex anti-affinity policies" and "Flavor Extra Spec Validators". The last chapters drain a host,
and fill the cloud until no more servers fit.

A failed check makes the demo fail at its end; an impossible step raises an error.
"""

from __future__ import annotations

from collections.abc import Mapping

from senlin_affinity import api
from senlin_affinity.conf.files import example
from senlin_affinity.engine.flavor_capacity import FlavorCapacity
from senlin_affinity.groups.attachment import GROUP_NAME_PREFIX
from senlin_affinity.sandbox.blueprint import OPERATOR
from senlin_affinity.sandbox.cloud import SandboxCloud
from senlin_affinity.sandbox.demo.maintenance import drain_host
from senlin_affinity.sandbox.demo.scene import (
    DRS_HOST,
    Scene,
    attached,
    create,
    delete,
    detach,
    end_of,
    in_words,
    must_succeed,
    show_servers,
)
from senlin_affinity.sandbox.demo.screen import Screen
from senlin_affinity.sandbox.demo.stage import Actor, Nova

CLOUD = 'clouds/demo.yaml'
#: The flavors whose capacity is shown.
COUNTED = ('m1.large', 'm1.small')


def run(screen: Screen | None = None, cloud_file: str = CLOUD) -> bool:
    """Start the sandbox, run the chapters, end it; return whether every check passed."""
    screen = screen or Screen()
    with screen.working('starting Nova, Placement and Senlin') as tell:
        cloud = SandboxCloud.from_file(
            example(cloud_file), senlin=True, senlin_options=OPERATOR, progress=tell
        )
        cloud.start()
    try:
        admin = cloud.connection()
        user, log = Actor(cloud.connection('demo')), cloud.log_dir / 'senlin.log'
        scene = Scene(user, Actor(admin), Nova(admin), screen, log, cloud.image_id)
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


def admit_by_key(scene: Scene) -> None:
    """Let the filter keep servers without the key of an aggregate from its host."""
    screen = scene.screen
    screen.title('The aggregate filter: a host only for flavors with a key')
    screen.say('specification "Aggregate Instance Type Filter"')
    metadata = {'ssd': 'true', 'force_metadata_check': 'True'}
    screen.table(('aggregate', 'host', 'metadata'), [('ssd', 'cmp-1', in_words(metadata))])
    with scene.nova.aggregate('ssd', 'cmp-1', metadata):
        landed = _boot(scene, {'fast': 'm1.ssd', 'any-1': 'm1.tiny', 'any-2': 'm1.tiny'})
    screen.check('the server whose flavor has the key is on cmp-1', 'cmp-1', landed['fast'])
    others = {landed['any-1'], landed['any-2']}
    screen.check('both servers without the key avoid cmp-1', {'cmp-2'}, others)


def reserve_host(scene: Scene) -> None:
    """Let the request filter keep ordinary servers from a reserved host."""
    screen = scene.screen
    screen.title('The request filter: a reserved host that ordinary servers avoid')
    screen.say('specification "Filtering by forbidden aggregate membership"')
    metadata = {'reservation:r1': 'mine'}
    screen.table(('aggregate', 'host', 'metadata'), [('mine', 'cmp-1', in_words(metadata))])
    with scene.nova.aggregate('mine', 'cmp-1', metadata):
        landed = _boot(scene, {'mine': 'm1.reserved', 'any-1': 'm1.tiny', 'any-2': 'm1.tiny'})
    screen.check('the server with the reservation is on cmp-1', 'cmp-1', landed['mine'])
    others = {landed['any-1'], landed['any-2']}
    screen.check('both ordinary servers avoid cmp-1', {'cmp-2'}, others)


def reject_extra_spec(scene: Scene) -> None:
    """Let nova-api reject an extra spec with a wrong name, and one with a wrong value."""
    screen = scene.screen
    screen.title('The validators: an extra spec that nova-api rejects')
    screen.say('specification "Flavor Extra Spec Validators"')
    for name, value, words in (
        ('hw:cpu_polcy', 'dedicated', 'did you mean hw:cpu_policy?'),
        ('hw:cpu_policy', 'deddddicated', "not 'deddddicated'"),
    ):
        screen.say(f'flavor m1.tiny, extra spec {name}={value}')
        status, message = scene.nova.add_extra_spec('m1.tiny', name, value)
        screen.quote(f'nova-api answers {status}', message)
        screen.check('it is rejected, with the reason', (400, True), (status, words in message))
    screen.check('the flavor is unchanged', {}, scene.nova.extra_specs('m1.tiny'))


def create_group(scene: Scene) -> None:
    """Let the policy create a group with rules."""
    screen = scene.screen
    screen.title('S2  A server group that the policy creates: at most 3 nodes on a host')
    screen.say('specifications "Affinity Policy" and "Complex anti-affinity policies"')
    screen.say('policy anti-affinity.yaml (max_server_per_host: 3), a cluster without nodes')
    user = scene.user
    cluster, policy = attached(scene, user, 'six', 'anti-affinity.yaml')
    group = scene.nova.group(f'{GROUP_NAME_PREFIX}{cluster}')
    if group:
        rows = [('policy', group.policy), ('rules', in_words(group.rules))]
        screen.table(('server group', group.name), rows)
    rules = group and (group.policy, group.rules)
    wanted = ('anti-affinity', {'max_server_per_host': 3})
    screen.check('Nova has the group, with the rule', wanted, rules)
    if not group:
        return
    doing = 'scaling out by 6: six servers boot on the real scheduler'
    must_succeed(screen, 'the scale-out by 6', doing, user.scale_out(cluster, 6))
    landed = show_servers(scene, group)
    screen.check('six nodes on two hosts land 3 + 3', {'cmp-1': 3, 'cmp-2': 3}, landed)
    detach(screen, user, cluster, policy)
    screen.check('the created group is gone', None, scene.nova.group(group.name))
    delete(screen, user, cluster)


def inherit_group(scene: Scene) -> None:
    """Let the policy inherit the group of the profile."""
    screen, user = scene.screen, scene.user
    screen.title('S1  An existing group, named by the profile')
    group_id = user.create_group('web')
    screen.say('profile server-with-group.yaml (scheduler_hints: {group: web})')
    screen.say('policy inherit.yaml')
    cluster, policy = attached(scene, user, 'heirs', 'inherit.yaml', 'server-with-group.yaml')
    data = user.binding(cluster, policy).get('AffinityPolicy', {}).get('data', {})
    screen.table(('binding', 'value'), [(key, in_words(value)) for key, value in data.items()])
    found = (data.get('servergroup_id'), data.get('inherited_group'))
    screen.check('the binding inherits the group', (group_id, True), found)
    must_succeed(screen, 'the scale-out by 1', 'scaling out by 1', user.scale_out(cluster, 1))
    with screen.working('creating a node in the cluster'):
        profile = user.clustering.get_cluster(cluster).profile_id
        node = user.create_node('straight', profile, cluster)
    screen.check('the node that was created in the cluster is up', 'ACTIVE', node.status)
    landed = show_servers(scene, scene.nova.group('web'))
    what = 'both servers are in the group, one on each host'
    screen.check(what, {'cmp-1': 1, 'cmp-2': 1}, landed)
    detach(screen, user, cluster, policy)
    screen.check('the inherited group is still there', ['web'], scene.nova.groups())
    delete(screen, user, cluster)


def refuse_mismatch(scene: Scene) -> None:
    """Check that a policy which differs from the group's is rejected."""
    screen, user = scene.screen, scene.user
    screen.title('A policy that does not match its group is rejected')
    screen.say('the same profile (group web is anti-affinity), policy affinity.yaml')
    cluster, policy = create(user, 'misfit', 'affinity.yaml', 'server-with-group.yaml')
    ended = end_of(screen, 'attaching the policy', user.attach(cluster, policy))
    screen.check('the attach failed', 'FAILED', ended.status)
    words = ("Policies specified (affinity) doesn't match", '(anti-affinity)')
    is_named = all(each in ended.reason for each in words)
    screen.check('its reason names both policies', True, is_named)
    screen.check('no group was created', ['web'], scene.nova.groups())
    user.delete_cluster(cluster)


def spread_zones(scene: Scene) -> None:
    """Place a tenant's nodes evenly over the zones."""
    screen, user = scene.screen, scene.user
    screen.title('A spread over the zones, for everybody')
    screen.say('policy spread-zones.yaml, a user who cannot list hosts; zones az1 and az2')
    cluster, policy = attached(scene, user, 'even', 'spread-zones.yaml')
    must_succeed(screen, 'the scale-out by 4', 'scaling out by 4', user.scale_out(cluster, 4))
    landed = show_servers(scene, scene.nova.group(f'{GROUP_NAME_PREFIX}{cluster}'))
    zone_of = {host: zone for host, _hypervisor, zone, _status in scene.nova.hosts()}
    by_zone = {zone_of[host]: count for host, count in landed.items()}
    screen.check('four nodes on two zones land 2 + 2', {'az1': 2, 'az2': 2}, by_zone)
    detach(screen, user, cluster, policy)
    delete(screen, user, cluster)


def ask_first(scene: Scene) -> None:
    """Check that a tenant's oversized scale-out is rejected before a request to Nova."""
    screen, user = scene.screen, scene.user
    screen.title('The preflight: rejected before any server is created, with the reason')
    screen.say('policy one-per-host.yaml, a non-admin; two hosts are enabled, six nodes requested')
    cluster, policy = attached(scene, user, 'many', 'one-per-host.yaml')
    ended = end_of(screen, 'scaling out by 6', user.scale_out(cluster, 6))
    is_refused = 'does not fit: at most 2 of 6; a host may hold 1 of server group' in ended.reason
    screen.check("the scale-out is rejected by the rule of the user's own group", True, is_refused)
    is_helped = 'max_server_per_host: 3 (6 of 6)' in ended.reason
    screen.check('the reason contains what would help', True, is_helped)
    group = scene.nova.group(f'{GROUP_NAME_PREFIX}{cluster}')
    landed = scene.nova.servers_on_hosts(group.id) if group else None
    screen.check('no server was created', {}, landed)
    log = scene.operators_log()
    screen.quote("The log of Senlin's engine has more, for operators", log)
    hosts = '2 of 6 placed; 0/2 hosts left: server_group.host_full on 2'
    is_only_there = hosts in log and 'hosts left' not in ended.reason
    screen.check('only the log describes the hosts', True, is_only_there)
    detach(screen, user, cluster, policy)
    delete(screen, user, cluster)


def use_drs(scene: Scene) -> None:
    """Place an administrator's cluster on a vSphere host with DRS."""
    screen, admin = scene.screen, scene.admin
    screen.title('S3  A vSphere host with DRS')
    screen.say(f'policy drs.yaml, an administrator; {DRS_HOST} is still disabled')
    cluster, policy = attached(scene, admin, 'drs', 'drs.yaml')
    ended = end_of(screen, 'resizing to 2', admin.resize(cluster, 'EXACT_CAPACITY', 2))
    is_told = 'host_state.disabled on 1' in ended.reason
    screen.check('the resize is rejected, with the reason', True, is_told)
    scene.nova.enable(DRS_HOST)
    screen.say(f'{DRS_HOST} is enabled now')
    resize = admin.resize(cluster, 'EXACT_CAPACITY', 2)
    must_succeed(screen, 'the resize to 2', 'resizing to 2', resize)
    landed = show_servers(scene, scene.nova.group(f'{GROUP_NAME_PREFIX}{cluster}'))
    screen.check('both nodes are on the DRS host', {DRS_HOST: 2}, landed)
    detach(screen, admin, cluster, policy)
    screen.check('only the inherited group is left', ['web'], scene.nova.groups())
    delete(screen, admin, cluster)


def fill_cloud(scene: Scene) -> None:
    """Fill the cloud, and show the capacity of two flavors until Nova rejects a server."""
    screen, nova, user = scene.screen, scene.nova, scene.user
    screen.title('How much room is left? The capacity falls while the cloud fills')
    screen.say(f'senlin-affinity capacity --by zone; {DRS_HOST} is still disabled')
    before = _show_capacity(scene)
    servers: list[str] = []
    for number in (1, 2):
        names = [f'large-{number}{letter}' for letter in 'abc']
        with screen.working('creating three servers of m1.large'):
            servers += user.create_servers(scene.image, dict.fromkeys(names, 'm1.large'))
        now = _show_capacity(scene)
        screen.check('3 fewer m1.large fit', before['m1.large'] - 3 * number, now['m1.large'])
    screen.check('no m1.large fits any more', 0, now['m1.large'])
    with screen.working('creating one more'):
        servers += user.create_servers(scene.image, {'one-more': 'm1.large'})
    status, message = nova.fault(servers[-1])
    screen.quote('Nova says', message)
    screen.check('Nova finds no host for one more', 'ERROR', status)
    screen.check('m1.small still fits', True, now['m1.small'] > 0)
    with screen.working('deleting the servers'):
        nova.delete_servers(servers)
    with screen.working('counting again'):
        after = _capacity(scene)
    screen.check('the capacity is as before', before['m1.large'], after['m1.large'].bounds.expected)


CHAPTERS = (
    the_cloud,
    admit_by_key,
    reserve_host,
    create_group,
    inherit_group,
    refuse_mismatch,
    spread_zones,
    ask_first,
    use_drs,
    reject_extra_spec,
    drain_host,
    fill_cloud,
)


def _boot(scene: Scene, flavors: Mapping[str, str]) -> dict[str, str]:
    """Create servers (name -> flavor); return the host of each after deleting them."""
    with scene.screen.working('creating three servers'):
        servers = scene.user.create_servers(scene.image, flavors)
    landed = scene.nova.hosts_of(servers)
    rows = [(name, flavor, landed[name]) for name, flavor in flavors.items()]
    scene.screen.table(('server', 'flavor', 'host'), rows)
    with scene.screen.working('deleting the servers'):
        scene.nova.delete_servers(servers)
    return landed


def _capacity(scene: Scene) -> dict[str, FlavorCapacity]:
    """Count the servers of two flavors that fit, as the administrator."""
    view = api.fetch(scene.admin.connection, api.Question(0), flavors=COUNTED)
    found = api.capacity(view, COUNTED, 'zone')
    return {each.flavor.name: each for each in found.flavors}


def _show_capacity(scene: Scene) -> dict[str, int]:
    """Print the capacity of two flavors by zone; return the number of servers of each."""
    with scene.screen.working('counting what fits'):
        found = _capacity(scene)
    zones = [part.name for part in found['m1.large'].parts if part.name != 'vsphere']
    rows = []
    for each in found.values():
        parts = {part.name: str(part.bounds.expected) for part in each.parts}
        why = f'{each.runs_out_first} runs out first'
        if each.lacking:
            why = f'no host has {each.lacking} {each.runs_out_first} left'
        numbers = (str(each.bounds.expected), *(parts[zone] for zone in zones))
        rows.append((each.flavor.name, *numbers, why))
    scene.screen.table(('flavor', 'capacity', *zones, 'why'), rows)
    return {name: each.bounds.expected or 0 for name, each in found.items()}
