"""The dashboard has the structure that Grafana requires, and names metrics that exist."""

import itertools
import json
import re

import jsonschema
import pytest
import yaml

from senlin_affinity import api
from senlin_affinity.cli import metrics
from senlin_affinity.engine.flavor_capacity import Capacity
from senlin_affinity.engine.parts import HOST
from senlin_affinity.model.cloud import Cloud
from tests.unit.docs.test_manual import ROOT

FOLDER = ROOT / 'etc/senlin-affinity'
DASHBOARD = json.loads((FOLDER / 'grafana/capacity.json').read_text(encoding='utf-8'))
ALERTS = yaml.safe_load((FOLDER / 'prometheus/alerts.yml').read_text(encoding='utf-8'))
TEXT = {'type': 'string', 'minLength': 1}
SOURCE = {
    'type': 'object',
    'required': ['type', 'uid'],
    'properties': {'type': {'const': 'prometheus'}, 'uid': {'const': '${datasource}'}},
}
MATCHED = {
    'type': 'object',
    'required': ['matcher', 'properties'],
    'properties': {
        'matcher': {'type': 'object', 'required': ['id'], 'properties': {'id': TEXT}},
        'properties': {'type': 'array', 'items': {'type': 'object', 'required': ['id', 'value']}},
    },
}
#: What the kind "Dashboard" of Grafana 9 and 10 requires, and what our panels need besides.
SCHEMA = {
    'type': 'object',
    'required': ['uid', 'title', 'schemaVersion', 'time', 'templating', 'panels'],
    'properties': {
        'id': False,
        'uid': {'type': 'string', 'minLength': 8, 'maxLength': 40},
        'title': TEXT,
        'tags': {'type': 'array', 'items': TEXT},
        'schemaVersion': {'type': 'integer', 'minimum': 36},
        'version': {'type': 'integer', 'minimum': 0},
        'editable': {'type': 'boolean'},
        'graphTooltip': {'enum': [0, 1, 2]},
        'refresh': {'type': 'string', 'pattern': r'^\d+[smhd]$'},
        'time': {
            'type': 'object',
            'required': ['from', 'to'],
            'properties': {'from': TEXT, 'to': TEXT},
        },
        'timezone': {'enum': ['browser', 'utc']},
        'annotations': {'type': 'object', 'properties': {'list': {'type': 'array'}}},
        'links': {'type': 'array'},
        'templating': {
            'type': 'object',
            'required': ['list'],
            'properties': {
                'list': {
                    'type': 'array',
                    'items': {
                        'type': 'object',
                        'required': ['name', 'type', 'hide', 'query'],
                        'properties': {
                            'name': {'type': 'string', 'pattern': r'^\w+$'},
                            'type': {'enum': ['query', 'datasource']},
                            'hide': {'enum': [0, 1, 2]},
                            'datasource': SOURCE,
                            'query': {'type': ['string', 'object']},
                        },
                    },
                }
            },
        },
        'panels': {
            'type': 'array',
            'minItems': 1,
            'items': {
                'type': 'object',
                'required': [
                    'id', 'type', 'title', 'datasource', 'gridPos', 'fieldConfig', 'options',
                    'targets',
                ],
                'properties': {
                    'id': {'type': 'integer', 'minimum': 1},
                    'type': {'enum': ['stat', 'timeseries', 'table']},
                    'title': TEXT,
                    'datasource': SOURCE,
                    'gridPos': {
                        'type': 'object',
                        'required': ['h', 'w', 'x', 'y'],
                        'additionalProperties': False,
                        'properties': {
                            'h': {'type': 'integer', 'minimum': 1},
                            'w': {'type': 'integer', 'minimum': 1, 'maximum': 24},
                            'x': {'type': 'integer', 'minimum': 0, 'maximum': 23},
                            'y': {'type': 'integer', 'minimum': 0},
                        },
                    },
                    'fieldConfig': {
                        'type': 'object',
                        'required': ['defaults', 'overrides'],
                        'properties': {'overrides': {'type': 'array', 'items': MATCHED}},
                    },
                    'options': {'type': 'object'},
                    'transformations': {
                        'type': 'array',
                        'items': {'type': 'object', 'required': ['id', 'options']},
                    },
                    'targets': {
                        'type': 'array',
                        'minItems': 1,
                        'items': {
                            'type': 'object',
                            'required': ['refId', 'datasource', 'expr'],
                            'properties': {
                                'refId': {'type': 'string', 'pattern': '^[A-Z]$'},
                                'datasource': SOURCE,
                                'expr': TEXT,
                            },
                        },
                    },
                },
            },
        },
    },
}  # fmt: skip


def queries():
    """Return the queries of the panels."""
    return [target['expr'] for panel in DASHBOARD['panels'] for target in panel['targets']]


def rules():
    return [rule for group in ALERTS['groups'] for rule in group['rules']]


def known():
    """Return the names of all metrics of the exporter, and of their labels."""
    every = [
        *metrics.of_capacity(Capacity((), HOST)),
        *metrics.of_snapshot(Cloud()),
        *metrics.of_resilience((), Cloud(), 'zone'),
        metrics.of_orphans(0),
        metrics.of_findings({}, ''),
        *metrics.of_refreshes('', up={}, requests={}, refreshes={}, seconds=None),
    ]
    return {f'{each.name}{"_total" * (each.kind == "counter")}': {*each.labels} for each in every}


def test_the_dashboard_has_the_structure_of_grafana():
    jsonschema.Draft202012Validator(SCHEMA).validate(DASHBOARD)


def test_ids_are_unique_and_panels_do_not_overlap():
    panels = DASHBOARD['panels']
    assert len({panel['id'] for panel in panels}) == len(panels)
    for one, other in itertools.combinations([panel['gridPos'] for panel in panels], 2):
        is_beside = one['x'] + one['w'] <= other['x'] or other['x'] + other['w'] <= one['x']
        is_below = one['y'] + one['h'] <= other['y'] or other['y'] + other['h'] <= one['y']
        assert is_beside or is_below, (one, other)
    assert all(panel['gridPos']['x'] + panel['gridPos']['w'] <= 24 for panel in panels)
    for panel in panels:
        names = [target['refId'] for target in panel['targets']]
        assert len({*names}) == len(names)


def test_every_variable_exists_and_the_first_one_is_the_data_source():
    variables = [each['name'] for each in DASHBOARD['templating']['list']]
    assert variables[0] == 'datasource'
    used = {*re.findall(r'\$(\w+)', ' '.join(queries()))}
    assert used <= {*variables, '__rate_interval'}
    assert {*variables} - used == {'datasource'}


@pytest.mark.parametrize('query', [*queries(), *(rule['expr'] for rule in rules())])
def test_a_query_names_metrics_and_labels_that_exist(query):
    found = re.findall(r'(senlin_affinity_\w+)(?:\{([^}]*)\})?', query)
    assert found
    for name, matchers in found:
        labels = known()[name]
        assert {*re.findall(r'(\w+)=~', matchers)} <= labels
    for words in re.findall(r'(?:by|without) \(([^)]*)\)', query):
        assert {*words.split(', ')} <= set().union(*(known()[name] for name, _ in found))


def test_the_capacity_of_no_flavor_has_no_sample():
    """``known`` relies on families without samples."""
    view = Cloud(hosts=(), flavors=())
    assert metrics.text(metrics.of_capacity(api.capacity(view))) == ''


def test_the_manual_lists_every_metric():
    page = (ROOT / 'doc/source/reference/command.rst').read_text(encoding='utf-8')
    names = {name.removeprefix('senlin_affinity_') for name in known()}
    assert {name for name in names if f'``{name}``' not in page} == set()
