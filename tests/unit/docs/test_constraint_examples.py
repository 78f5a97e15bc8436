"""The examples of own constraints in the manual work with ``api.answer``."""

import json
import re
import sys
import textwrap

import pytest

from senlin_affinity import api
from senlin_affinity.constraints import base
from tests.unit.docs.test_manual import SOURCE, text_of

FOLDER = SOURCE / 'howto/own-constraint'


def block(page, begins):
    """Return the code block of a page with this line, without its indentation."""
    blocks = re.findall(r'^((?: {4}.*\n|\n)+)', text_of(page), re.MULTILINE)
    (found,) = (each for each in blocks if begins in each)
    return textwrap.dedent(found)


def view_of(tmp_path, servers, extra_specs):
    """Return the view of the page's racks with these servers on each host."""
    raw = json.loads((FOLDER / 'racks.json').read_text(encoding='utf-8'))
    for host in raw['hosts']:
        host['servers'] = servers
    for flavor in raw['flavors']:
        flavor['extra_specs'] = extra_specs
    (tmp_path / 'racks.json').write_text(json.dumps(raw), encoding='utf-8')
    return api.load(tmp_path / 'racks.json')


def test_the_reference_has_the_names_that_a_constraint_imports():
    section = text_of('reference/python.rst').partition('\nWrite constraints\n')[2]
    section = section.partition('\nTest constraints\n')[0]
    found = re.findall(r'^\.\. auto\w+:: [\w.]+\.(\w+)$|``(\w+)``', section, re.MULTILINE)
    names = {name for name in vars(base) if not name.startswith('_')}
    assert {first or other for first, other in found} == names - {'NAMESPACE', 'annotations'}


def test_an_own_list_of_constraints_needs_resources(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    from acme_racks.rack_limit import RackLimit

    monkeypatch.chdir(FOLDER)
    scope = {}
    exec(block('reference/library.rst', 'RackLimit()'), scope)
    assert (scope['decision'].capacity, scope['decision'].capacity_certain) == (4, 4)
    alone = api.answer(scope['question'], scope['view'], [RackLimit()])
    assert (alone.capacity, alone.capacity_certain) == (4, 0)
    sys.modules.pop('acme_racks.rack_limit')
    sys.modules.pop('acme_racks')


@pytest.mark.parametrize(
    ('servers', 'extra_specs', 'line'),
    [
        (0, {}, 'fits: 5 of 5 placed'),
        (9, {}, 'does not fit: 4 of 5 placed; 0/4 hosts left: feed.full on 4'),
        (10, {}, 'does not fit: 0 of 5 placed; 0/4 hosts left: feed.full on 4'),
        (0, {'acme:retired': ''}, 'does not fit: 0 of 5 placed'),
    ],
)
def test_the_class_with_both_checks_rejects_hosts_and_requests(
    tmp_path, servers, extra_specs, line
):
    from senlin_affinity.conf.constraint_plugins import load_constraints

    scope = {'base': base, 'Reason': base.Reason, 'Verdict': base.Verdict}
    exec(block('howto/own-constraint.rst', 'class Feed'), scope)
    question = api.Question(5, 'm1.tiny')
    resources = [each for each in load_constraints() if each.name == 'resources']
    view = view_of(tmp_path, servers, extra_specs)
    decision = api.answer(question, view, [*resources, scope['Feed']()])
    assert decision.line().startswith(line)
    assert ('feed.retired' in decision.line()) is bool(extra_specs)
