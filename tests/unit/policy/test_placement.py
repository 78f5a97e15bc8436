"""The hook returns placements or a rejection, and counts are validated."""

import pytest

from senlin_affinity.answers import hook
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import AffinityError
from senlin_affinity.model.numbers import whole
from senlin_affinity.policy import senlin_data
from senlin_affinity.policy.properties import TYPE, PolicySpec, load
from senlin_affinity.preflight.question import Question
from tests.support.fake_cloud import cloud_of
from tests.support.tables import check_error, raises, rows
from tests.support.values import replace

BOUND = 'XYZ-ABCD'


@pytest.mark.parametrize('row', rows('policy_placement'))
def test_place_nodes(row):
    cloud = cloud_of({key: row[key] for key in ('hosts', 'faults') if key in row})
    given = {'preflight': 'off', **row.get('properties', {})}
    wanted = load({'type': TYPE, 'version': '1.1', 'properties': given})
    bound = None if 'binding' in row else BOUND
    pattern = row.get('pattern', 'drs')

    def place():
        options = {'drs_pattern': pattern}
        question = Question(row['count'], server_group=bound, policy=wanted, options=options)
        hosts = cloud.hosts_named_like(pattern) if hook.is_cloud_needed(question) else ()
        return hook.place_nodes(question, (), Cloud(tuple(hosts))).answer

    if raises(row):
        with pytest.raises(AffinityError) as caught:
            place()
        check_error(row, caught.value)
    else:
        answer = place()
        kind = senlin_data.Placement if row['outcome'] == 'placed' else senlin_data.Refusal
        assert isinstance(answer, kind)
        assert answer.data() == row['data']
        assert place().data() == row['data'], 'RX-09: the second call returns the same'
        cloud.requests[:] = cloud.requests[: len(cloud.requests) // 2]
    if 'requests' in row:
        assert cloud.requests == row['requests']


def test_placements_and_refusals_have_a_line_for_the_log():
    assert senlin_data.Placement(2, 'XYZ-ABCD', 'nova_1').line() == (
        'places 2 node(s) into server group XYZ-ABCD in nova_1'
    )
    pinned = senlin_data.Placement(2, 'XYZ-ABCD', hosts=('az1:cmp-1', 'nova:cmp-2'))
    assert [entry['zone'] for entry in pinned.entries()] == ['az1:cmp-1', 'nova:cmp-2']
    assert pinned.line() == 'places 2 node(s) into server group XYZ-ABCD on az1:cmp-1, nova:cmp-2'
    some = senlin_data.Placement(2, 'XYZ-ABCD', hosts=('az-1', None))
    assert some.line() == 'places 2 node(s) into server group XYZ-ABCD on az-1, any'
    assert senlin_data.Placement(0, '').line() == 'places no node: the size does not change'
    assert senlin_data.Refusal('short', 'long').line() == 'rejects: short (long)'


@pytest.mark.parametrize('row', rows('policy_counts'))
def test_a_count_is_a_whole_number(row):
    if raises(row):
        with pytest.raises(AffinityError) as caught:
            whole(row['value'], 'inputs.count', 0)
        check_error(row, caught.value)
        return
    assert whole(row['value'], 'inputs.count', 0) == row['count']


@pytest.mark.parametrize('row', rows('policy_decided'))
def test_the_count_of_an_earlier_policy_is_read(row):
    if raises(row):
        with pytest.raises(AffinityError) as caught:
            senlin_data.decided_count(row['data'])
        check_error(row, caught.value)
        return
    assert senlin_data.decided_count(row['data']) == row['count']


@pytest.mark.parametrize(
    ('preflight', 'pins_hosts', 'is_planned'),
    [('off', False, False), ('off', True, True), ('warn', False, True), ('enforce', False, True)],
)
def test_the_preflight_runs_if_the_spec_needs_it(preflight, pins_hosts, is_planned):
    wanted = PolicySpec('1.1', preflight=preflight, pins_hosts=pins_hosts)
    assert senlin_data.is_planned(wanted) == is_planned
    bound = Question(2, server_group='g', policy=wanted)
    assert hook.is_cloud_needed(bound) == is_planned
    drs = replace(wanted, preflight='off', pins_hosts=False, is_drs_enabled=True)
    assert hook.is_cloud_needed(replace(bound, policy=drs))
    assert not hook.is_cloud_needed(replace(bound, count=0))
    assert not hook.is_cloud_needed(replace(bound, server_group=None))
