"""The published JSON Schemas describe what ``plan`` prints, and what a snapshot may contain."""

import json
import re

import jsonschema
import pytest

from senlin_affinity.cloud import snapshot_file
from senlin_affinity.engine import changes
from senlin_affinity.model.errors import InvalidSpec
from tests.recordings import plans
from tests.unit.docs.test_manual import ROOT, SOURCE, table, text_of

#: By definition: the file that contains an item.
FILES = {
    'host': lambda item: {'hosts': [item]},
    'resource': lambda item: {'hosts': [{'host': 'a', 'resources': {'VCPU': item}}]},
    'grant': lambda item: {'hosts': [{'host': 'a', 'grants': [item]}]},
    'leftover': lambda item: {'hosts': [{'host': 'a', 'leftovers': [item]}]},
    'aggregate': lambda item: {'aggregates': [item]},
    'flavor': lambda item: {'flavors': [item]},
    'group': lambda item: {'server_groups': [item]},
    'member': lambda item: {'servers': [item]},
    'server': lambda item: {'servers_by_host': {str(item.get('host', 'a')): [item]}},
    'quota': lambda item: {'quotas': {'cores': item}},
    None: lambda item: item,
}
#: The required keys that are not texts.
NUMBERS = ('capacity', 'used', 'room', 'certain', 'vcpus', 'ram', 'disk', 'limit')
#: Of each JSON type, and near each limit.
VALUES = [
    *(None, True, -2, -1, 0, 1, 1.5, 2**31 - 1, 2**31, 2**40 + 1, 'x', '', 'affinity'),
    *([], ['x'], [1], [None], [['x']], [{}], {}, {'x': 'x'}, {'X': 1}, {'X': {}}, {'x': {}}),
    *({'max_server_per_host': 1}, {'limit': 1}, {'cores': {'limit': -1, 'used': 0}}),
    *({'cores': {'limit': -2}}, {'X': {'capacity': 1, 'used': 1}}, {'VCPU': None}),
]


def closed(schema):
    """Return the schema without keys that it does not name."""
    if isinstance(schema, list):
        return [*map(closed, schema)]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(each) for key, each in schema.items()}
    return {'additionalProperties': False, **found} if 'properties' in found else found


def read(name):
    schema = json.loads(text_of(f'reference/schemas/{name}.json'))
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


PLAN, SNAPSHOT = read('plan'), read('snapshot')
CASES = plans.read(plans.INPUTS)


@pytest.mark.parametrize('number', range(plans.NUMBER))
def test_recorded_plans_and_snapshots_have_exactly_these_keys(number):
    """Each key is in the schema, and has the type that it gives."""
    answer = plans.read(plans.ANSWERS)[number]
    jsonschema.Draft202012Validator(closed(PLAN)).validate(answer)
    jsonschema.Draft202012Validator(closed(SNAPSHOT)).validate(CASES[number]['snapshot'])


def test_the_published_snapshots_are_valid():
    paths = sorted((ROOT / 'etc/senlin-affinity/snapshots').glob('*.json'))
    assert len(paths) > 1
    for path in paths:
        jsonschema.Draft202012Validator(closed(SNAPSHOT)).validate(json.loads(path.read_text()))


def test_a_remedy_s_data_may_have_every_action():
    assert {*PLAN['$defs']['data']['properties']} == {*changes.ACTIONS}


def test_the_manual_lists_every_action_and_its_command():
    text = text_of('reference/library.rst')
    listed = {name for actions, *_ in table(text, 'remedy-actions') for name in actions.split(', ')}
    assert listed == {*changes.ACTIONS}
    named = re.search(r'The actions (.*?) have commands', text, re.DOTALL)[1]
    assert {*re.findall(r'\w+', named)} - {'and'} == {
        name for name, action in changes.ACTIONS.items() if action.commands
    }


@pytest.mark.parametrize('answer', [{}, {'fits': 'yes'}, {'hosts': [{}]}, {'remedies': [1]}])
def test_an_invalid_answer(answer):
    whole = answer and {**plans.read(plans.ANSWERS)[0], **answer}
    assert not jsonschema.Draft202012Validator(PLAN).is_valid(whole)


def is_read(name, item):
    try:
        snapshot_file.parse(json.dumps({'format': 1, **FILES[name](item)}))
    except InvalidSpec:
        return False
    return True


@pytest.mark.parametrize('name', FILES)
def test_the_schema_agrees_with_the_parser(name):
    """A value is valid for the schema if the parser accepts it, and no other value is.

    Only the parser checks that a pool exists, and that the names of aggregates are UUIDs.
    """
    schema = closed(SNAPSHOT['$defs'][name] if name else SNAPSHOT)
    needed = {*schema['required']} - {'format'}
    item = {key: 1 if key in NUMBERS else 'anti-affinity' for key in needed}
    if 'amounts' in item:
        item['amounts'] = {'VCPU': 1}
    assert is_read(name, item)
    for key in needed:
        assert not is_read(name, {each: item[each] for each in item if each != key})
    assert not is_read(name, {**item, 'unknown': None})
    judge = jsonschema.Draft202012Validator({**schema, '$defs': closed(SNAPSHOT['$defs'])})
    more = {} if name else {'format': 1}
    differences = [
        (key, value)
        for key in schema['properties'].keys() - {'format', 'pool'}
        for value in VALUES
        if judge.is_valid({**item, **more, key: value}) is not is_read(name, {**item, key: value})
    ]
    assert differences == []


def test_the_manual_publishes_each_schema():
    names = {path.stem for path in (SOURCE / 'reference/schemas').iterdir()}
    page = text_of('reference/json.rst')
    assert names == {'plan', 'snapshot'}
    assert all(f'.. json-schema:: schemas/{name}.json' in page for name in names)
