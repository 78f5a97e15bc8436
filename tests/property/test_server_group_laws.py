"""Properties of server groups: they survive a round trip, and malformed ones are rejected."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.model.server_group import ServerGroup, create_body, parse_create
from tests.property.strategies import JSON, NAMES, check_words, nearly, policies_and_rules

THREE = {'max_server_per_host': 3}
REQUESTS = [
    {'server_group': {'name': 'web', 'policy': 'anti-affinity', 'rules': THREE}},
    {'server_group': {'name': 'web', 'policy': {'name': 'anti-affinity', 'rules': {}}}},
    {'server_group': {'name': 'web', 'policy': {'name': 'affinity'}}},
]
WEB = {'id': 'g', 'name': 'web'}
ANSWERS = [
    {**WEB, 'policies': ['anti-affinity'], 'members': ['a'], 'metadata': {}},
    {
        **WEB,
        'policy': 'anti-affinity',
        'rules': THREE,
        'members': ['a', {'server': 'b', 'host': 'cmp-1'}],
    },
    {'server_group': {**WEB, 'policy': {'name': 'affinity'}, 'members': []}},
]


@given(NAMES, policies_and_rules(), st.sampled_from([(2, 64), (2, 100), (3, 0)]))
def test_a_created_group_survives_a_round_trip(name, group, microversion):
    """Nova returns the request with an id and members (R2-01, R2-02, Q2-1); the format of document
    002 is equivalent (D2-01).
    """
    policy, rules = group
    body = create_body(name, policy, rules, microversion)
    answer = {'rules': {}, **body['server_group'], 'id': 'g', 'members': []}
    assert ServerGroup.from_api(answer) == ServerGroup('g', name, policy, rules)
    nested = {'name': policy, **({'rules': rules} if rules else {})}
    for request in (body, {'server_group': {'name': name, 'policy': nested}}):
        assert parse_create(request) == ServerGroup('', name, policy, rules)


@given(NAMES, policies_and_rules(), st.tuples(st.just(2), st.integers(15, 63)))
def test_below_2_64_rules_are_rejected_and_other_groups_created(name, group, microversion):
    """Q2-3: rules are never dropped silently."""
    policy, rules = group
    if rules:
        with pytest.raises(InvalidSpec):
            create_body(name, policy, rules, microversion)
        return
    body = create_body(name, policy, rules, microversion)
    answer = {**body['server_group'], 'id': 'g', 'members': [], 'metadata': {}}
    assert ServerGroup.from_api(answer) == ServerGroup('g', name, policy)


@given(JSON | nearly(REQUESTS))
def test_a_request_is_parsed_or_raises_invalid_spec(body):
    try:
        group = parse_create(body)
    except InvalidSpec as error:
        check_words(error)
        return
    assert parse_create(create_body(group.name, group.policy, group.rules, (2, 64))) == group


@given(JSON | nearly(ANSWERS))
def test_a_response_is_parsed_or_raises_cloud_error(body):
    try:
        group = ServerGroup.from_api(body)
    except CloudError:
        return
    assert group.max_server_per_host is None or group.max_server_per_host >= 1
    assert all(isinstance(member.server, str) for member in group.members)
