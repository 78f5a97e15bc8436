"""Drain a host under a cluster that runs, and grow the cluster again: a chapter of the demo."""

from __future__ import annotations

from senlin_affinity import api
from senlin_affinity.groups.attachment import GROUP_NAME_PREFIX
from senlin_affinity.sandbox.demo.scene import (
    DRS_HOST,
    Scene,
    attached,
    delete,
    detach,
    must_succeed,
    show_servers,
)

#: The hosts of the cluster, each of which may have three nodes.
HOSTS = 'cmp-1', 'cmp-2'
#: The microversion from which the scheduler checks the target that a live migration names.
_CHECKED = '2.30'


def drain_host(scene: Scene) -> None:
    """Move all servers away from a host by a plan, and let the cluster grow on the others."""
    screen, user, nova = scene.screen, scene.user, scene.nova
    screen.title('Maintenance: drain a host under a cluster, and grow the cluster again')
    screen.say(f'policy anti-affinity.yaml (max_server_per_host: 3); {DRS_HOST} is disabled')
    nova.disable(DRS_HOST)
    cluster, policy = attached(scene, user, 'moved', 'anti-affinity.yaml')
    must_succeed(screen, 'the scale-out by 2', 'scaling out by 2', user.scale_out(cluster, 2))
    group = nova.group(f'{GROUP_NAME_PREFIX}{cluster}')
    landed = show_servers(scene, group)
    host, other = sorted(HOSTS, key=lambda name: -landed.get(name, 0))
    screen.say(f'senlin-affinity host drain {host}')
    with screen.working('planning'):
        view = api.fetch(scene.admin.connection, servers_on=[host])
        plan = api.drain([host], view)
    rows = [(str(each.wave), each.server.name, each.kind, each.target) for each in plan.moves]
    screen.table(('wave', 'server', 'step', 'to'), rows)
    screen.check(f'all its servers move: {plan.line()}', landed[host], len(plan.moves))
    nova.disable(host)
    with screen.working('carrying out the plan, one move after the other'):
        for each in plan.moves:
            nova.migrate_live(each.server.id, each.target, _CHECKED)
    screen.check(f'{host} is empty', {other: 2}, show_servers(scene, group))
    must_succeed(screen, 'the scale-out by 1', 'scaling out by 1', user.scale_out(cluster, 1))
    landed = show_servers(scene, group)
    screen.check(f'the cluster grows without {host}', {other: 3}, landed)
    nova.enable(host)
    screen.say(f'{host} is enabled again')
    # nova-scheduler counts servers that have moved on their former host, too, for some minutes.
    must_succeed(screen, 'the scale-out by 1', 'scaling out by 1', user.scale_out(cluster, 1))
    landed = show_servers(scene, group)
    screen.check(f'the cluster grows on {host} again', {host: 1, other: 3}, landed)
    detach(screen, user, cluster, policy)
    delete(screen, user, cluster)
