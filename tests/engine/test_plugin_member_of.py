"""A spec's member_of in the engine: looked up at validate and attach.

What the hook makes of it is in ``test_plugin_preflight``.
"""

import pytest
from senlin.common import exception as senlin_exception

from tests.engine.support import Desk, spec
from tests.support.edge import FORBIDDEN, SERVER_ERROR, Edge
from tests.support.fake_nova import FakeAggregate
from tests.support.fake_placement import FakePlacement

AGGREGATES = (FakeAggregate('agg-a'), FakeAggregate('agg-l'))
WANTED = spec(member_of=['agg-a', '!agg-l'])
LIST = 'GET /os-aggregates'
GROUPS = 'GET /os-server-groups'
OLD = (
    'properties.member_of: forbidden aggregates need Placement microversion 1.32, '
    'this cloud offers 1.31'
)


@pytest.fixture
def desk(_database):
    with Edge(placement=FakePlacement(), aggregates=AGGREGATES) as edge:
        yield Desk(edge)


def test_attach_looks_the_aggregates_up_before_it_creates_the_group(desk):
    done, data = desk.policy(WANTED).attach(desk.cluster())

    assert done, data
    asked = desk.edge.nova.requests()
    assert asked[0] == LIST
    assert GROUPS in asked
    assert desk.edge.placement.asked == []
    assert len(desk.edge.nova.groups) == 1


def test_attach_without_member_of_looks_nothing_up(desk):
    assert desk.policy(spec()).attach(desk.cluster())[0]
    assert LIST not in desk.edge.nova.requests()


@pytest.mark.parametrize(
    ('value', 'words'),
    [
        ('!agg-b', "properties.member_of[0]: no aggregate has the name 'agg-b'"),
        ('in:agg-a,!agg-l', 'properties.member_of[0]: '),
    ],
)
def test_r1_17_attach_with_an_aggregate_that_is_not_there(desk, value, words):
    done, why = desk.policy(spec(member_of=[value])).attach(desk.cluster())

    assert (done, words in why) == (False, True), why
    assert desk.edge.nova.groups == []


def test_rx_08_r1_42_attach_to_a_cloud_that_is_too_old(_database):
    with Edge(placement=FakePlacement(newest='1.31'), aggregates=AGGREGATES) as edge:
        desk = Desk(edge)
        done, why = desk.policy(WANTED).attach(desk.cluster())
        assert (done, OLD in why) == (False, True), why
        assert edge.nova.groups == []
        with pytest.raises(senlin_exception.InvalidSpec, match='microversion 1.32'):
            desk.policy(WANTED).validate(desk.context, validate_props=True)
        # What is only required, it knows.
        assert desk.policy(spec(member_of=['agg-a'])).attach(desk.cluster())[0]


def test_attach_for_a_user_who_may_not_see_aggregates(desk):
    desk.edge.fail('GET', '/os-aggregates', FORBIDDEN)
    done, why = desk.policy(WANTED).attach(desk.cluster())

    assert not done
    assert why == f'could not list the aggregates: Nova answered 403: {FORBIDDEN.words}'


def test_validate_asks_the_cloud_when_it_may(desk):
    wrong = desk.policy(spec(member_of=['agg-b']))
    assert wrong.validate(desk.context)
    assert desk.edge.nova.requests() == []
    with pytest.raises(senlin_exception.InvalidSpec, match='agg-b'):
        wrong.validate(desk.context, validate_props=True)
    assert desk.policy(WANTED).validate(desk.context, validate_props=True)


def test_validate_for_a_user_who_may_not_see_aggregates(desk, caplog):
    """R1-17: not an error, and one line in the log; the rest is checked."""
    desk.edge.fail('GET', '/os-aggregates', FORBIDDEN)
    with caplog.at_level('INFO'):
        assert desk.policy(WANTED).validate(desk.context, validate_props=True)
    assert caplog.messages == [
        'affinity policy web: the aggregates of member_of are not looked up before attach: '
        f'could not list the aggregates: Nova answered 403: {FORBIDDEN.words}'
    ]
    assert [record.levelname for record in caplog.records] == ['INFO']
    with pytest.raises(senlin_exception.InvalidSpec, match='nowhere'):
        desk.policy(spec(member_of=['agg-a'], availability_zone='nowhere')).validate(
            desk.context, validate_props=True
        )


def test_a_list_that_can_not_be_read_is_not_an_invalid_spec(desk):
    desk.edge.fail('GET', '/os-aggregates', SERVER_ERROR)
    with pytest.raises(senlin_exception.InternalError, match='could not be checked'):
        desk.policy(WANTED).validate(desk.context, validate_props=True)
