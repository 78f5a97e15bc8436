"""Build the small clouds of the planner's tables from their rows.

Shapes::

    hosts: {cmp-1: {zone: az-1, free: 4}, cmp-2: {disabled: true}}     null: unknown
    hosts: {node-1: {host: cmp-1}, node-2: {host: cmp-1}}              two hypervisors of one host
    group: {policy: anti-affinity, rules: {max_server_per_host: 2}, members: [cmp-1, cmp-1, null]}
    quotas: {instances: [10, 4], cores: [null, 7]}                     limit (null: none) and used
    flavor: {vcpus: 2, extra_specs: {...}}                             null: unknown
    request: {count: 6, availability_zone: az-1, spread: [{by: rack, max_skew: 2}]}
    request: {image_properties: null}                  unknown; default: an image without any
    pools: {nfs: {DISK_GB: [9, 0]}}                    of hosts with {DISK_GB: {..., pool: nfs}}
    project: ours                                      of the snapshot; a group may have one

Units: ``free`` is a number of servers of the flavor ``small``, of 1 VCPU, 512 MiB and 1 GB; a host
has room for 10 of them unless its row says otherwise. A resource is [capacity, used], perhaps with
max_unit and step_size.
"""

from typing import ClassVar

from senlin_affinity.constraints.aggregate_metadata import AggregateMetadataConstraint
from senlin_affinity.constraints.availability_zone import AvailabilityZoneConstraint
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.constraints.drs import DrsConstraint
from senlin_affinity.constraints.host_state import HostStateConstraint
from senlin_affinity.constraints.member_of import MemberOfConstraint
from senlin_affinity.constraints.quota import QuotaConstraint
from senlin_affinity.constraints.reservations import ReservationsConstraint
from senlin_affinity.constraints.resources import ResourcesConstraint
from senlin_affinity.constraints.scheduler_hints import SchedulerHintsConstraint
from senlin_affinity.constraints.server_group import ServerGroupConstraint
from senlin_affinity.constraints.spread import SpreadConstraint
from senlin_affinity.constraints.traits import TraitsConstraint
from senlin_affinity.model.cloud import Aggregate, Cloud, Flavor, Quota
from senlin_affinity.model.host import CandidateCapacity, Host, Resource
from senlin_affinity.model.image import Image
from senlin_affinity.model.request import FILTERS
from senlin_affinity.model.server_group import Member, ServerGroup
from senlin_affinity.model.spread import Spread
from senlin_affinity.model.verdict import Reason, Verdict
from senlin_affinity.nova import candidate_query
from tests.support.asked import Given, NamedRequest
from tests.support.values import replace

GROUP = 'web'


def flavor_of(given):
    values = {'id': 'f', 'name': 'small', 'vcpus': 1, 'ram': 512, 'disk': 1}
    return Flavor(**(values | (given or {})))


def flavors_of(row):
    """Return the requested flavor, and others by their names."""
    if row.get('flavor', {}) is None:
        return None
    others = row.get('flavors', {}).items()
    more = (flavor_of({'id': name, 'name': name, **each}) for name, each in others)
    return (flavor_of(row.get('flavor')), *more)


def resources_of(given, free):
    if given is None:
        given = {'VCPU': [free, 0], 'MEMORY_MB': [512 * free, 0], 'DISK_GB': [free, 0]}
    return {
        name: Resource(*each) if isinstance(each, list) else Resource(**each)
        for name, each in given.items()
    }


def host_of(name, given):
    given = given or {}
    is_known = given.get('resources', {}) is not None
    return Host(
        given.get('host', name),
        given.get('hypervisor', name),
        given.get('type', 'QEMU'),
        availability_zone=given.get('zone', 'nova'),
        enabled=not given.get('disabled', False),
        up=not given.get('down', False),
        aggregates=frozenset(given.get('aggregates', ())),
        traits=frozenset(given.get('traits', ())),
        resources=resources_of(given.get('resources'), given.get('free', 10)) if is_known else None,
        is_nested=given.get('nested', False),
        is_partial=given.get('partial', False),
        servers=given.get('servers'),
        unmirrored=frozenset(given.get('unmirrored', ())),
        stale_aggregates=frozenset(given.get('stale', ())),
        disabled_reason=given.get('reason'),
    )


def hosts_of(given):
    if given is None:
        return None
    return tuple(host_of(name, each) for name, each in given.items())


def group_of(given, identity='g'):
    if given is None:
        return None
    members = tuple(
        Member(f'old-{number}', *each) if isinstance(each, list) else Member(f'old-{number}', each)
        for number, each in enumerate(given.get('members', ()))
    )
    rules, project = given.get('rules', {}), given.get('project')
    return ServerGroup(identity, GROUP, given['policy'], rules, members, project)


def granted(asked, given, *, is_whole=True):
    """Return the request with Placement's answer: [room, certain] of hosts, [] without a candidate.

    :param given: the hosts by their names, each with optional ``grants``.
    """
    query = candidate_query.query(*asked)
    if not any('grants' in (each or {}) for each in given.values()):
        return asked
    hosts = []
    for host in asked.cloud.hosts:
        grants = (given.get(host.host) or {}).get('grants')
        of_host = (CandidateCapacity(query, *grants),) if grants else ()
        hosts.append(host.but(grants=None if grants is None else of_host))
    if not is_whole:
        hosts.append(Host('in-it', 'in-it', grants=(CandidateCapacity(query, 1, 1),)))
    answered = frozenset([query] if is_whole else ())
    return asked.but(cloud=replace(asked.cloud, hosts=tuple(hosts), answered=answered))


def quotas_of(given):
    if given is None:
        return None
    return {name: Quota(limit, used) for name, (limit, used) in given.items()}


def servers_of(row):
    """Return the servers that scheduler hints name, with their hosts."""
    return tuple(Member(server, **place) for server, place in row.get('servers', {}).items())


def aggregates_of(given):
    if given is None:
        return None
    return tuple(
        Aggregate(name, name, each.get('zone'), each.get('metadata', {}))
        for name, each in given.items()
    )


def pools_of(row):
    return {name: resources_of(each, 0) for name, each in row.get('pools', {}).items()}


def snapshot_of(row):
    """Return the cloud of a row; omitted parts are known, and empty or unlimited."""
    group = row.get('group')
    groups = () if group is None else (group_of(group),)
    zones = row.get('availability_zones')
    return Cloud(
        hosts=hosts_of(row.get('hosts', {})),
        aggregates=aggregates_of(row.get('aggregates', {})),
        flavors=flavors_of(row),
        server_groups=groups if row.get('groups_are_known', True) else None,
        quotas=quotas_of(row.get('quotas')),
        availability_zones=None if zones is None else frozenset(zones),
        project_id=row.get('project'),
        pools=pools_of(row),
        servers=servers_of(row),
        compared_aggregates=compared_of(row) if row.get('compared', True) else frozenset(),
    )


def compared_of(row):
    """Return the compared sets of aggregates: each one, and those of each zone."""
    aggregates = aggregates_of(row.get('aggregates', {})) or ()
    zones = {each.availability_zone for each in aggregates} - {None}
    of_zones = ([each.uuid for each in aggregates if each.availability_zone == zone]
                for zone in zones)  # fmt: skip
    return frozenset(map(frozenset, [*([each.uuid] for each in aggregates), *of_zones]))


def request_of(row):
    """Return the request of a row, with its group if it has one."""
    given = {'count': 1, 'flavor': 'f', **row.get('request', {})}
    if 'group' in row:
        given.setdefault('server_group', 'g')
    given.setdefault('image_properties', {})
    given['member_of'] = tuple(given.get('member_of', ()))
    given['spread'] = tuple(Spread(**each) for each in given.get('spread', ()))
    if 'enabled_filters' in given:
        given['enabled_filters'] = tuple(given['enabled_filters'])
    if given.get('image') is not None:
        given['image'] = Image(**given['image'])
    return NamedRequest(**given)


def rules_of(row):
    """Return the rules of a row; every option is specified, unless the row has ``unspecified``."""
    rules = Given.of(**row.get('rules', {}))
    keys = (option.key for each in CONSTRAINTS for option in each.options)
    return replace(rules, explicit=frozenset(() if row.get('unspecified') else (FILTERS, *keys)))


class Fence(Constraint):
    """A constraint of another package: no host in aggregates whose names begin with ``fenced``."""

    name = 'fence'
    order = 50
    summary = 'no host behind a fence'
    needs = ('hosts',)
    filters = ('FenceFilter',)
    reads = ('aggregates',)
    is_waivable = True
    reasons: ClassVar = {
        'fence.open': Reason('there is no fence'),
        'fence.forbidden': Reason('in {aggregates}, which is fenced', advice='open the fence'),
    }

    def check(self, asked, host, cloud):
        fenced = sorted(name for name in host.aggregates if name.startswith('fenced'))
        if fenced:
            return Verdict.rejected('fence.forbidden', aggregates=', '.join(fenced))
        return Verdict.skipped('fence.open')


#: The constraints of the planner's rows, in the order of their reasons.
CONSTRAINTS = tuple(
    sorted(
        (
            HostStateConstraint(),
            AvailabilityZoneConstraint(),
            DrsConstraint(),
            TraitsConstraint(),
            SchedulerHintsConstraint(),
            ServerGroupConstraint(),
            SpreadConstraint(),
            ResourcesConstraint(),
            QuotaConstraint(),
            Fence(),
            MemberOfConstraint(),
            AggregateMetadataConstraint(),
            ReservationsConstraint(),
        ),
        key=lambda constraint: constraint.order,
    )
)
