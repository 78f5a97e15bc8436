"""The query to Placement for one server; tests/functional compares it with Nova's code."""

import uuid
from urllib.parse import parse_qsl

import pytest

from senlin_affinity import engine
from senlin_affinity.model.cloud import Aggregate, Cloud
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.image import Image
from senlin_affinity.model.option import Option
from senlin_affinity.model.request import FILTERS
from senlin_affinity.nova import candidate_query
from senlin_affinity.nova import options as nova_options
from senlin_affinity.nova.flavor_features import TPM_SECRETS
from tests.support.asked import Given, NamedRequest, with_values
from tests.support.our_constraints import OURS
from tests.support.small_cloud import flavor_of
from tests.support.tables import rows
from tests.support.values import replace

OPTIONS = {
    f'{option.nova}.{option.name}': option.key
    for option in vars(nova_options).values()
    if isinstance(option, Option)
}
#: All options are specified; only what no option can specify remains.
TOLD = frozenset(
    {FILTERS, *(option.key for rule in OURS for option in getattr(rule, 'options', ()))}
)
#: The requirements of the rows' flavors, without the traits of the root.
TRAITS = frozenset({'COMPUTE_SECURITY_TPM_2_0', 'COMPUTE_SECURITY_TPM_TIS'})


def uuid_of(name):
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def aggregates_of(metadata):
    return tuple(
        Aggregate(uuid_of(name), name, values.get('availability_zone'), values)
        for name, values in metadata.items()
    )


def resolved_of(row):
    """Return the request of a row; its hosts run the Nova of the oracle."""
    aggregates, properties = row.get('aggregates', {}), row.get('image', {})
    image = None
    if properties is not None:
        image = Image('i', disk_format=row.get('disk_format', 'raw'), properties=properties)
    resources = {'VCPU': Resource(4, 0), 'PCPU': Resource(4 if row.get('has_pinned') else 0, 0)}
    traits = TPM_SECRETS if row.get('has_tpm', True) else frozenset()
    request = NamedRequest(
        1,
        'f',
        availability_zone=row.get('zone'),
        project_id=row.get('project', 'p1'),
        is_volume_booted=row.get('is_volume_booted', False),
        image=image,
    )
    snapshot = Cloud(
        (Host('cmp-1', 'cmp-1', traits=traits, resources=resources),),
        None if aggregates is None else aggregates_of(aggregates),
    )
    options = {OPTIONS[name]: True for name in row.get('options', ())}
    if (prefix := row.get('prefix')) is not None:
        prefixes = {'required_member_prefix': prefix, 'forbidden_member_prefixes': (prefix,)}
        options |= {'reservations_enforced_by': 'nova', **prefixes}
        options['are_flavor_keys_only'] = row.get('of_flavors', False)
    rules = Given.of(default_schedule_zone=row.get('default_zone'), **options)
    return with_values(request, snapshot, flavor_of(row.get('flavor')), given=rules)


def decoded(text, names):
    for name in names or ():
        text = text.replace(uuid_of(name), name)
    found = dict.fromkeys(parse_qsl(text, keep_blank_values=True, strict_parsing=True))
    root = [value for name, value in found if name == 'root_required']
    rest = [f'{name}={value}' for name, value in found if name != 'root_required']
    return rest, root


def in_order(values):
    """Sort the members by their UUIDs."""
    return sorted(sorted(value.replace('in:', 'in:,').split(',')) for value in values)


@pytest.mark.parametrize('row', rows('candidate_query'))
def test_the_query_of_a_row(row):
    resolved = resolved_of(row)
    found = candidate_query.queries(*resolved)
    asked = [row[key] for key in ('outcome', 'second') if row.get(key) is not None]
    assert len(found) == len(asked)
    assert candidate_query.query(*resolved) == (found[0] if len(found) == 1 else None)
    for text, expected in zip(found, asked, strict=True):
        rest, root = decoded(text, row.get('aggregates'))
        assert in_order(rest) == in_order(expected)
        assert root == [','.join([*row.get('root', ()), '!COMPUTE_STATUS_DISABLED'])]


@pytest.mark.parametrize(
    'row',
    [row for row in rows('candidate_query') if {'missing', 'outcome'} <= row.values[0].keys()],
)
def test_additional_requirements_of_nova_are_reported(row):
    """What our query lacks, according to the row, is an assumption or "at most"."""
    resolved = resolved_of(row)
    (host,) = resolved.cloud.hosts
    amounts = ('VCPU', 'MEMORY_MB', 'DISK_GB', 'MEM_ENCRYPTION_CONTEXT')
    resources = {name: Resource(4096, 0) for name in amounts}
    traits = host.traits.union(row.get('root', ()), TRAITS)
    uuids = frozenset(map(uuid_of, row.get('aggregates') or ()))
    known = host.but(resources=resources, traits=traits, aggregates=uuids)
    snapshot = replace(
        resolved.cloud,
        hosts=(known,),
        flavors=(resolved.request.flavor,),
        server_groups=(),
        quotas={},
    )
    asked = resolved.but(cloud=snapshot).with_settings(explicit=TOLD)
    decision = engine.plan(*asked.planned, [each() for each in OURS], remedies=False)
    assert decision.fits is not False
    assert not decision.as_dict()['certain'], decision.line()


def test_the_encoded_query():
    row = {'flavor': {'extra_specs': {'trait:É/ ~': 'required'}}}
    assert candidate_query.query(*resolved_of(row)) == (
        'required=%C3%89%2F+~&resources=DISK_GB%3A1%2CMEMORY_MB%3A512%2CVCPU%3A1'
        '&root_required=%21COMPUTE_STATUS_DISABLED'
    )


def test_an_unknown_flavor():
    unknown = with_values(NamedRequest(1, 'f'), Cloud())
    assert candidate_query.query(*unknown) is None


@pytest.mark.parametrize('resources', [None, {'PCPU': Resource(2, 2)}])
def test_a_host_that_may_have_pinned_cpus(resources):
    """Even if none are free, which does not affect the query."""
    row = {'image': None}
    plain = resolved_of(row)
    assert candidate_query.query(*plain) is not None
    hosts = (*plain.cloud.hosts, Host('cmp-2', 'cmp-2', resources=resources))
    resolved = plain.but(cloud=replace(plain.cloud, hosts=hosts))
    assert candidate_query.query(*resolved) is None


@pytest.mark.parametrize('is_asked', [True, False])
def test_a_nova_below_29_may_not_ask_for_the_zone(is_asked):
    zone = {'zone': 'az-1', 'aggregates': {'one': {'availability_zone': 'az-1'}}}
    asked = resolved_of({'image': {}, **zone})
    options = {'query_placement_for_availability_zone': is_asked}
    (text,) = candidate_query.queries(*asked.with_settings(options=options))
    assert ('member_of=' in text) == is_asked
