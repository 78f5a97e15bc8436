"""Properties of reservations: another prefix admits no host, and an empty one not every host."""

import itertools

import hypothesis
from hypothesis import strategies as st

from senlin_affinity.constraints.reservations import ReservationsConstraint
from senlin_affinity.model.cloud import Aggregate, Cloud, Flavor
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.host import Host
from senlin_affinity.nova.options import ISOLATION, TENANTS
from senlin_affinity.nova.reservations import FORBIDDEN_PREFIXES, REQUIRED_PREFIX, constrain
from tests.support.asked import Given, NamedRequest, with_values

KEYS = st.sampled_from(['r:', 'r:1', 'r:2', 'l:', 'l:w', 'ssd', 'trait:X', 'filter_tenant_id'])
KEPT = st.dictionaries(KEYS, st.sampled_from(['required', 'p1', '']), max_size=3)
WORLDS = st.lists(KEPT, max_size=4).map(
    lambda world: tuple(
        Aggregate(str(number), f'agg-{number}', metadata=metadata)
        for number, metadata in enumerate(world)
    )
)
REQUESTS = st.lists(KEYS, max_size=3)
PREFIXES = st.lists(st.sampled_from(['r:', 'l:', 'r', '']), max_size=2)
PREFIX = st.sampled_from([None, '', 'r:', 'l:', 'r'])


def hosts_of(world):
    """Return one host for each set of aggregates."""
    uuids = [aggregate.uuid for aggregate in world]
    sets = (s for size in range(len(uuids) + 1) for s in itertools.combinations(uuids, size))
    return [Host(f'in-{"-".join(s)}', '', aggregates=frozenset(s)) for s in sets]


def admitted_hosts(keys, world, required, forbidden):
    """Return the hosts that the expression admits, none if it rejects the request."""
    try:
        asked = constrain(keys, world, required_prefix=required, forbidden_prefixes=forbidden)
    except InvalidSpec:
        return set()
    return {host.host for host in hosts_of(world) if asked.admits(host.aggregates)}


@hypothesis.given(REQUESTS, WORLDS, PREFIX, PREFIXES, PREFIXES)
def test_r1_39_r1_40_another_prefix_admits_no_other_host(keys, world, required, some, more):
    found = admitted_hosts(keys, world, required, some)
    assert (
        admitted_hosts(keys, world, required, [*some, *more])
        <= found
        <= admitted_hosts(keys, world, None, some)
    )


@hypothesis.given(REQUESTS, WORLDS, st.sampled_from(['r:', 'l:', 'r']), PREFIXES)
def test_r1_38_a_named_reservation_is_required(keys, world, required, forbidden):
    reserved = {key for key in keys if key.startswith(required)}
    for host in admitted_hosts(keys, world, required, forbidden):
        carried = set().union(*(world[int(uuid)].metadata for uuid in host.split('-')[1:] if uuid))
        assert reserved <= carried


@hypothesis.given(WORLDS, st.sampled_from(['r:', 'l:', 'r']), PREFIX)
def test_r1_31_r1_41_without_a_key_no_reserved_host_is_admitted(world, prefix, required):
    kept = {item.uuid for item in world if any(key.startswith(prefix) for key in item.metadata)}
    free = {host.host for host in hosts_of(world) if not host.aggregates & kept}
    assert admitted_hosts([], world, required, [prefix]) == free


@hypothesis.given(
    REQUESTS,
    st.none() | KEPT,
    WORLDS,
    st.builds(
        Given.of,
        required_member_prefix=PREFIX,
        forbidden_member_prefixes=PREFIXES.map(tuple),
        is_isolation_enforced=st.booleans(),
        are_tenants_limited=st.booleans(),
        is_tenant_aggregate_required=st.booleans(),
    ),
    st.sampled_from([None, 'p1', 'p2']),
)
def test_the_constraint_agrees_with_the_expression(keys, image, world, rules, project):
    """Every verdict has the facts of its sentence."""
    asked = with_values(
        NamedRequest(1, 'f', image_properties=image, project_id=project),
        Cloud(aggregates=world),
        Flavor('1', 'f', 1, 64, 1, extra_specs=dict.fromkeys(keys, 'required')),
        given=rules,
    )
    rule, passed, settings = ReservationsConstraint(), set(), asked.request.settings
    for host in hosts_of(world):
        verdict = rule.check_host(*asked, host)
        rule.reasons[verdict.code].sentence.format_map(verdict.facts)
        if verdict:
            passed.add(host.host)
    by_flow = admitted_hosts(
        [*keys, *(image or ())],
        world,
        settings.value(REQUIRED_PREFIX),
        settings.value(FORBIDDEN_PREFIXES),
    )
    assert passed <= by_flow
    # An unknown image may have any of these properties for the traits.
    if image is None and not any(
        (settings.value(REQUIRED_PREFIX), *settings.value(FORBIDDEN_PREFIXES))
    ):
        for properties in ({}, {'trait:X': 'required'}):
            known = asked.but(image_properties=properties)
            assert {h.host for h in hosts_of(world) if rule.check_host(*known, h)} <= passed
    if not settings.value(ISOLATION) and not settings.value(TENANTS):
        assert passed == by_flow
