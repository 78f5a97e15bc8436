"""A snapshot survives a round trip through its file, and invalid files are rejected."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from senlin_affinity.cloud.snapshot_file import parse, render
from senlin_affinity.model.cloud import Aggregate, Cloud, Flavor, Quota
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.host import CandidateCapacity, Host, Resource
from senlin_affinity.model.server_group import Member, ServerGroup
from tests.property.strategies import NAMES, check_words, nearly, policies_and_rules
from tests.unit.cloud.test_snapshot_file import DOCUMENT

TEXTS = st.text(st.characters(exclude_categories=['Cc', 'Cs', 'Zl', 'Zp']), max_size=8)
STORED = st.text(max_size=8)
COUNTS = st.integers(min_value=0, max_value=2**31 - 1)
UNITS = st.integers(min_value=1, max_value=2**31 - 1)
UUIDS = st.uuids().map(str)
SETS = st.frozensets(TEXTS, max_size=4)
BY_NAME = st.dictionaries(STORED, STORED, max_size=3)
CLASSES = st.sampled_from(['VCPU', 'MEMORY_MB', 'DISK_GB', 'CUSTOM_GPU_1'])
RESOURCES = st.builds(Resource, COUNTS, COUNTS, st.none() | UNITS, UNITS, st.booleans(), st.none())
HOSTS = st.builds(
    Host,
    NAMES,
    TEXTS,
    TEXTS,
    st.none() | TEXTS,
    st.booleans(),
    st.booleans(),
    st.frozensets(UUIDS, max_size=2),
    SETS,
    st.none() | st.dictionaries(CLASSES, RESOURCES, max_size=3),
    st.booleans(),
    st.booleans(),
    st.none()
    | st.lists(
        st.builds(CandidateCapacity, TEXTS, COUNTS, COUNTS),
        max_size=2,
        unique_by=lambda each: each.query,
    ).map(tuple),
)
FLAVORS = st.builds(Flavor, TEXTS, TEXTS, *[COUNTS] * 5, BY_NAME)
MEMBERS = st.builds(Member, TEXTS, *[st.none() | TEXTS] * 4)
QUOTAS = st.builds(Quota, st.none() | COUNTS, st.none() | COUNTS)


def lists(things, key):
    return st.none() | st.lists(things, max_size=3, unique_by=key).map(tuple)


@st.composite
def groups(draw):
    policy, rules = draw(policies_and_rules())
    members = draw(lists(MEMBERS, lambda member: member.server)) or ()
    return ServerGroup(draw(TEXTS), draw(TEXTS), policy, rules, members, draw(st.none() | TEXTS))


SNAPSHOTS = st.builds(
    Cloud,
    hosts=lists(HOSTS, lambda host: (host.host, host.hypervisor_hostname)),
    aggregates=lists(
        st.builds(Aggregate, UUIDS, TEXTS, st.none() | TEXTS, BY_NAME), lambda item: item.uuid
    ),
    flavors=lists(FLAVORS, lambda flavor: flavor.id),
    server_groups=lists(groups(), lambda group: group.id),
    quotas=st.none()
    | st.dictionaries(st.sampled_from(['cores', 'ram', 'server_groups']), QUOTAS, max_size=3),
    taken_at=st.none() | TEXTS,
    availability_zones=st.none() | SETS,
    closed_zones=SETS,
    answered=SETS,
    compared_aggregates=st.frozensets(st.frozensets(UUIDS, max_size=2), max_size=2),
)


@given(SNAPSHOTS)
def test_a_snapshot_survives_a_round_trip(snapshot):
    assert parse(''.join(render(snapshot))) == snapshot


@given(st.data(), SNAPSHOTS)
def test_a_duplicate_key_is_rejected_with_its_path(data, snapshot):
    document = json.loads(''.join(render(snapshot)))
    objects = [(path, each) for path, each in walked(document) if each]
    path, chosen = data.draw(st.sampled_from(objects))
    key = data.draw(st.sampled_from(sorted(chosen)))
    placeholder = 'the key that occurs twice'
    chosen[placeholder] = chosen[key]
    text = json.dumps(document).replace(json.dumps(placeholder), json.dumps(key))
    with pytest.raises(InvalidSpec) as caught:
        parse(text)
    assert caught.value.message == 'occurs twice'
    assert caught.value.path.strip('.') == f'{path}.{key}'.strip('.')


def walked(value, path=''):
    """Yield every object in a document, with its path."""
    if isinstance(value, dict):
        yield path, value
        for key, item in value.items():
            yield from walked(item, f'{path}.{key}')
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from walked(item, f'{path}[{number}]')


@given(nearly([DOCUMENT]))
def test_a_nearly_valid_file_is_parsed_or_rejected_with_a_message(document):
    try:
        parse(json.dumps(document))
    except InvalidSpec as error:
        check_words(error)
