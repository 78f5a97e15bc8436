"""Two racks of two hosts take four servers, if each rack may hold two."""

from pathlib import Path

from acme_racks.rack_limit import RackLimit

from senlin_affinity import api, testing
from senlin_affinity.conf.constraint_plugins import load_constraints

VIEW = api.load(Path(__file__).parents[1] / 'racks.json')
QUESTION = api.Question(5, 'm1.tiny', server_group='web', options={'most_per_rack': 2})


def test_a_rack_holds_no_more_than_the_limit():
    resources = [each for each in load_constraints() if each.name == 'resources']
    decision = api.answer(QUESTION, VIEW, [RackLimit(), *resources])
    assert (decision.capacity, decision.capacity_certain) == (4, 4)
    assert {host.code for host in decision.hosts} == {'rack_limit.full'}
    assert [str(each) for each in decision.remedies] == ['most_per_rack: 3 (capacity 6)']


def test_the_constraint_keeps_the_rules_of_the_planner():
    testing.check(RackLimit(), QUESTION, VIEW)
