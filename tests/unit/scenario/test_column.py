"""Equal verdicts are one, and some hosts have verdicts by their names."""

from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.host import Host
from senlin_affinity.model.verdict import Verdict
from senlin_affinity.scenario.column import Column, distinct
from senlin_affinity.scenario.columns import Columns

OPEN, FULL = Verdict.passed('rack.open', room=2), Verdict.rejected('rack.full', servers=2)
FULLER = Verdict.rejected('rack.full', servers=3)
HOSTS = (Host('cmp-1', 'node-1'), Host('cmp-2'), Host('cmp-1', 'node-2'), Host('cmp-3'))
COLUMNS = Columns.of(Cloud(HOSTS))


def test_equal_verdicts_are_one():
    same = Verdict.rejected('rack.full', servers=2)
    assert distinct([FULL, OPEN, same, FULLER]) == ([FULL, OPEN, FULLER], [0, 1, 0, 2])
    assert distinct([]) == ([], [])


def test_all_hypervisors_of_a_service_host_have_its_verdict():
    column = Column.by_name(COLUMNS, OPEN, {'cmp-1': FULL, 'elsewhere': FULLER})
    assert [column.verdict(index) for index in range(4)] == [FULL, OPEN, FULL, OPEN]
    assert column.upper.tolist() == [0, 2, 0, 2]


def test_hosts_with_equal_verdicts_share_them():
    column = Column.by_name(COLUMNS, OPEN, {'cmp-1': FULL, 'cmp-3': FULL})
    assert column.verdict_of.tolist() == [1, 0, 1, 1]
    assert Column.by_name(Columns.of(Cloud()), OPEN, {}).verdict_of.tolist() == []
