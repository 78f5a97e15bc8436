"""What the chapters of the demo share: the users, Nova, the output, and the steps of clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from senlin_affinity.conf.files import example
from senlin_affinity.sandbox.demo.screen import Screen
from senlin_affinity.sandbox.demo.stage import Actor, Ended, Nova, Running

#: The vSphere host of the demo's cloud.
DRS_HOST = 'vsphere-drs-1'


@dataclass(frozen=True)
class Scene:
    """The users, Nova and the output of the demo."""

    user: Actor
    admin: Actor
    nova: Nova
    screen: Screen
    log: Path
    image: str

    def operators_log(self) -> str:
        """Return the last line of the operators' log after its prefix, or ''."""
        lines = self.log.read_text(encoding='utf-8').splitlines()
        found = [line for line in lines if ' senlin_affinity.operators ' in line]
        return found[-1].partition(' preflight: ')[2] if found else ''


def in_words(value: object) -> str:
    """Return a value as the tables show it: ``max_server_per_host: 3``."""
    if isinstance(value, Mapping):
        return ', '.join(f'{key}: {number}' for key, number in value.items()) or '(none)'
    return str(value).lower() if isinstance(value, bool) else str(value)


def create(user: Actor, name: str, policy: str, profile: str = 'server.yaml') -> tuple[str, str]:
    """Create a cluster without nodes, and a policy; return their ids."""
    profile_spec = yaml.safe_load(example(f'profiles/{profile}').read_text())
    policy_spec = yaml.safe_load(example(f'policies/{policy}').read_text())
    cluster = user.create_cluster(name, user.create_profile(profile, profile_spec))
    return cluster, user.create_policy(policy, policy_spec)


def attached(scene: Scene, user: Actor, *names: str) -> tuple[str, str]:
    """Create a cluster and a policy, and attach the policy; return their ids."""
    cluster, policy = create(user, *names)
    attach = user.attach(cluster, policy)
    must_succeed(scene.screen, 'the attach', 'attaching the policy', attach)
    return cluster, policy


def detach(screen: Screen, user: Actor, cluster: str, policy: str) -> None:
    """Detach the policy, which must succeed."""
    must_succeed(screen, 'the detach', 'detaching the policy', user.detach(cluster, policy))


def delete(screen: Screen, user: Actor, cluster: str) -> None:
    """Delete a cluster."""
    with screen.working('deleting the cluster'):
        user.delete_cluster(cluster)


def show_servers(scene: Scene, group: Any) -> dict[str, int]:
    """Print the servers of a group by host; return the number on each."""
    landed = scene.nova.servers_on_hosts(group.id) if group else {}
    rows = ((host, '■ ' * len(names), ', '.join(names)) for host, names in sorted(landed.items()))
    scene.screen.table(('host', 'servers', 'names'), rows)
    return {host: len(names) for host, names in landed.items()}


def end_of(screen: Screen, doing: str, running: Running) -> Ended:
    """Wait until an action ends; print the reason if it fails."""
    with screen.working(doing):
        ended = running.ended()
    if ended.status != 'SUCCEEDED':
        screen.quote('Senlin says', ended.reason)
    return ended


def must_succeed(screen: Screen, what: str, doing: str, running: Running) -> None:
    """Wait until an action ends, and check that it succeeded."""
    ended = end_of(screen, doing, running)
    screen.check(f'{what} succeeded', 'SUCCEEDED', ended.status)
