"""The query to Placement for one server, row by row; tests/functional asks Nova's own code, too."""

import uuid
from dataclasses import replace
from urllib.parse import parse_qsl

import pytest

from senlin_affinity.core import candidate_query, nova_options
from senlin_affinity.core.flavor_features import TPM_SECRETS
from senlin_affinity.core.image import Image
from senlin_affinity.core.objects import (
    Aggregate,
    CloudSnapshot,
    Host,
    PlacementRequest,
    ResolvedRequest,
    Resource,
    Rules,
)
from senlin_affinity.core.options import Option
from tests.support.small_cloud import flavor_of
from tests.support.tables import rows

OPTIONS = {
    f'{option.nova}.{option.name}': option.key
    for option in vars(nova_options).values()
    if isinstance(option, Option)
}


def uuid_of(name):
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def aggregates_of(metadata):
    return tuple(
        Aggregate(uuid_of(name), name, values.get('availability_zone'), values)
        for name, values in metadata.items()
    )


def resolved_of(row):
    """The question of a row; its hosts are those of a Nova that is as new as the judge."""
    aggregates, properties = row.get('aggregates', {}), row.get('image', {})
    image = None
    if properties is not None:
        image = Image('i', disk_format=row.get('disk_format', 'raw'), properties=properties)
    resources = {'VCPU': Resource(4, 0), 'PCPU': Resource(4 if row.get('has_pinned') else 0, 0)}
    traits = TPM_SECRETS if row.get('has_tpm', True) else frozenset()
    request = PlacementRequest(
        1,
        'f',
        availability_zone=row.get('zone'),
        project_id=row.get('project', 'p1'),
        is_volume_booted=row.get('is_volume_booted', False),
        image=image,
    )
    snapshot = CloudSnapshot(
        (Host('cmp-1', 'cmp-1', traits=traits, resources=resources),),
        None if aggregates is None else aggregates_of(aggregates),
    )
    options = {OPTIONS[name]: True for name in row.get('options', ())}
    rules = Rules.of(default_schedule_zone=row.get('default_zone'), **options)
    return ResolvedRequest(request, snapshot, flavor_of(row.get('flavor')), rules=rules)


def decoded(text, names):
    for name in names or ():
        text = text.replace(uuid_of(name), name)
    found = dict.fromkeys(parse_qsl(text, keep_blank_values=True, strict_parsing=True))
    root = [value for name, value in found if name == 'root_required']
    rest = [f'{name}={value}' for name, value in found if name != 'root_required']
    return rest, root


def in_order(values):
    """Members are sorted by their UUIDs."""
    return sorted(sorted(value.replace('=in:', '=in:,').split(',')) for value in values)


@pytest.mark.parametrize('row', rows('candidate_query'))
def test_a_row_s_query(row):
    resolved = resolved_of(row)
    found = candidate_query.queries(resolved)
    asked = [row[key] for key in ('outcome', 'second') if row.get(key) is not None]
    assert len(found) == len(asked)
    assert candidate_query.query(resolved) == (found[0] if len(found) == 1 else None)
    for text, expected in zip(found, asked, strict=True):
        rest, root = decoded(text, row.get('aggregates'))
        assert in_order(rest) == in_order(expected)
        assert root == [','.join([*row.get('root', ()), '!COMPUTE_STATUS_DISABLED'])]


@pytest.mark.parametrize('row', rows('candidate_query'))
def test_what_is_missing(row):
    found = set(candidate_query.missing(resolved_of(row)))
    assert found == set(row.get('missing', ()))


def test_the_bytes_of_a_query():
    row = {'flavor': {'extra_specs': {'trait:É/ ~': 'required'}}}
    assert candidate_query.query(resolved_of(row)) == (
        'required=%C3%89%2F+~&resources=DISK_GB%3A1%2CMEMORY_MB%3A512%2CVCPU%3A1'
        '&root_required=%21COMPUTE_STATUS_DISABLED'
    )


def test_a_flavor_that_is_not_known():
    unknown = ResolvedRequest(PlacementRequest(1, 'f'), CloudSnapshot())
    assert candidate_query.query(unknown) is None
    assert candidate_query.missing(unknown) == ('the properties of the image',)


@pytest.mark.parametrize('resources', [None, {'PCPU': Resource(2, 2)}])
def test_a_host_that_may_have_pinned_cpus(resources):
    """Though it has none left: that is no matter of the query."""
    row = {'image': None}
    plain = resolved_of(row)
    assert candidate_query.query(plain) is not None
    hosts = (*plain.snapshot.hosts, Host('cmp-2', 'cmp-2', resources=resources))
    resolved = replace(plain, snapshot=replace(plain.snapshot, hosts=hosts))
    assert candidate_query.query(resolved) is None


def test_owners_that_differ():
    """Nova requires the trait only once all hosts have it: then it changes nothing."""
    hosts = [Host(name, name, traits=frozenset({name})) for name in ('OWNER_NOVA', 'COMPUTE_NODE')]
    request = PlacementRequest(1, 'f', image=Image())
    for known, is_missing in ((hosts, True), (hosts[:1], False), (hosts[1:], False)):
        resolved = ResolvedRequest(request, CloudSnapshot(tuple(known)), flavor_of(None))
        assert bool(candidate_query.missing(resolved)) is is_missing
