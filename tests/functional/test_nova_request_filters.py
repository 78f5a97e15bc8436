"""Isolated aggregates and those of tenants mean here what they mean to the real Nova."""

import json
import subprocess
import sys
import uuid
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

from senlin_affinity.core import isolation
from senlin_affinity.core.objects import Aggregate
from senlin_affinity.core.verdict import Verdict
from tests.tables import rows
from tests.unit.core.test_reservations import ISOLATED

ROOT = Path(__file__).parents[2]
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


class Nova:
    """Nova's filters, in a process of their own."""

    def __init__(self, process):
        self.process = process

    def ask(self, aggregates, flavor, image, **options):
        case = {
            'aggregates': {item.uuid: item.metadata for item in aggregates},
            'flavor': flavor,
            'image': image,
            'project': 'p1',
            'options': {
                'enable_isolated_aggregate_filtering': False,
                'limit_tenants_to_placement_aggregate': False,
                'placement_aggregate_required_for_tenants': False,
                **options,
            },
        }
        self.process.stdin.write(json.dumps(case) + '\n')
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, 'Nova has ended'
        return json.loads(answer)

    def isolated(self, aggregates, flavor, image):
        answer = self.ask(aggregates, flavor, image, enable_isolated_aggregate_filtering=True)
        assert answer['required'] == []
        return set(answer['forbidden'])

    def of_tenant(self, aggregates, is_required):
        """The uuids that are required, or the words of a refusal."""
        answer = self.ask(
            aggregates,
            {},
            {},
            limit_tenants_to_placement_aggregate=True,
            placement_aggregate_required_for_tenants=is_required,
        )
        if 'failed' in answer:
            return answer['failed']
        assert answer['forbidden'] == []
        return {frozenset(any_of) for any_of in answer['required']}


@pytest.fixture(scope='module')
def nova():
    with subprocess.Popen(
        [sys.executable, '-W', 'ignore', '-m', 'tests.functional.nova_request_filters'],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Nova(process)
        process.stdin.close()
        assert process.wait(timeout=30) == 0


def aggregates_of(named):
    return [
        Aggregate(str(uuid.uuid5(uuid.NAMESPACE_OID, name)), name, metadata=metadata)
        for name, metadata in named.items()
    ]


def check_tenant(answer, limited):
    if isinstance(limited, Verdict):
        assert 'No hosts available for tenant' in answer
    else:
        assert set(limited.required) == answer
        assert not limited.forbidden


@pytest.mark.parametrize('row', rows('isolated_aggregates'))
def test_isolated_as_in_the_table(nova, row):
    """Where we forbid less, the row says what Nova forbids."""
    aggregates = aggregates_of(row.get('aggregates', ISOLATED))
    found = nova.isolated(aggregates, row.get('flavor', {}), row.get('image', {}))
    named = sorted(item.name for item in aggregates if item.uuid in found)
    assert named == row.get('nova', row['forbidden'])


@pytest.mark.parametrize('row', rows('tenant_aggregates'))
def test_tenants_as_in_the_table(nova, row):
    aggregates, is_required = aggregates_of(row['aggregates']), row.get('required', False)
    limited = isolation.limit_to_tenant('p1', aggregates, is_aggregate_required=is_required)
    check_tenant(nova.of_tenant(aggregates, is_required), limited)


@hypothesis.settings(max_examples=150)
@hypothesis.given(
    st.lists(METADATA, max_size=5),
    keyed('trait', 'trait', 'trait1', 'trait_a-b'),
    keyed('trait', 'trait', 'trait1'),
    st.booleans(),
)
def test_nova_asks_placement_for_the_same(nova, metadata, flavor, image, is_required):
    aggregates = aggregates_of({str(number): item for number, item in enumerate(metadata)})
    traits = isolation.required_traits(flavor, image)
    ours = isolation.isolate(traits, aggregates)
    assert ours.forbidden == nova.isolated(aggregates, flavor, image)
    limited = isolation.limit_to_tenant('p1', aggregates, is_aggregate_required=is_required)
    check_tenant(nova.of_tenant(aggregates, is_required), limited)
