"""Isolated aggregates, aggregates of tenants and zones are interpreted as in the real Nova."""

import uuid

import hypothesis
import pytest
from hypothesis import strategies as st

from senlin_affinity.constraints.availability_zone import AvailabilityZoneConstraint
from senlin_affinity.model.cloud import Aggregate, Cloud
from senlin_affinity.model.host import Host
from senlin_affinity.model.verdict import Verdict
from senlin_affinity.nova import queried_aggregates
from tests.support.asked import Given, NamedRequest, with_values
from tests.support.nova_judge import Judge
from tests.support.tables import rows
from tests.support.values import replace
from tests.unit.nova.test_reservations import ISOLATED

CUSTOM = ['CUSTOM_WIN', 'CUSTOM_X', 'HW_CPU_HYPERTHREADING']
WORDS = st.sampled_from(['required', 'required', 'forbidden', 'Required', ''])
PROJECTS = st.sampled_from(['p1', 'p1', 'p2', 'p1,p2', ''])


def keyed(*prefixes):
    traits = [f'{prefix}:{trait}' for prefix in prefixes for trait in CUSTOM]
    return st.dictionaries(st.sampled_from(traits), WORDS, max_size=3)


METADATA = st.builds(
    lambda traits, tenants: {**traits, **tenants},
    keyed('trait', 'trait', 'trait1', 'mytrait'),
    st.dictionaries(
        st.sampled_from(['filter_tenant_id', 'filter_tenant_id2', 'tenant', 'x_filter_tenant_id']),
        PROJECTS,
        max_size=2,
    ),
)


@pytest.fixture(scope='module')
def nova():
    with Judge() as judge:
        yield judge


def ask_nova(nova, aggregates, *options, **case):
    """Return the required and forbidden aggregates, or the message of a rejection."""
    metadata = {item.uuid: item.metadata for item in aggregates}
    answer = nova('destination', aggregates=metadata, project='p1', options=options, **case)
    if 'refused' in answer:
        return answer['refused']
    return set(map(frozenset, answer['required'])), set(answer['forbidden'])


def isolated(nova, aggregates, flavor, image):
    option = 'enable_isolated_aggregate_filtering'
    required, forbidden = ask_nova(nova, aggregates, option, flavor=flavor, image=image)
    assert not required
    return forbidden


def aggregates_of(named):
    return [
        Aggregate(str(uuid.uuid5(uuid.NAMESPACE_OID, name)), name, metadata=metadata)
        for name, metadata in named.items()
    ]


def check_tenant(nova, aggregates, is_required):
    limited = queried_aggregates.limit_to_tenant(
        'p1', aggregates, is_aggregate_required=is_required
    )
    needed = ['placement_aggregate_required_for_tenants'] if is_required else []
    answer = ask_nova(nova, aggregates, 'limit_tenants_to_placement_aggregate', *needed)
    if isinstance(limited, Verdict):
        assert 'No hosts available for tenant' in answer
    else:
        assert (set(limited.required), limited.forbidden) == answer


@pytest.mark.parametrize('row', rows('isolated_aggregates'))
def test_isolated_aggregates_of_a_row_agree_with_nova(nova, row):
    """If we forbid fewer aggregates, the row lists those of Nova."""
    aggregates = aggregates_of(row.get('aggregates', ISOLATED))
    found = isolated(nova, aggregates, row.get('flavor', {}), row.get('image', {}))
    named = sorted(item.name for item in aggregates if item.uuid in found)
    assert named == row.get('nova', row['forbidden'])


@pytest.mark.parametrize('row', rows('tenant_aggregates'))
def test_tenant_aggregates_of_a_row_agree_with_nova(nova, row):
    check_tenant(nova, aggregates_of(row['aggregates']), row.get('required', False))


@hypothesis.settings(max_examples=100)
@hypothesis.given(
    st.lists(st.sampled_from([None, 'nova', 'az-1']), max_size=4),
    st.lists(st.sets(st.integers(0, 3)), min_size=1, max_size=4),
    st.sampled_from(['nova', 'az-1']),
    st.booleans(),
)
def test_the_zone_constraint_agrees_with_nova(nova, carried, members, wanted, is_pinned):
    """Nova rejects a zone without hosts earlier.

    A pinned host must also be in the default zone if that is requested, which Nova does not check.
    """
    metadata = [{} if zone is None else {'availability_zone': zone} for zone in carried]
    aggregates = aggregates_of({str(number): item for number, item in enumerate(metadata)})
    known = tuple(
        replace(item, availability_zone=item.metadata.get('availability_zone'))
        for item in aggregates
    )
    hosts = tuple(host_in(f'cmp-{number}', known, places) for number, places in enumerate(members))
    hypothesis.assume(wanted in {*carried, *(host.availability_zone for host in hosts)})
    snapshot = Cloud(hosts, known)
    request = NamedRequest(1, 'f', availability_zone=wanted)
    resolved = with_values(request, snapshot, given=Given.of(is_pinned=is_pinned))
    found, forbidden = ask_nova(nova, aggregates, zone=wanted, forced=['cmp'] if is_pinned else [])
    assert not forbidden
    required = set(*found) if found else None
    for host in hosts:
        verdict = AvailabilityZoneConstraint().check_host(*resolved, host)
        is_taken = required is None or bool(required & host.aggregates)
        if required is None and is_pinned:
            is_taken = host.availability_zone == wanted
        if snapshot.zones.is_by_aggregate and not verdict.bounds.is_known:
            assert required is None
        elif snapshot.zones.is_by_aggregate:
            assert bool(verdict) is is_taken


def host_in(name, aggregates, places):
    """Return a host in some of the aggregates, with the zone that Nova shows for it."""
    own_aggregates = [item for number, item in enumerate(aggregates) if number in places]
    zones = {item.availability_zone for item in own_aggregates} - {None}
    zone = ','.join(sorted(zones)) or 'nova'
    return Host(
        name,
        name,
        availability_zone=zone,
        aggregates=frozenset(item.uuid for item in own_aggregates),
    )


@hypothesis.settings(max_examples=150)
@hypothesis.given(
    st.lists(METADATA, max_size=5),
    keyed('trait', 'trait', 'trait1', 'trait_a-b'),
    keyed('trait', 'trait', 'trait1'),
    st.booleans(),
)
def test_generated_aggregates_agree_with_nova(nova, metadata, flavor, image, is_required):
    aggregates = aggregates_of({str(number): item for number, item in enumerate(metadata)})
    traits = queried_aggregates.required_traits(flavor, image)
    ours = queried_aggregates.isolate(traits, aggregates)
    assert ours.forbidden == isolated(nova, aggregates, flavor, image)
    check_tenant(nova, aggregates, is_required)
