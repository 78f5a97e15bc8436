"""The stories: what a cluster's owner asks for, and what the policy's document says comes of it.

Each is told to Senlin's own policy (``senlin.policy.affinity`` 1.0) and to this project's (1.1),
with the same properties. Those with a ``mistake`` are about something that Senlin's own gets wrong
when the real services are asked instead of stand-ins: a comment says what. The others are document
003's scenarios as such.

Shapes: ``STORIES`` is a tuple of :class:`tests.regressions.stage.Story`.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import requests
from openstack.exceptions import HttpException

from senlin_affinity.core.errors import CloudError
from senlin_affinity.sandbox.demo.stage import DEADLINE, wait_for
from senlin_affinity.sandbox.identities import DEMO
from tests.regressions.stage import DRS_1, DRS_2, HYDRA, PAGE, Mismatch, Stage, Story

#: Several servers of a cluster may share the one compute host that a vCenter cluster is.
_DRS = {'enable_drs_extension': True, 'servergroup': {'policies': 'soft-anti-affinity'}}
_NO_HOST = 'No suitable vSphere host is available.'
#: How long a second attach may take to ask Nova for the group that a first one asked for, in s.
_RACE = 8

_stories: list[Story] = []


def _story(title: str, mistake: int | None = None) -> Callable[[Any], Any]:
    def register(tell: Callable[[Stage], None]) -> Callable[[Stage], None]:
        _stories.append(Story(tell.__name__, title, tell, mistake))
        return tell

    return register


# -- document 003's scenarios as such ------------------------------------------------------------


@_story('S2: a group of its own; two nodes land on two hosts; detach deletes the group')
def group_of_its_own(stage: Stage) -> None:
    policy = stage.policy(servergroup={'policies': 'anti-affinity'})
    cluster, group = stage.bound(policy)
    stage.succeeds('the scale-out', stage.demo.scale_out(cluster, 2))
    stage.expect('the servers', {'cmp-1': 1, 'cmp-2': 1}, stage.truth.spread(group))
    stage.succeeds('the detach', stage.demo.detach(cluster, policy))
    stage.expect('the groups after the detach', [], stage.groups())


@_story('An availability_zone without DRS: the server is created in that zone')
def zone_alone(stage: Stage) -> None:
    cluster, group = stage.bound(stage.policy(servergroup={}, availability_zone='nova'))
    stage.succeeds('the scale-out', stage.demo.scale_out(cluster, 1))
    (server,) = stage.truth.members(group)
    asked = [
        entry['body']['server'].get('availability_zone')
        for entry in stage.cloud.requests()
        if entry['method'] == 'POST' and entry['path'].endswith('/servers')
    ]
    stage.expect('the zone that Nova was asked for', ['nova'], asked)
    stage.expect('the zone', 'nova', stage.truth.server(server).availability_zone)


@_story('A group of another policy is refused, and the reason names both policies')
def other_policy_refused(stage: Stage) -> None:
    group = stage.demo.create_group('together', 'affinity')
    policy = stage.policy(servergroup={'name': 'together', 'policies': 'anti-affinity'})
    attach = stage.demo.attach(stage.demo.cluster(), policy)
    stage.is_refused('the attach', attach, '(anti-affinity)', '(affinity)')
    stage.expect('the groups', [group], stage.groups())


# -- 1: attaching to an existing group fails on Nova 2.64 or newer


@_story("Attaching to an existing group by its name, on today's Nova", 1)
def existing_group_by_name(stage: Stage) -> None:
    group = stage.demo.create_group('web')
    policy = stage.policy(servergroup={'name': 'web'})
    cluster, bound = stage.bound(policy)
    stage.expect('the group', group, bound)
    stage.succeeds('the detach', stage.demo.detach(cluster, policy))
    stage.expect('the groups after the detach', [group], stage.groups())


# -- 2: DRS always fails, and would take hosts like kvm-hydra-01, and hosts that are down


def _drs(stage: Stage, *enabled: str) -> tuple[str, str]:
    """A cluster of the administrator's with DRS, and these hosts enabled: its id, its group's."""
    for host in enabled:
        stage.truth.enable(host)
    return stage.bound(stage.policy(stage.admin, **_DRS), stage.admin)


@_story('S3: two nodes are placed on the vSphere host with DRS', 2)
def drs_host(stage: Stage) -> None:
    cluster, group = _drs(stage, DRS_1)
    stage.succeeds('the resize', stage.admin.resize(cluster, 'EXACT_CAPACITY', 2))
    stage.expect('the servers', {DRS_1: 2}, stage.truth.spread(group))


@_story('S3: a host called kvm-hydra-01 is not taken for one with DRS', 2)
def drs_not_hydra(stage: Stage) -> None:
    cluster, group = _drs(stage, HYDRA)
    stage.is_refused('the resize', stage.admin.resize(cluster, 'EXACT_CAPACITY', 1), _NO_HOST)
    stage.expect('the servers', {}, stage.truth.spread(group))


@_story('S3: hosts that are disabled or down are passed over', 2)
def drs_dead_hosts(stage: Stage) -> None:
    cluster, group = _drs(stage, DRS_2)
    stage.succeeds('the resize', stage.admin.resize(cluster, 'EXACT_CAPACITY', 1))
    stage.expect('the servers', {DRS_2: 1}, stage.truth.spread(group))
    compute = stage.admin.compute
    (service,) = compute.services(binary='nova-compute', host=DRS_2)
    compute.update_service_forced_down(service, forced=True)
    resize = stage.admin.resize(cluster, 'EXACT_CAPACITY', 2)
    stage.is_refused('the resize without a host that is up', resize, _NO_HOST, 'down', 'disabled')


# -- 3: a node that is created straight into the cluster never gets the placement


@_story('A node that is created straight into the cluster joins the group', 3)
def node_joins(stage: Stage) -> None:
    cluster, group = stage.bound(stage.policy(servergroup={'policies': 'anti-affinity'}))
    node = stage.demo.node(cluster)
    stage.expect('the node', 'ACTIVE', node.status)
    is_member = node.physical_id in stage.truth.members(group)
    stage.expect('its server is in the group', True, is_member)


# -- 4: the group that the profile's hint names is never seen; a missing one is created


@_story("S1: the group that the profile's hint names is inherited, and stays", 4)
def hint_inherits(stage: Stage) -> None:
    group = stage.demo.create_group('hinted')
    policy = stage.policy(servergroup={'policies': 'anti-affinity'})
    cluster, bound = stage.bound(policy, scheduler_hints={'group': group})
    stage.expect('the group is the one of the hint', True, bound == group)
    stage.succeeds('the detach', stage.demo.detach(cluster, policy))
    stage.expect('the groups after the detach', [group], stage.groups())


@_story('S1: a hint that names no group is refused, and nothing is created', 4)
def hint_missing(stage: Stage) -> None:
    policy = stage.policy(servergroup={'policies': 'anti-affinity'})
    profile = stage.demo.profile(scheduler_hints={'group': 'nowhere'})
    attach = stage.demo.attach(stage.demo.cluster(profile), policy)
    stage.is_refused('the attach', attach, 'nowhere')
    stage.expect('the groups', [], stage.groups())


# -- 5: a spec without servergroup is accepted, and its attach crashes


@_story('A spec without servergroup attaches, with the default policy', 5)
def no_servergroup(stage: Stage) -> None:
    _cluster, group = stage.bound(stage.policy())
    policy = stage.truth.group_by_id(group).policy
    stage.expect('the policy of the group', 'anti-affinity', policy)


# -- 6: reasons are written where nobody reads them, and causes such as a quota are dropped


@_story('A resize that no host can take: the action says why', 6)
def reason_of_a_refusal(stage: Stage) -> None:
    stage.cloud.faults.add('/os-hypervisors', status=200, body={'hypervisors': []}, times=None)
    cluster, _group = _drs(stage)
    stage.is_refused('the resize', stage.admin.resize(cluster, 'EXACT_CAPACITY', 1), _NO_HOST)


@_story('The quota of server groups is used up: the reason names it', 6)
def reason_of_a_quota(stage: Stage) -> None:
    policy, cluster = stage.policy(servergroup={}), stage.demo.cluster()
    body = {'quota_set': {'server_groups': 0}}
    stage.admin.compute.put(f'/os-quota-sets/{DEMO.project.id}', json=body)
    stage.is_refused('the attach', stage.demo.attach(cluster, policy), 'quota')
    stage.expect('the groups', [], stage.groups())


@_story('A plain user may not see hypervisors: the reason says so', 6)
def reason_of_a_403(stage: Stage) -> None:
    cluster, _group = stage.bound(stage.policy(**_DRS))
    stage.is_refused('the resize', stage.demo.resize(cluster, 'EXACT_CAPACITY', 1), '403')


# -- 7: of two clusters with one group name, the first detach deletes the group of both


@_story('Two clusters, one group name: the first detach leaves the group to the second', 7)
def shared_name(stage: Stage) -> None:
    policy = stage.policy(servergroup={'name': 'shared'})
    first, group = stage.bound(policy)
    second, same = stage.bound(policy)
    stage.expect('both clusters have one group', True, group == same)
    stage.succeeds('the first detach', stage.demo.detach(first, policy))
    stage.expect('the groups after the first detach', [group], stage.groups())
    stage.succeeds('the scale-out of the second', stage.demo.scale_out(second, 1))
    stage.expect('the servers in it', 1, len(stage.truth.members(group)))


# -- 8: a failure leaks the group, a race makes two, and one beyond the first thousand is remade


@_story("Nova's answer to the creation is lost: attached in the end, and nothing is leaked", 8)
def lost_answer(stage: Stage) -> None:
    policy, cluster = stage.policy(servergroup={}), stage.demo.cluster()
    stage.cloud.faults.add('/os-server-groups$', method='POST', status=503, is_applied=True)
    if stage.demo.attach(cluster, policy).ended().status == 'FAILED':
        stage.succeeds('the second attach', stage.demo.attach(cluster, policy))
    stage.succeeds('the detach', stage.demo.detach(cluster, policy))
    stage.expect('the number of groups after the detach', 0, len(stage.groups()))


@_story('Two attaches of one name at the same moment make one group; a third one joins it', 8)
def simultaneous_attaches(stage: Stage) -> None:
    policy = stage.policy(servergroup={'name': 'raced'})
    clusters = [stage.demo.cluster() for _ in range(3)]
    post = {'method': 'POST', 'path': '/os-server-groups$'}
    stage.cloud.faults.add(**post, status=None, times=None, is_held=True)
    racing = [stage.demo.attach(cluster, policy) for cluster in clusters[:2]]
    with suppress(CloudError):  # ours asks but once: the second attach waits for the first
        stage.wait_for_requests(**post, count=2, deadline=_RACE)
    stage.cloud.faults.clear()
    for attach in racing:
        stage.succeeds('an attach', attach)
    stage.expect('the number of groups', 1, len(stage.groups()))
    stage.succeeds('the third attach', stage.demo.attach(clusters[2], policy))
    bound = {stage.demo.group_id(cluster, policy) for cluster in clusters}
    stage.expect('the group of all three', set(stage.groups()), bound)


@_story('A group beyond the first thousand is found', 8)
def beyond_the_first_page(stage: Stage) -> None:
    fillers = [stage.demo.create_group(f'filler-{number}') for number in range(PAGE)]
    try:
        group = stage.demo.create_group('the-last')
        policy = stage.policy(servergroup={'name': 'the-last'})
        _cluster, bound = stage.bound(policy)
        stage.expect('the group that exists is the one bound', True, bound == group)
    finally:
        for filler in fillers:
            stage.admin.compute.delete_server_group(filler)


@contextmanager
def _database(stage: Stage, name: str) -> Iterator[sqlite3.Connection]:
    """One of the cloud's databases; what is done in the block is committed at its end."""
    path = Path(stage.cloud.log_dir, f'{name}.sqlite')
    with closing(sqlite3.connect(path, timeout=DEADLINE)) as connection, connection:
        yield connection


# -- 9: with a binding of another version the detach says success, and leaks the group


@_story('A binding that a newer release wrote is read; its detach deletes the group', 9)
def newer_binding(stage: Stage) -> None:
    cluster, policy = _bound_with_version(stage, '9.9')
    scale_out = stage.demo.scale_out(cluster, 1).ended()
    _detach_deletes(stage, cluster, policy)
    stage.expect('the scale-out', 'SUCCEEDED', scale_out.status)


@_story("A binding with the document's version, the number 1.0, is read", 9)
def numbered_binding(stage: Stage) -> None:
    _detach_deletes(stage, *_bound_with_version(stage, 1.0))


def _bound_with_version(stage: Stage, version: str | float) -> tuple[str, str]:
    """A cluster and a policy whose binding was written by another release."""
    policy = stage.policy(servergroup={'policies': 'anti-affinity'})
    cluster, _group = stage.bound(policy)
    data = stage.demo.binding(cluster, policy)
    data['AffinityPolicy']['version'] = version
    with _database(stage, 'senlin') as rows:
        rows.execute(
            'UPDATE cluster_policy SET data = ? WHERE cluster_id = ?', (json.dumps(data), cluster)
        )
    assert stage.demo.binding(cluster, policy) == data
    return cluster, policy


def _detach_deletes(stage: Stage, cluster: str, policy: str) -> None:
    stage.succeeds('the detach', stage.demo.detach(cluster, policy))
    stage.expect('the number of groups after the detach', 0, len(stage.groups()))


# -- 10: a servergroup.name that is an unknown UUID makes a group that is named that UUID


@_story('servergroup.name is a UUID that no group has: refused, and nothing is created', 10)
def unknown_uuid(stage: Stage) -> None:
    unknown = str(uuid.uuid4())
    policy = stage.policy(servergroup={'name': unknown})
    attach = stage.demo.attach(stage.demo.cluster(), policy)
    stage.is_refused('the attach', attach, unknown)
    stage.expect('the groups', [], stage.groups())


# -- 11: an invalid spec is a 500, and a string count a crash


@_story('An invalid spec is answered with 400', 11)
def invalid_spec(stage: Stage) -> None:
    for wrong in ({'policies': 'apart'}, {'rule': {}}):
        status = None
        try:
            stage.policy(servergroup=wrong)
        except HttpException as error:
            status = error.status_code
        stage.expect(f'the answer to {wrong}', 400, status)


@_story("A receiver's count is the string '2': two nodes are created", 11)
def count_as_string(stage: Stage) -> None:
    cluster, group = stage.bound(stage.policy(servergroup={}))
    hook = {'name': 'hook', 'type': 'webhook', 'action': 'CLUSTER_SCALE_OUT'}
    receiver = stage.demo.clustering.create_receiver(
        **hook, cluster_id=cluster, params={'count': '2'}
    )
    answer = requests.post(receiver.channel['alarm_url'], timeout=DEADLINE)
    stage.succeeds('the scale-out', stage.demo.running(answer.json()['action']))
    stage.expect('the servers in the group', 2, len(stage.truth.members(group)))


# -- 12: a cancel that arrives while the hook lists hypervisors is undone by the hook's own store


@_story('A resize is cancelled by force while the policy lists hypervisors: it does not go on', 12)
def cancel_in_the_hook(stage: Stage) -> None:
    cluster, _group = _drs(stage, DRS_1)
    stage.cloud.clear_requests()
    stage.cloud.faults.add('/os-hypervisors', status=None, times=None, is_held=True)
    resize = stage.admin.resize(cluster, 'EXACT_CAPACITY', 1)
    stage.wait_for_requests('GET', '/os-hypervisors', count=1)
    stage.admin.clustering.patch(
        f'/actions/{resize.id}',
        params={'force': 'true'},
        json={'action': {'status': 'CANCELLED'}},
        microversion='1.12',
    )
    stage.expect('the action, cancelled', 'CANCELLED', resize.ended().status)
    stage.cloud.faults.clear()

    def written() -> dict[str, Any] | None:
        action = resize.read()
        is_new = 'placement' in (action['data'] or {}) or action['status'] != 'CANCELLED'
        return action if is_new else None

    action = wait_for('the end of the hook', written)
    # The engine marks it FAILED when the policy stops it, and would go on with it otherwise.
    if 'placement' in (action['data'] or {}) or 'cancelled' not in action['status_reason']:
        raise Mismatch(f'the cancelled action is {action["status"]}: {action["status_reason"]}')
    stage.expect('the nodes', [], stage.admin.nodes(cluster))


# -- 13: attaching with enabled=False creates a group, which nobody is told


@_story('Attached with enabled=False: the group is created, and the log says so', 13)
def attached_disabled(stage: Stage) -> None:
    policy, cluster = stage.policy(servergroup={}), stage.demo.cluster()
    attach = stage.demo.attach(cluster, policy, enabled=False)
    stage.succeeds('the attach', attach)
    (group,) = stage.groups()
    stage.expect('the group is bound', True, stage.demo.group_id(cluster, policy) == group)
    log = Path(stage.cloud.log_dir, 'senlin.log').read_text(encoding='utf-8')
    lines = [line for line in log.splitlines() if group in line and 'disabled' in line]
    stage.expect('lines of the log about it', 1, len(lines))


STORIES = tuple(_stories)
