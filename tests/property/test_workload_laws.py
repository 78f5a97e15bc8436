"""A plan of several requests says nothing false, compared with a search for every placement."""

from collections import Counter
from functools import cache
from itertools import chain

from hypothesis import event, given
from hypothesis import strategies as st

from senlin_affinity.engine.workload import plan_requests
from senlin_affinity.model.cloud import Aggregate, Cloud, Flavor, Quota
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.request import FILTERS, Request, Settings
from senlin_affinity.model.server_group import POLICIES, Member, ServerGroup
from senlin_affinity.scenario.scenario import Scenario
from tests.support.small_cloud import CONSTRAINTS

ZONES = ('az-1', 'az-2')
AGGREGATES = (Aggregate('1', 'one', 'az-1'), Aggregate('2', 'two', 'az-2'))
KEYS = frozenset((FILTERS, *(option.key for each in CONSTRAINTS for option in each.options)))
SETTINGS = Settings(explicit=KEYS)


@st.composite
def hosts(draw, name):
    vcpus, ram = draw(st.integers(1, 8)), draw(st.integers(2, 8)) * 512
    resources = {
        'VCPU': Resource(8, 8 - vcpus),
        'MEMORY_MB': Resource(4096, 4096 - ram),
        'DISK_GB': Resource(100, 0),
    }
    zone = draw(st.sampled_from(ZONES))
    aggregates = frozenset((str(ZONES.index(zone) + 1),))
    return Host(name, availability_zone=zone, aggregates=aggregates, resources=resources)


@st.composite
def groups(draw, name, names):
    policy = draw(st.sampled_from(POLICIES))
    most = draw(st.integers(1, 2)) if policy == 'anti-affinity' else 0
    rules = {'max_server_per_host': most} if most > 1 else {}
    if draw(st.booleans()):
        return ServerGroup.planned(name, policy, rules)
    most_members = 2 if policy == 'anti-affinity' else 1
    on = draw(st.lists(st.sampled_from(names), max_size=most_members, unique=True))
    members = tuple(Member(f'{name}-{at}', host) for at, host in enumerate(on))
    return ServerGroup(name, name, policy, rules, members)


@st.composite
def lists(draw):
    """Generate a cloud, and up to four requests for it."""
    names = [f'cmp-{number}' for number in range(1, draw(st.integers(2, 5)) + 1)]
    known = [draw(groups(name, names)) for name in ('web', 'db')]
    flavors = [
        Flavor(name, name, draw(st.integers(1, 3)), 512 * draw(st.integers(1, 3)), 1)
        for name in ('one', 'two')
    ]
    quotas = {}
    if draw(st.sampled_from([True, False, False])):
        quotas = {
            'instances': Quota(draw(st.integers(3, 9)), 0),
            'cores': Quota(draw(st.integers(4, 20)), 0),
        }
    cloud = Cloud(
        tuple(draw(hosts(name)) for name in names),
        AGGREGATES,
        tuple(flavors),
        tuple(each for each in known if not each.is_planned),
        quotas,
        availability_zones=frozenset(ZONES),
        soft_deleted=(),
    )
    number = draw(st.integers(1, 4))
    requests = tuple(
        Request(
            draw(st.integers(1, 3)),
            draw(st.sampled_from(flavors)),
            draw(st.sampled_from([None, None, *known])),
            availability_zone=draw(st.sampled_from([None, None, None, *ZONES])),
            image_properties={},
            settings=SETTINGS,
        )
        for _each in range(number)
    )
    return requests, cloud


class Oracle:
    """All placements of the servers, one by one, as Nova's filters and quotas allow them."""

    def __init__(self, requests, cloud):
        self.requests, self.cloud = requests, cloud
        self.servers = tuple(
            at for at, request in enumerate(requests) for _each in range(request.count)
        )

    def is_allowed(self, at, host, placed):
        """Check whether a server of a request may go to a host beside those that are placed."""
        request = self.requests[at]
        of_cloud = {each.host: each for each in self.cloud.hosts}
        if request.availability_zone not in (None, of_cloud[host].availability_zone):
            return False
        here = [self.requests[other].flavor for other, where in placed if where == host]
        for name, field in (('VCPU', 'vcpus'), ('MEMORY_MB', 'ram'), ('DISK_GB', 'disk')):
            has = of_cloud[host].resources[name]
            used = sum(getattr(flavor, field) for flavor in (*here, request.flavor))
            if has.used + used > has.capacity:
                return False
        group = request.server_group
        if group is None:
            return True
        on = Counter(member.host for member in group.members)
        on.update(where for other, where in placed if self.requests[other].server_group is group)
        if group.policy == 'anti-affinity':
            return on[host] < group.max_server_per_host
        return group.policy != 'affinity' or not on or host in on

    def is_in_quota(self):
        """Check whether the quotas allow all servers."""
        flavors = [self.requests[at].flavor for at in self.servers]
        needed = {'instances': len(flavors), 'cores': sum(each.vcpus for each in flavors)}
        return all(
            needed[name] <= quota.limit - quota.used for name, quota in self.cloud.quotas.items()
        )

    def fits(self):
        """Check whether any placement has all servers."""

        @cache
        def search(left, placed):
            if not left:
                return True
            return any(
                search(left[1:], tuple(sorted((*placed, (left[0], host.host)))))
                for host in self.cloud.hosts
                if self.is_allowed(left[0], host.host, placed)
            )

        return self.is_in_quota() and search(self.servers, ())

    def fits_anywhere(self):
        """Check whether no choice of hosts, in any order, leaves a server without a host."""

        @cache
        def search(left, placed):
            for at in {*left}:
                rest = [*left]
                rest.remove(at)
                found = [
                    host.host for host in self.cloud.hosts if self.is_allowed(at, host.host, placed)
                ]
                if not found or not all(
                    search(tuple(rest), tuple(sorted((*placed, (at, host))))) for host in found
                ):
                    return False
            return True

        return self.is_in_quota() and search(self.servers, ())


def check_placements(plan, oracle):
    """Check that each server of a plan may go to its host, in the order of the plan."""
    placed = []
    for name in plan.order:
        decision = plan.requests[int(name)].decision
        assert len(decision.placements) == decision.wanted
        for each in decision.placements:
            assert oracle.is_allowed(int(name), each.host, placed), (name, each)
            placed.append((int(name), each.host))


@given(lists())
def test_a_plan_says_nothing_false(case):
    requests, cloud = case
    named = [(str(at), request) for at, request in enumerate(requests)]
    plan = plan_requests(named, Scenario.of(cloud), CONSTRAINTS, remedies=False)
    oracle = Oracle(requests, cloud)
    event(f'fits: {plan.fits}, it does: {oracle.fits()}')
    event(f'any host: {plan.is_any_host}, it does: {oracle.fits_anywhere()}')
    if plan.fits:
        check_placements(plan, oracle)
        assert oracle.is_in_quota()
    elif plan.fits is False:
        assert not oracle.fits(), plan.obstacles
    if plan.is_any_host:
        assert oracle.fits_anywhere()
    assert plan.wanted == len([*chain(oracle.servers)])
