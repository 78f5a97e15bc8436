"""Each request of a list is decided as on a cloud that has the servers of all earlier ones."""

from collections import Counter
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from senlin_affinity.engine import assign
from senlin_affinity.engine.decide import decide, decision_of
from senlin_affinity.model.server_group import Member
from tests.property.cloud_strategies import clouds
from tests.support.asked import plan, resolve
from tests.support.small_cloud import CONSTRAINTS
from tests.support.values import replace

AMOUNTS = {'VCPU': 'vcpus', 'MEMORY_MB': 'ram', 'DISK_GB': 'disk'}


def with_servers(request, cloud, placements):
    """Return the cloud with a server of the request on each of these hosts."""
    (flavor,), placed = cloud.flavors, Counter(each.host for each in placements)
    amounts = {name: getattr(flavor, field) for name, field in AMOUNTS.items()}
    amounts['CUSTOM_GPU'] = int(flavor.extra_specs.get('resources:CUSTOM_GPU', 0))

    def used(host):
        return {
            name: replace(has, used=has.used + placed[host.host] * amounts[name])
            for name, has in host.resources.items()
        }

    groups = cloud.server_groups
    if request.server_group is not None:
        (group,) = groups
        new = (Member(f'new-{at}', each.host) for at, each in enumerate(placements))
        groups = (replace(group, members=(*group.members, *new)),)
    hosts = tuple(host.but(resources=used(host)) for host in cloud.hosts)
    return replace(cloud, hosts=hosts, server_groups=groups)


def charged(request, cloud, number):
    """Return the cloud whose quotas count so many more servers of the request."""
    (flavor,) = cloud.flavors
    costs = {'instances': 1, 'cores': flavor.vcpus, 'ram': flavor.ram}
    quotas = {
        name: each if each.used is None else replace(each, used=each.used + costs[name] * number)
        for name, each in cloud.quotas.items()
    }
    return replace(cloud, quotas=quotas)


@given(clouds(with_quotas=st.just(False)), st.integers(0, 9), st.booleans())
def test_a_request_counts_the_servers_of_the_one_before(cloud, count, is_of_group):
    first, cloud = cloud
    second = replace(first, count=count, server_group=first.server_group if is_of_group else None)
    requests = [resolve(each, cloud).request for each in (first, second)]
    steps = decide(requests, resolve(first, cloud).scenario, CONSTRAINTS)
    one, two = (decision_of(step, remedies=False) for step in steps)
    alone = plan(first, cloud, CONSTRAINTS, remedies=False)
    assert one == alone
    after = plan(second, with_servers(first, cloud, one.placements), CONSTRAINTS, remedies=False)
    assert (two.fits, two.capacity, two.capacity_certain) == (
        after.fits,
        after.capacity,
        after.capacity_certain,
    )
    assert two.placements == after.placements
    assert [each.verdicts for each in two.hosts] == [each.verdicts for each in after.hosts]


@given(clouds(), st.integers(0, 9), st.booleans())
def test_quotas_count_the_servers_of_the_request_before(cloud, count, is_of_group):
    """As on a cloud whose quotas and group count these servers."""
    first, cloud = cloud
    second = replace(first, count=count, server_group=first.server_group if is_of_group else None)
    requests = [resolve(each, cloud).request for each in (first, second)]
    steps = decide(requests, resolve(first, cloud).scenario, CONSTRAINTS)
    one, two = (decision_of(step, remedies=False) for step in steps)
    after = charged(first, with_servers(first, cloud, one.placements), len(one.placements))
    alone = plan(second, after, CONSTRAINTS, remedies=False)
    assert (two.fits, two.capacity, two.capacity_certain, two.at_most) == (
        alone.fits,
        alone.capacity,
        alone.capacity_certain,
        alone.at_most,
    )
    assert two.request['quota'] == alone.request['quota']


@given(clouds(), st.integers(0, 30))
def test_servers_that_are_placed_at_once_go_where_they_go_one_by_one(cloud, count):
    """Many hosts are sorted together; here, a few are."""
    request, cloud = cloud
    request = replace(request, count=count)
    with mock.patch.object(assign, '_FEW', 1):
        together = plan(request, cloud, CONSTRAINTS, remedies=False)
    assert together == plan(request, cloud, CONSTRAINTS, remedies=False)
