"""The stage of the stories: a real cloud, a policy under test, and a clean floor after each story.

The way of the data: a story asks the real Senlin for something, through the version of the affinity
policy that is under test, and compares what Nova and Senlin then have with what the policy's
document says. The first difference ends it: that is its :class:`Outcome`.

Shapes::

    Theatre(cloud).play(story, '1.0') == Outcome(False, 'the attach: expected ..., seen ...')

Errors: only a difference makes a story fail; anything else (Senlin does not answer, a deadline) is
raised.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from senlin_affinity.sandbox.demo.stage import DEADLINE, ENDED, Ended, Running, wait_for
from senlin_affinity.sandbox.identities import DEMO
from tests.support.cloud_fixtures import Tenant, Truth
from tests.support.sandbox import SandboxCloud

IN_TREE = '1.0'
OURS = '1.1'

HYDRA = 'kvm-hydra-01'
DRS_1, DRS_2 = 'vsphere-drs-1', 'vsphere-drs-2'
_VSPHERE = {'hypervisor_type': 'VMware vCenter Server', 'disabled': True}
#: All in the zone "nova"; the hosts of the DRS stories are disabled until a story enables them.
HOSTS = {'cmp-1': {}, 'cmp-2': {}, HYDRA: {'disabled': True}, DRS_1: _VSPHERE, DRS_2: _VSPHERE}
#: Nova gives at most so many server groups at once: 1000 by itself, which take a minute to make.
PAGE = 50
CLOUD = {'hosts': HOSTS, 'senlin': True, 'nova_options': {'api': {'max_limit': PAGE}}}

_UUID = re.compile(r'[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}')
_OWN_NAME = re.compile(r'\b(policy|cluster)-\d+-[0-9a-f]{6}\b')
_REQUEST_ID = re.compile(r',? ?\(?(?:request id )?req-<id>\)?')


class Mismatch(Exception):
    """What was seen is not what the document says."""


@dataclass(frozen=True)
class Outcome:
    """How a story ended; ``line`` says what was seen instead, and is empty where it passed."""

    is_passed: bool
    line: str = ''


@dataclass(frozen=True)
class Story:
    """``mistake`` is the number of the in-tree policy's mistake that it is about, if any."""

    name: str
    title: str
    tell: Callable[[Stage], None]
    mistake: int | None = None


@dataclass(frozen=True)
class Stage:
    """One version of the policy on a cloud, and what a story does with it."""

    cloud: SandboxCloud
    demo: Tenant
    admin: Tenant
    truth: Truth
    version: str

    # -- what stories say

    def expect(self, what: str, wanted: object, seen: object) -> None:
        """End the story here if the two differ."""
        if wanted != seen:
            raise Mismatch(f'{what}: expected {wanted}, seen {seen}')

    def succeeds(self, what: str, running: Running) -> Ended:
        """Wait for an action, which must end well."""
        ended = running.ended()
        if ended.status != 'SUCCEEDED':
            raise Mismatch(f'{what} {ended.status}: {ended.reason}')
        return ended

    def is_refused(self, what: str, running: Running, *words: str) -> None:
        """Wait for an action, which must fail with a reason that holds these words."""
        ended = running.ended()
        if ended.status != 'FAILED':
            raise Mismatch(f'{what} {ended.status}: expected a refusal')
        for word in words:
            if word not in ended.reason:
                raise Mismatch(f'{what}: the reason does not say "{word}": {ended.reason!r}')

    # -- what they do

    def policy(self, who: Tenant | None = None, **properties: Any) -> str:
        """Create a policy of the version under test, the demo user's if nobody else's; its id."""
        return (who or self.demo).policy(self.version, **properties)

    def bound(self, policy: str, who: Tenant | None = None, **profile: Any) -> tuple[str, str]:
        """A new cluster with the policy on it: the ids of the cluster and of its group."""
        who = who or self.demo
        cluster = who.cluster(who.profile(**profile))
        self.succeeds('the attach', who.attach(cluster, policy))
        return cluster, who.group_id(cluster, policy)

    def groups(self) -> list[str]:
        """The ids of all server groups."""
        return [group.id for group in self.admin.compute.server_groups(all_projects=True)]

    def wait_for_requests(
        self, method: str, path: str, count: int, deadline: float = DEADLINE
    ) -> None:
        """Wait until Nova has been sent so many requests of this kind."""

        def seen() -> int:
            asked = [each['path'] for each in self.cloud.requests() if each['method'] == method]
            return sum(bool(re.search(path, each)) for each in asked)

        wait_for(f'{count} {method} {path}', lambda: seen() >= count, deadline)


class Theatre:
    """A cloud on which one story after the other is told."""

    def __init__(self, cloud: SandboxCloud) -> None:
        admin = cloud.connection()
        self._cloud = cloud
        self._demo = Tenant(cloud.connection('demo'))
        self._admin = Tenant(admin)
        self._truth = Truth(admin)
        self._leaving: set[str] = set()

    def play(self, story: Story, version: str) -> Outcome:
        """Tell one story, and sweep."""
        stage = Stage(self._cloud, self._demo, self._admin, self._truth, version)
        self._cloud.clear_requests()
        try:
            story.tell(stage)
        except Mismatch as mismatch:
            return Outcome(False, without_ids(str(mismatch)))
        finally:
            self._sweep()
        return Outcome(True)

    def _sweep(self) -> None:
        """Remove what a story left, of everything that the next one would stumble over.

        Clusters and their servers, which are in nobody's way, are removed while it goes on.
        """
        self._cloud.faults.clear()
        for tenant in (self._demo, self._admin):
            self._remove_clusters(tenant)
        compute = self._admin.compute
        compute.delete(f'/os-quota-sets/{DEMO.project.id}')
        for service in compute.services(binary='nova-compute'):
            if service.is_forced_down:
                compute.update_service_forced_down(service, forced=False)
            if service.status == 'enabled' and HOSTS[service.host].get('disabled'):
                self._truth.disable(service.host)
        for group in compute.server_groups(all_projects=True):
            compute.delete_server_group(group.id)

    def _remove_clusters(self, tenant: Tenant) -> None:
        clustering = tenant.clustering
        for receiver in clustering.receivers():
            clustering.delete_receiver(receiver.id)
        clusters = {cluster.id for cluster in clustering.clusters()} - self._leaving
        wait_for('all actions to end', lambda: _is_idle(tenant, clusters))
        for cluster in clusters:
            clustering.delete_cluster(cluster, force_delete=True)
            self._leaving.add(cluster)


def _is_idle(tenant: Tenant, clusters: Collection[str]) -> bool:
    """Whether no action of these clusters is on its way."""
    return all(
        action.status in ENDED
        for action in tenant.clustering.actions()
        if action.cluster_id in clusters or action.target_id in clusters
    )


def without_ids(text: str) -> str:
    """The same words for the same happening: no ids, names or addresses of this one run."""
    text = _UUID.sub('<id>', ' '.join(text.split()))
    text = re.sub(r'http://127\.0\.0\.1:\d+', '', text)
    return _OWN_NAME.sub(r'<\1>', _REQUEST_ID.sub('', text))
