"""One case: what the preflight says, and what the real scheduler then does, server by server.

The way of the data: a case becomes a sandbox; its servers of before are put on their hosts; a
snapshot is taken and planned; then servers are asked for, one after the other, until one finds no
host or a quota refuses it. Both numbers go out as a :class:`Result`.

Units: numbers of servers; deadlines in seconds.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from openstack import exceptions as sdk

from senlin_affinity import preflight
from senlin_affinity.core.objects import PlacementRequest
from senlin_affinity.sandbox.cloud import SandboxCloud
from tests.accuracy import clouds
from tests.support import waiting

FILTER = 'senlin_affinity.plugins.nova_filter.AggregateInstanceTypeFilter'
GROUP = 'asked'
#: More than there can be room for.
TOO_MANY = clouds.MOST_ROOM + 6


@dataclasses.dataclass(frozen=True)
class Result:
    """``capacity`` is what was said, ``placed`` what really came."""

    seed: int
    capacity: int | None
    is_at_most: bool
    placed: int
    line: str

    @property
    def is_right(self) -> bool:
        """No false refusal, and equality unless it was marked "at most"."""
        if self.capacity is None or self.placed > self.capacity:
            return False
        return self.is_at_most or self.placed == self.capacity

    def __str__(self) -> str:
        said = f'{"at most " if self.is_at_most else ""}{self.capacity}'
        return f'cloud {self.seed}: said {said}, placed {self.placed} ({self.line})'


def compare(case: clouds.Case) -> Result:
    """Make this cloud, ask, and try."""
    with SandboxCloud(
        case.hosts,
        filters=case.filters,
        available_filters=(FILTER,),
        aggregates=case.aggregates,
        flavors=case.flavors,
        quotas=case.quotas,
        nova_options=case.nova_options,
    ) as cloud:
        admin = _Nova(cloud)
        try:
            return _compare(case, admin)
        except AssertionError as error:
            raise AssertionError(f'cloud {case.seed}: {error}\n{cloud.logs()}') from error


def _compare(case: clouds.Case, nova: _Nova) -> Result:
    nova.set_traits(case.traits)
    group = None if case.policy is None else nova.create_group(case.policy, case.rules)
    for host in case.members:
        nova.put('plain', group, host)
    for host in case.others:
        nova.put('plain', None, host)
    known = {'enabled_filters': case.filters, 'image_properties': {}}
    if not case.is_image_known:
        known['image_properties'] = None
    request = PlacementRequest(TOO_MANY, 'asked', group, case.zone, **known)
    # As a snapshot that is saved, or as the command and the hook take it.
    groups = None if case.seed % 2 else () if group is None else (group,)
    snapshot = preflight.take_snapshot(nova.connection, server_groups=groups)
    decision = preflight.plan(request, snapshot, rules=case.preflight)
    placed = 0
    while placed <= TOO_MANY and nova.is_placed('asked', group, case.zone):
        placed += 1
    return Result(
        case.seed, decision.capacity, decision.capacity_is_upper_bound, placed, decision.line()
    )


class _Nova:
    """The real Nova and Placement of a sandbox, as an administrator."""

    def __init__(self, cloud: SandboxCloud) -> None:
        self.connection = cloud.connection()
        self._compute = self.connection.compute
        self._image = cloud.image_id
        self._flavors = {item.name: item.id for item in self._compute.flavors()}

    def create_group(self, policy: str, rules: dict[str, int]) -> str:
        more = {'rules': rules} if rules else {}
        group = self._compute.create_server_group(name=GROUP, policy=policy, **more)
        return str(group.id)

    def set_traits(self, traits: dict[str, tuple[str, ...]]) -> None:
        """Give the hosts' providers traits beside those that Nova keeps there."""
        placement = self.connection.placement
        version = {'microversion': '1.6'}
        for trait in (clouds.FAST, clouds.LICENSED):
            placement.put(f'/traits/{trait}', **version)
        providers = placement.get('/resource_providers', **version).json()['resource_providers']
        for provider in providers:
            path = f'/resource_providers/{provider["uuid"]}/traits'
            known = placement.get(path, **version).json()
            wanted = traits.get(provider['name'], ())
            body = {**known, 'traits': sorted({*known['traits'], *wanted})}
            placement.put(path, json=body, **version).raise_for_status()

    def put(self, flavor: str, group: str | None, host: str) -> None:
        """A server on this host, whatever the scheduler would say."""
        server = self._create(flavor, group, f'nova:{host}')
        assert self._ended(server) == 'ACTIVE', f'{host} does not take a server of before'

    def is_placed(self, flavor: str, group: str | None, zone: str | None) -> bool:
        """Ask for one server more: does it find a host?"""
        try:
            server = self._create(flavor, group, zone)
        except sdk.ForbiddenException:  # a quota
            return False
        except sdk.BadRequestException as error:  # every host of the zone is disabled
            if 'requested availability zone is not available' in str(error):
                return False
            raise
        return self._ended(server) == 'ACTIVE'

    def _create(self, flavor: str, group: str | None, zone: str | None) -> Any:
        more = {} if zone is None else {'availability_zone': zone}
        image = {'imageRef': self._image, 'networks': 'none'}
        body = {'name': 'server', 'flavorRef': self._flavors[flavor], **image, **more}
        hints = {} if group is None else {'os:scheduler_hints': {'group': group}}
        request = {'server': body, **hints}
        answer = self._compute.post('/servers', json=request, microversion='2.37')
        sdk.raise_from_response(answer)
        return answer.json()['server']['id']

    def _ended(self, server: str) -> str:
        def status() -> str | None:
            found = self._compute.get(f'/servers/{server}', microversion='2.37').json()['server']
            return found['status'] if found['status'] in ('ACTIVE', 'ERROR') else None

        return str(waiting.until(status, 60, f'server {server}'))
