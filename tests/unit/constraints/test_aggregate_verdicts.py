"""The verdicts of the constraints on aggregates: outcome, code, facts and sentence."""

import pytest

from senlin_affinity.constraints.aggregate_metadata import AggregateMetadataConstraint
from senlin_affinity.constraints.base import OpenAssumption
from senlin_affinity.constraints.member_of import MemberOfConstraint
from senlin_affinity.constraints.reservations import ReservationsConstraint
from senlin_affinity.model import member_of
from senlin_affinity.model.cloud import Aggregate, Cloud, Flavor
from senlin_affinity.model.host import Host
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.verdict import Assumption, sentence
from tests.support import aggregate_rows
from tests.support.asked import Given, NamedRequest, with_values
from tests.support.tables import read, rows

#: The rows about each constraint.
ROWS = {
    AggregateMetadataConstraint: [
        *aggregate_rows.read('aggregate_metadata'),
        *aggregate_rows.read('aggregate_extra_specs'),
        *read('aggregate_metadata_enforced'),
    ],
    MemberOfConstraint: read('member_of_hosts'),
    ReservationsConstraint: read('reservations_hosts'),
}


def check(row, verdict, reasons):
    assert (verdict.outcome.value, verdict.code) == (row['outcome'], row['code'])
    assert dict(verdict.facts) == row.get('facts', {})
    assert verdict.room == (0 if row['outcome'] == 'REJECT' else None)
    assert verdict.bounds.is_known is not verdict.code.endswith('unknown')
    words = sentence(verdict, reasons)
    assert words == row.get('sentence', words)


def aggregate_question(row):
    """Return the request, and a host in the row's aggregates, whose names are their UUIDs."""
    flavor = aggregates = None
    if row['extra_specs'] is not None:
        flavor = Flavor('f', 'small', 1, 1, 1, extra_specs=row['extra_specs'])
    if row['aggregates'] is not None:
        aggregates = tuple(
            Aggregate(name, name, row.get('zones', {}).get(name), metadata)
            for name, metadata in row['aggregates'].items()
        )
    known = dict(zip(('ours', 'nova'), AggregateMetadataConstraint.filters, strict=True))
    filters = tuple(known[word] for word in row['filters'])
    request = NamedRequest(1, 'small', enabled_filters=(*DEFAULT_FILTERS, *filters))
    values = {key: value for word in row.get('rules', ()) for key, value in RULES[word].items()}
    asked = with_values(
        request, Cloud(aggregates=aggregates), flavor=flavor, given=Given.of(**values)
    )
    return *asked, Host('cmp-1', 'cmp-1', aggregates=frozenset(row['member']))


@pytest.mark.parametrize('row', rows('aggregate_metadata_enforced'))
def test_aggregate_metadata(row):
    verdict = AggregateMetadataConstraint().check_host(*aggregate_question(row))
    check(row, verdict, AggregateMetadataConstraint.reasons)


AGGREGATES = {
    'A': {'reservation:r1': ''},
    'B': {'reservation:r2': '', 'reservation:r3': ''},
    'C': {'trait:CUSTOM_WIN': 'required'},
    'D': {'filter_tenant_id': 'p1'},
}
RULES = {
    'required': {'required_member_prefix': 'reservation:'},
    'forbidden': {'forbidden_member_prefixes': ('reservation:',)},
    'nothing': {'required_member_prefix': '', 'forbidden_member_prefixes': ('',)},
    'traits': {'required_member_prefix': 'trait:'},
    'bare prefix': {'required_member_prefix': 'resv-'},
    'prefix f': {'required_member_prefix': 'f'},
    'by nova': {'reservations_enforced_by': 'nova'},
    'of flavors': {'are_flavor_keys_only': True},
    'isolation': {'is_isolation_enforced': True},
    'tenants': {'are_tenants_limited': True},
    'tenant': {'is_tenant_aggregate_required': True},
}
RULES['both'] = RULES['required'] | RULES['forbidden']


def uuid_of(letter):
    return f'00000000-0000-4000-8000-{int(letter, 16):012x}'


def about_aggregates(row):
    """Return the request and the host of a row about aggregates."""
    known = tuple(
        Aggregate(uuid_of(letter), f'agg-{letter.lower()}', metadata=dict(metadata))
        for letter, metadata in AGGREGATES.items()
    )
    extra_specs = row.get('flavor', {})
    flavor = None if extra_specs is None else Flavor('1', 'f', 1, 64, 1, extra_specs=extra_specs)
    rules = {key: value for word in row.get('rules', ()) for key, value in RULES[word].items()}
    asked = with_values(
        NamedRequest(1, 'f', image_properties=row.get('image'), project_id=row.get('project')),
        Cloud(
            aggregates=known if row.get('known', True) else None, project_id=row.get('of_snapshot')
        ),
        flavor,
        ServerGroup('g', 'web', 'affinity', project_id=row.get('of_group')),
        given=Given.of(**rules),
        member_of=member_of.read(row.get('member_of', []), 'member_of', uuid_of),
    )
    of_host = (frozenset(map(uuid_of, row.get(key, []))) for key in ('host', 'unmirrored', 'stale'))
    names = ('aggregates', 'unmirrored', 'stale_aggregates')
    return *asked, Host('c', 'c', **dict(zip(names, of_host, strict=True)))


@pytest.mark.parametrize('row', rows('member_of_hosts'))
def test_member_of(row):
    check(row, MemberOfConstraint().check_host(*about_aggregates(row)), MemberOfConstraint.reasons)


@pytest.mark.parametrize('row', rows('reservations_hosts'))
def test_reservations(row):
    constraint = ReservationsConstraint()
    check(row, constraint.check_host(*about_aggregates(row)), constraint.reasons)


@pytest.mark.parametrize(
    ('rules', 'image', 'codes'),
    [
        (['both'], None, ['reservations.image']),
        (['both'], {}, []),
        (['both', 'of flavors'], None, []),
        ([], None, []),
    ],
)
def test_an_image_that_may_have_a_reservation(rules, image, codes):
    """With the reservation, more hosts would be accepted."""
    *asked, _host = about_aggregates({'rules': rules, 'image': image})
    every = ReservationsConstraint().assumptions(*asked)
    found = [item for item in every if isinstance(item, Assumption)]
    assert [item.code for item in found] == codes
    assert all(isinstance(item, OpenAssumption) for item in found)


@pytest.mark.parametrize('constraint', ROWS, ids=lambda constraint: constraint.name)
def test_exactly_the_rejections_have_advice(constraint):
    """In each table, exactly the rejections have advice."""
    refusing = {row['code'] for row in ROWS[constraint] if row['outcome'] == 'REJECT'}
    for code, reason in constraint.reasons.items():
        assert bool(reason.advice) is (code in refusing), code
