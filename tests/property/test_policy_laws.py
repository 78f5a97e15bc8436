"""Properties of the policy: specs, bindings, counts and placements."""

import json

from hypothesis import given
from hypothesis import strategies as st

from senlin_affinity.model.errors import BindingError, InvalidSpec
from senlin_affinity.policy import profile, properties
from senlin_affinity.policy.senlin_data import Binding, Placement
from tests.property.strategies import JSON, NAMES, check_words, nearly, policies_and_rules

RULES = {'max_server_per_host': 3}
GROUP = {'name': 'web', 'policies': 'anti-affinity', 'rules': RULES}
WEB = {'servergroup': GROUP, 'availability_zone': 'nova', 'enable_drs_extension': False}
SPECS = [
    {'type': properties.TYPE, 'version': '1.1', 'properties': WEB},
    {'type': properties.TYPE, 'version': 1.0, 'properties': {'servergroup': {}}},
]
DATA = {'servergroup_id': 'g', 'inherited_group': True, 'policy': 'x', 'rules': {}}
STORED = [{'AffinityPolicy': {'version': '1.1', 'data': DATA}}]
HINTS = ({'scheduler_hints': {'group': 'web'}}, {'scheduler_hints': {'group': 'web'}})
PROFILES = [{'type': 'os.nova.server', 'version': '1.0', **HINTS[0], 'properties': HINTS[1]}]


@st.composite
def bindings(draw):
    """Generate the bindings of an attach; one with spec 1.0 stores neither policy nor rules."""
    policy, rules = draw(policies_and_rules())
    version = draw(st.sampled_from(properties.VERSIONS))
    if version == '1.0':
        policy = rules = None
    return Binding(draw(NAMES), draw(st.booleans()), version, policy, rules)


@given(bindings())
def test_a_binding_survives_a_round_trip(bound):
    """Q3-4, RX-06; through JSON, as in the engine's database."""
    assert Binding.read(json.loads(json.dumps(bound.data()))) == bound


@given(JSON | nearly(STORED))
def test_stored_data_are_parsed_or_raise_binding_error(stored):
    """R3-28: a parsed binding can be stored again."""
    try:
        bound = Binding.read(stored)
    except BindingError:
        return
    if bound is not None:
        assert bound.servergroup_id
        again = bound.data()
        assert Binding.read(again).data() == again


@given(JSON | nearly(SPECS))
def test_a_spec_is_parsed_or_raises_invalid_spec(spec):
    """R3-05: the message begins with the path."""
    try:
        wanted = properties.load(spec)
    except InvalidSpec as error:
        for mistake in (error, *error.mistakes):
            check_words(mistake)
        return
    assert wanted.version in properties.VERSIONS
    assert wanted.rules is None or wanted.version == '1.1'


@given(JSON | nearly(PROFILES))
def test_a_group_hint_is_a_name_or_none_or_raises_invalid_spec(spec):
    """Q3-5: a profile that another release wrote causes no other exception."""
    try:
        hint = profile.group_hint(profile.check_applicable(spec))
    except InvalidSpec:
        return
    assert hint is None or (isinstance(hint, str) and hint)


@given(st.integers(0, 50), NAMES, st.none() | NAMES)
def test_a_placement_has_a_separate_entry_for_each_node(count, group, zone):
    """R3-11, R3-24, D3-12."""
    data = Placement(count, group, zone).data()['placement']
    entries = data['placements']
    assert data['count'] == len(entries) == len({id(entry) for entry in entries}) == count
    expected = {'servergroup': group} if zone is None else {'servergroup': group, 'zone': zone}
    assert all(entry == expected for entry in entries)
