"""Generate small clouds without unknown parts, and requests."""

from hypothesis import strategies as st

from senlin_affinity.model.cloud import Aggregate, Cloud, Quota
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.server_group import (
    AFFINITY,
    ANTI_AFFINITY,
    SOFT_AFFINITY,
    SOFT_ANTI_AFFINITY,
    Member,
    ServerGroup,
)
from tests.support.asked import NamedRequest
from tests.support.values import replace

NAMES = ('cmp-1', 'cmp-2', 'cmp-3', 'cmp-4', 'cmp-5')
#: Every zone has an aggregate; Nova does not enforce the default zone.
ZONES = ('az-1', 'az-2')
AGGREGATES = (Aggregate('1', 'one', 'az-1'), Aggregate('2', 'two', 'az-2'))
TRAITS = ('CUSTOM_A', 'CUSTOM_B')
POLICIES = (ANTI_AFFINITY, ANTI_AFFINITY, AFFINITY, SOFT_AFFINITY, SOFT_ANTI_AFFINITY)
MOSTLY = st.sampled_from([True, True, True, False])


@st.composite
def hosts(draw, name):
    zone = draw(st.sampled_from(ZONES))
    fenced = draw(st.sampled_from([(), (), (), ('fenced',)]))
    free = draw(st.integers(0, 5))
    used = draw(st.integers(0, 3))
    resources = {
        'VCPU': Resource(free + used, used),
        'MEMORY_MB': Resource(512 * draw(st.integers(0, 6)), 0, draw(st.sampled_from([None, 512]))),
        'DISK_GB': Resource(20, draw(st.integers(0, 20)), None, draw(st.sampled_from([1, 1, 2]))),
    }
    if draw(st.booleans()):
        resources['CUSTOM_GPU'] = Resource(draw(st.integers(0, 3)), 0)
    aggregates = frozenset({str(ZONES.index(zone) + 1), *fenced})
    enabled, up = draw(MOSTLY), draw(MOSTLY)
    traits = frozenset(draw(st.sets(st.sampled_from(TRAITS))))
    return Host(name, name, 'QEMU', zone, enabled, up, aggregates, traits, resources)


@st.composite
def groups(draw, policies=POLICIES):
    policy = draw(st.sampled_from(policies))
    limit = draw(st.none() | st.integers(1, 4)) if policy == ANTI_AFFINITY else None
    found = draw(st.lists(st.sampled_from(NAMES), max_size=5))
    members = tuple(Member(f'old-{number}', host) for number, host in enumerate(found))
    rules = {} if limit is None else {'max_server_per_host': limit}
    return ServerGroup('g', 'web', policy, rules, members)


FLAVORS = st.builds(
    Flavor,
    st.just('f'),
    st.just('small'),
    st.integers(1, 2),
    st.sampled_from([256, 512]),
    st.integers(0, 3),
    extra_specs=st.fixed_dictionaries(
        {},
        optional={
            'trait:CUSTOM_A': st.sampled_from(['required', 'forbidden']),
            'trait:CUSTOM_B': st.just('forbidden'),
            'resources:CUSTOM_GPU': st.sampled_from(['0', '1']),
        },
    ),
)
QUOTAS = st.fixed_dictionaries(
    {
        'instances': st.builds(Quota, st.none() | st.integers(0, 20), st.integers(0, 5)),
        'cores': st.builds(Quota, st.none() | st.integers(0, 30), st.integers(0, 5)),
        'ram': st.builds(Quota, st.none() | st.integers(0, 9000), st.integers(0, 600)),
        'server_group_members': st.builds(Quota, st.none() | st.integers(2, 12)),
    }
)


@st.composite
def clouds(draw, policies=POLICIES, with_quotas=MOSTLY):
    """Generate a snapshot, and a request whose names exist in it."""
    found = draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1))
    built = tuple(draw(hosts(name)) for name in found)
    group = draw(groups(policies) if policies else st.none())
    quotas = draw(QUOTAS) if draw(with_quotas) else {}
    snapshot = Cloud(built, AGGREGATES, (draw(FLAVORS),), () if group is None else (group,), quotas)
    zone = draw(st.sampled_from([None, None, *ZONES]))
    request = NamedRequest(draw(st.integers(0, 12)), 'f', None if group is None else 'g', zone)
    return request, snapshot


@st.composite
def hidden(draw, snapshot):
    """Generate the same cloud with some parts unknown."""
    changed = {}
    for part in ('hosts', 'flavors', 'server_groups', 'quotas'):
        if draw(st.sampled_from([True, False, False, False])):
            changed[part] = None
    for host in snapshot.hosts if 'hosts' not in changed else ():
        resources = host.resources if draw(MOSTLY) else None
        zone = host.availability_zone if draw(MOSTLY) else None
        host = replace(host, resources=resources, availability_zone=zone)
        changed['hosts'] = (*changed.get('hosts', ()), host)
    for group in snapshot.server_groups if 'server_groups' not in changed else ():
        members = (each if draw(MOSTLY) else replace(each, host=None) for each in group.members)
        changed['server_groups'] = (replace(group, members=tuple(members)),)
    return replace(snapshot, availability_zones=frozenset(ZONES), **changed)
