"""From the specs of a policy and a profile to what the planner is asked."""

import dataclasses

import pytest

from senlin_affinity.model.errors import AffinityError, InvalidSpec
from senlin_affinity.model.host import Host
from senlin_affinity.model.request import PlacementRequest, Rules
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.snapshot import CloudSnapshot, Flavor
from senlin_affinity.policy.properties import TYPE
from senlin_affinity.preflight import question
from senlin_affinity.preflight.cloud_view import CloudView
from senlin_affinity.preflight.question import Question
from tests.support.tables import as_tuples, check_error, raises, rows

WEB = ServerGroup('web-id', 'web', 'anti-affinity', {'max_server_per_host': 3})
FLAVOR = Flavor('f', 'small', vcpus=1, ram=512, disk=1)
SNAPSHOT = CloudSnapshot(hosts=(Host('cmp-1', 'cmp-1'),), server_groups=(WEB,))


def asked_of(row):
    given = row.get('properties')
    return Question(
        2,
        policy=None if given is None else {'type': TYPE, 'version': '1.1', 'properties': given},
        profile={'properties': {'flavor': 'small', **row.get('profile', {})}},
        options=as_tuples(row.get('rules', {})),
        **as_tuples(row.get('asked', {})),
    )


@pytest.mark.parametrize('row', rows('policy_request'))
def test_build(row):
    asked = asked_of(row)
    if raises(row):
        with pytest.raises(AffinityError) as caught:
            question.build(asked, CloudView(SNAPSHOT))
        check_error(row, caught.value)
        return
    made, snapshot, rules = question.build(asked, CloudView(SNAPSHOT))
    wanted = as_tuples(row['request'])
    group = row.get('group')
    if group is not None:
        (found,) = (
            item for item in snapshot.server_groups if made.server_group in (item.id, item.name)
        )
        shown = (found.name, found.policy, dict(found.rules))
        assert shown == (group['name'], group['policy'], group.get('rules', {}))
        wanted.setdefault('server_group', found.id)
    usual = {'count': 2, 'flavor': 'small', 'metadata_items': 3}  # those that Senlin adds
    assert made == PlacementRequest(**{**usual, **wanted})
    held = {key: frozenset(x) if key == 'explicit' else x for key, x in row.get('held', {}).items()}
    assert rules == dataclasses.replace(Rules(options=asked.options), **held)
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
    assert question.scope_of(asked_of(row)).server_groups == names


def test_groups_that_are_not_known():
    """A group of that name may be there, with members; without a name, one is created."""
    asked = asked_of({'properties': {'servergroup': {'name': 'web'}}})
    made, snapshot, _rules = question.build(asked, CloudView(CloudSnapshot()))
    assert (made.server_group, snapshot.server_groups) == ('web', None)
    made, snapshot, _rules = question.build(
        asked_of({'properties': {}}), CloudView(CloudSnapshot())
    )
    (group,) = snapshot.server_groups
    assert made.server_group == group.id


OURS = ServerGroup('g1', 'web', 'anti-affinity', project_id='ours')
THEIRS = ServerGroup('g2', 'web', 'affinity', project_id='theirs')


@pytest.mark.parametrize(
    ('name', 'groups', 'wanted'),
    [
        pytest.param('web', (THEIRS,), 'new', id='an attach would create one in the project'),
        pytest.param('web', (THEIRS, OURS), 'g1', id="the project's own goes first"),
        pytest.param('g1', (THEIRS, OURS), 'g1', id='by id'),
    ],
)
def test_a_group_is_found_as_an_attach_finds_it(name, groups, wanted):
    asked = asked_of({'properties': {'servergroup': {'name': name}}})
    cloud = CloudSnapshot(flavors=(FLAVOR,), server_groups=groups, project_id='ours')
    found = question.ask(asked, CloudView(cloud)).server_group
    assert found.id == wanted or (wanted == 'new' and found not in groups)
    assert found.policy == 'anti-affinity'


def test_a_group_of_another_project_by_its_id_must_match_too():
    asked = asked_of({'properties': {'servergroup': {'name': 'g2'}}})
    cloud = CloudSnapshot(server_groups=(THEIRS,), project_id='ours')
    with pytest.raises(InvalidSpec, match="doesn't match that of the existing"):
        question.build(asked, CloudView(cloud))


def test_a_group_that_only_another_project_has_may_be_named():
    """By an administrator, who sees both."""
    cloud = CloudSnapshot(flavors=(FLAVOR,), server_groups=(THEIRS,), project_id='ours')
    asked = asked_of({'asked': {'server_group': 'web'}})
    assert question.ask(asked, CloudView(cloud)).server_group == THEIRS
