"""A tenant's report reveals only what a trial shows."""

from hypothesis import given, settings
from hypothesis import strategies as st

from senlin_affinity import engine
from senlin_affinity.answers import disclosure
from senlin_affinity.engine.evaluation import evaluate
from senlin_affinity.model.cloud import Flavor
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.scheduler_hints import OF_SERVERS
from senlin_affinity.model.server_group import AFFINITY, ANTI_AFFINITY, Member
from senlin_affinity.model.server_group import POLICIES as EVERY_POLICY
from senlin_affinity.model.spread import Spread
from tests.property.cloud_strategies import MOSTLY, NAMES, ZONES, clouds
from tests.property.test_remedy_laws import MORE_FLAVORS
from tests.support.asked import resolve
from tests.support.small_cloud import CONSTRAINTS, request_of, snapshot_of
from tests.support.values import replace

SPREADS = st.sampled_from([(), (), (Spread('availability_zone'),)])
POLICIES, SELDOM = (ANTI_AFFINITY, ANTI_AFFINITY, AFFINITY), st.sampled_from([False] * 3 + [True])
MEMBER_OF = st.sampled_from([(), (), ('one',), ('!two',)])
SERVER = '10000000-0000-4000-8000-000000000001'
HINTS = st.sampled_from([{}, {}, {}, {'same_host': SERVER}, {'different_host': [SERVER]}])
FLAVOR = Flavor('f', 'small', 2, 512, 1)
FULL = {name: Resource(9, 9) for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')}
#: Reasons to reject a host, which a tenant cannot distinguish.
CLOSED = (
    {'enabled': False},
    {'up': False},
    {'resources': FULL},
    {'resources': {**FULL, 'VCPU': Resource(0, 0)}},
    {'aggregates': frozenset({'fenced'}), 'up': False},
)


def resources_for(free):
    return {
        'VCPU': Resource(2 * free, 0),
        'MEMORY_MB': Resource(512 * free, 0),
        'DISK_GB': Resource(99, 0),
    }


@st.composite
def questions(draw):
    """Generate a tenant's request: flavors, a group with members, quotas, a zone and a spread.

    Most hosts accept servers, so that the tenant's own requirements matter as well.
    """
    request, snapshot = draw(clouds(POLICIES, SELDOM) | clouds(None, SELDOM))
    rooms = st.none() | st.sampled_from([0, 1, 3, 3, 99])
    hosts = [
        host if room is None else host.but(enabled=True, up=True, resources=resources_for(room))
        for host, room in ((host, draw(rooms)) for host in snapshot.hosts)
    ]
    flavor = draw(st.sampled_from([FLAVOR, FLAVOR, *snapshot.flavors]))
    snapshot = replace(snapshot, hosts=tuple(hosts), flavors=(flavor, *MORE_FLAVORS))
    spread, member_of = draw(SPREADS), draw(MEMBER_OF)
    zone = None if spread else request.availability_zone
    host = draw(st.sampled_from([None, None, *NAMES]))
    snapshot = replace(
        snapshot, servers=(Member(SERVER, host, state='ACTIVE' if host else 'ERROR'),)
    )
    own = {'spread': spread, 'member_of': member_of, 'availability_zone': zone}
    own |= {'scheduler_hints': draw(HINTS), 'enabled_filters': (*OF_SERVERS.values(),)}
    count = draw(st.integers(1, 6))
    return replace(request, count=count, image_properties={}, **own), snapshot


@st.composite
def others(draw, snapshot):
    """Generate clouds that are equal for the tenant, with other hosts or other usage."""
    is_wild = draw(SELDOM)
    hosts = [draw(changed(host, is_wild)) for host in snapshot.hosts]
    for number in range(draw(st.integers(0, 3))):
        zone = draw(st.sampled_from(ZONES))
        uuid = str(ZONES.index(zone) + 1)
        more = Host(f'new-{number}', '', 'QEMU', zone, aggregates=frozenset({uuid}), resources=FULL)
        hosts.append(more.but(**draw(st.sampled_from(CLOSED))))
    return replace(snapshot, hosts=tuple(hosts))


@st.composite
def changed(draw, host, is_wild):
    """Generate a host with other usage; unless ``is_wild``, no trial shows the difference."""
    room = host.resources['VCPU'].capacity
    if is_wild:
        name = draw(st.sampled_from(['VCPU', 'MEMORY_MB', 'DISK_GB']))
        has = host.resources[name]
        used = draw(st.integers(0, has.capacity))
        host = host.but(resources={**host.resources, name: replace(has, used=used)})
        return host.but(traits=frozenset()) if draw(MOSTLY) else host
    if not room or not host.enabled or not host.up:
        return host.but(**draw(st.sampled_from(CLOSED)))
    return host.but(resources=resources_for(9999)) if room > 99 else host


def trial_results(request, snapshot):
    """Yield the results of trials: as requested, and with one own requirement changed."""

    def count(group=None, **changed):
        asked = replace(request, **changed)
        if group is not None:
            known = replace(snapshot, server_groups=(*snapshot.server_groups, group))
            asked = replace(asked, server_group=group.id)
        else:
            known = snapshot
        capacity = evaluate(*resolve(asked, known).planned, CONSTRAINTS).capacity
        return min(capacity or 0, request.count)

    yield count()
    yield from (count(availability_zone=zone, spread=()) for zone in (None, *ZONES))
    yield from (count(flavor=each.id) for each in MORE_FLAVORS)
    yield count(spread=())
    yield count(member_of=())
    yield count(scheduler_hints={})
    yield count(server_group=None)
    for group in snapshot.server_groups:
        new = replace(group, id='new', name='new', members=())
        yield count(group=new)
        if group.policy == ANTI_AFFINITY:
            for limit in range(1, request.count + 5):
                yield count(group=replace(new, rules={'max_server_per_host': limit}))
        yield count(group=replace(new, policy=f'soft-{group.policy}', rules={}))


def report_line(request, snapshot):
    resolved = resolve(request, snapshot)
    decision = engine.plan(*resolved.planned, CONSTRAINTS)
    if decision.fits is not False:
        return None
    return disclosure.tenant_report(decision, *resolved, CONSTRAINTS).line()


@settings(max_examples=settings.default.max_examples * 3 // 5)
@given(st.data())
def test_equal_trial_results_give_equal_reports(data):
    request, snapshot = data.draw(questions())
    line_by_results = {}
    for cloud in (snapshot, *(data.draw(others(snapshot)) for _ in range(3))):
        line = report_line(request, cloud)
        assert line_by_results.setdefault(tuple(trial_results(request, cloud)), line) == line


@st.composite
def own_constraints(draw):
    """Generate a request of many servers, a group of any policy with members, and spreads."""
    hosts = {
        f'cmp-{number}': {
            'free': draw(st.sampled_from([0, 1, 3])),
            'zone': ZONES[number % 2],
            'aggregates': [str(number % 2 + 1), draw(st.sampled_from(['r-1', 'r-2']))],
        }
        for number in range(draw(st.integers(2, 4)))
    }
    racks = {name: {'metadata': {'rack': name}} for name in ('r-1', 'r-2')}
    zones = {str(number + 1): {'zone': zone} for number, zone in enumerate(ZONES)}
    members = draw(st.lists(st.sampled_from([*hosts]), max_size=4))
    modes = st.fixed_dictionaries(
        {}, optional=dict.fromkeys(('availability_zone', 'rack'), st.sampled_from(['hard', 'soft']))
    )
    return {
        'hosts': hosts,
        'aggregates': racks | zones,
        'group': {
            'policy': draw(st.sampled_from(EVERY_POLICY)),
            'members': members if draw(MOSTLY) else [None] * len(members),
        },
        'request': {
            'count': draw(st.integers(1, 12)),
            'spread': [{'by': by, 'mode': mode} for by, mode in draw(modes).items()],
        },
    }


@given(own_constraints())
def test_no_sentence_names_a_constraint_of_another_policy(row):
    resolved = resolve(request_of(row), snapshot_of(row))
    decision = engine.plan(*resolved.planned, CONSTRAINTS)
    policy, spreads = resolved.request.server_group.policy, resolved.request.spread
    if resolved.request.server_group.members:
        assert not any(
            report_line.startswith('affinity without') for report_line in decision.at_most
        )
    if decision.fits is not False:
        return
    for reason in disclosure.tenant_report(decision, *resolved, CONSTRAINTS).reasons:
        if 'must share a host' in reason:
            assert policy == AFFINITY
        if 'a host may hold' in reason:
            assert policy == ANTI_AFFINITY
        if 'spread by' in reason:
            hard = [spread.by for spread in spreads if spread.is_hard]
            assert reason.endswith(f'spread by {", ".join(hard)}')
