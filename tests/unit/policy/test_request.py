"""From the specs of a policy and a profile to what the planner is asked."""

import dataclasses

import pytest

from senlin_affinity.core.errors import AffinityError
from senlin_affinity.core.objects import CloudSnapshot, Host, PlacementRequest, Rules
from senlin_affinity.core.server_group import ServerGroup
from senlin_affinity.policy import request
from senlin_affinity.policy.properties import TYPE, load
from senlin_affinity.policy.request import Asked
from tests.tables import check_error, raises, rows

WEB = ServerGroup('web-id', 'web', 'anti-affinity', {'max_server_per_host': 3})
SNAPSHOT = CloudSnapshot(hosts=(Host('cmp-1', 'cmp-1'),), server_groups=(WEB,))


def tuples(values):
    return {key: tuple(each) if isinstance(each, list) else each for key, each in values.items()}


def asked_of(row):
    given = row.get('properties')
    return Asked(
        2,
        properties=None
        if given is None
        else load({'type': TYPE, 'version': '1.1', 'properties': given}),
        profile={'properties': {'flavor': 'small', **row.get('profile', {})}},
        rules=Rules(**tuples(row.get('rules', {}))),
        **tuples(row.get('asked', {})),
    )


@pytest.mark.parametrize('row', rows('policy_request'))
def test_build(row):
    asked = asked_of(row)
    if raises(row):
        with pytest.raises(AffinityError) as caught:
            request.build(asked, SNAPSHOT)
        check_error(row, caught.value)
        return
    made, snapshot, rules = request.build(asked, SNAPSHOT)
    wanted = tuples(row['request'])
    group = row.get('group')
    if group is not None:
        (found,) = (
            item for item in snapshot.server_groups if made.server_group in (item.id, item.name)
        )
        shown = (found.name, found.policy, dict(found.rules))
        assert shown == (group['name'], group['policy'], group.get('rules', {}))
        wanted.setdefault('server_group', found.id)
    assert made == PlacementRequest(**{'count': 2, 'flavor': 'small', **wanted})
    assert rules == dataclasses.replace(asked.rules, **row.get('held', {}))
    assert (snapshot.hosts == SNAPSHOT.hosts) == row.get('hosts', True)


@pytest.mark.parametrize(
    ('row', 'names'),
    [
        ({}, ()),
        ({'properties': {}}, ()),
        ({'properties': {'servergroup': {'name': 'web'}}}, ('web',)),
        ({'profile': {'scheduler_hints': {'group': 'db'}}}, ('db',)),
        ({'profile': {'scheduler_hints': {'group': 'db'}}, 'asked': {'server_group': 'x'}}, ('x',)),
    ],
)
def test_groups_that_are_asked_about(row, names):
    assert request.groups(asked_of(row)) == names


def test_groups_that_are_not_known():
    """The group that an attach creates is the one that is known."""
    asked = asked_of({'properties': {'servergroup': {'name': 'web'}}})
    made, snapshot, _rules = request.build(asked, CloudSnapshot())
    (group,) = snapshot.server_groups
    assert (made.server_group, group.name) == (group.id, 'web')
