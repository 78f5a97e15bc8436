"""A spec's member_of in the engine: resolved at validation and at attach.

The hook is tested in ``test_plugin_preflight``.
"""

import pytest
from senlin.common import exception as senlin_exception

from tests.engine.support import Desk, done, refused, spec
from tests.support.edge import FORBIDDEN, SERVER_ERROR, Edge
from tests.support.fake_nova import FakeAggregate
from tests.support.fake_placement import FakePlacement

AGGREGATES = (FakeAggregate('agg-a'), FakeAggregate('agg-l'))
WANTED = spec(member_of=['agg-a', '!agg-l'])
LIST = 'GET /os-aggregates'
OLD = 'properties.member_of: forbidden aggregates need Placement microversion 1.32, '


@pytest.fixture
def desk(_database):
    with Edge(placement=FakePlacement(), aggregates=AGGREGATES) as edge:
        yield Desk(edge)


def test_attach_resolves_the_aggregates_before_it_creates_the_group(desk):
    done(desk.policy(spec()).attach(desk.cluster()))
    assert LIST not in desk.edge.nova.requests()
    desk.edge.nova.asked.clear()
    done(desk.policy(WANTED).attach(desk.cluster()))
    assert desk.edge.nova.requests()[:2] == ['POST /servers', LIST]
    assert desk.edge.placement.asked == []
    assert len(desk.groups()) == 2


def test_r1_17_attach_with_an_unknown_aggregate(desk):
    why = refused(desk.policy(spec(member_of=['!agg-b'])).attach(desk.cluster()))
    assert "properties.member_of[0]: no aggregate has the name 'agg-b'" in why
    desk.edge.fail('GET', '/os-aggregates', FORBIDDEN)
    why = refused(desk.policy(WANTED).attach(desk.cluster()))
    assert why == f'could not list the aggregates: Nova answered 403: {FORBIDDEN.words}'
    assert desk.groups() == []


def test_rx_08_r1_42_attach_to_a_cloud_that_is_too_old(_database):
    with Edge(placement=FakePlacement(newest='1.31'), aggregates=AGGREGATES) as edge:
        desk = Desk(edge)
        why = refused(desk.policy(WANTED).attach(desk.cluster()))
        assert f'{OLD}this cloud offers 1.31' in why
        assert edge.nova.groups == []
        with pytest.raises(senlin_exception.InvalidSpec, match='microversion 1.32'):
            desk.policy(WANTED).validate(desk.context, validate_props=True)
        # What is only required, it knows.
        done(desk.policy(spec(member_of=['agg-a'])).attach(desk.cluster()))


def test_validate_for_a_user_who_may_not_list_aggregates(desk, caplog):
    """R1-17: not an error, and one line in the log; the rest is checked."""
    desk.edge.fail('GET', '/os-aggregates', FORBIDDEN)
    with caplog.at_level('INFO'):
        assert desk.policy(WANTED).validate(desk.context, validate_props=True)
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        (
            'INFO',
            'affinity policy web: the aggregates of member_of are not looked up before attach: '
            f'could not list the aggregates: Nova answered 403: {FORBIDDEN.words}',
        )
    ]
    both = desk.policy(spec(member_of=['agg-a'], availability_zone='nowhere'))
    with pytest.raises(senlin_exception.InvalidSpec, match='nowhere'):
        both.validate(desk.context, validate_props=True)


@pytest.mark.parametrize(
    ('wanted', 'is_cloud_checked'),
    [(spec(), True), (spec(availability_zone='nowhere'), False), (WANTED, False)],
    ids=['neither', 'zone', 'aggregates'],
)
def test_validate_reads_the_cloud_only_for_a_zone_and_aggregates(desk, wanted, is_cloud_checked):
    assert desk.policy(wanted).validate(desk.context, validate_props=is_cloud_checked)
    assert (desk.edge.tokens, desk.edge.nova.requests()) == (0, [])


def test_validate_reports_a_cloud_that_fails(desk):
    desk.edge.fail('GET', '/os-aggregates', SERVER_ERROR)
    words = 'the spec could not be checked: could not list the aggregates'
    with pytest.raises(senlin_exception.InternalError, match=words):
        desk.policy(WANTED).validate(desk.context, validate_props=True)
