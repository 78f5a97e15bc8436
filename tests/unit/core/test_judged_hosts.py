"""Changed hosts that were asked about once are planned as if they were asked about again."""

from senlin_affinity.conf.installed import load_constraints
from senlin_affinity.core.host import Host, Resource
from senlin_affinity.core.objects import CloudSnapshot, Flavor, PlacementRequest
from senlin_affinity.core.planning.evaluation import evaluate
from senlin_affinity.core.planning.replanner import Replanner
from senlin_affinity.core.planning.resolution import resolve


def test_some_of_the_hosts_that_were_judged_are_planned_as_if_they_were_not():
    resources = {'VCPU': Resource(4, 0), 'MEMORY_MB': Resource(4096, 0), 'DISK_GB': Resource(9, 0)}
    names = ('cmp-1', 'cmp-2', 'cmp-3', 'cmp-4')
    hosts = tuple(
        Host(name, name, 'QEMU', 'az', name == 'cmp-1', resources=resources) for name in names
    )
    cloud = CloudSnapshot(hosts, (), (Flavor('f', 'f', 1, 512, 1),), (), {})
    constraints = load_constraints()
    planner = Replanner(evaluate(resolve(PlacementRequest(20, 'f'), cloud), constraints))
    judged = planner.judge((1, 2, 3), [host.but(enabled=True) for host in hosts[1:]]).at((0, 2))
    data = {'enabled_hosts': ['cmp-2', 'cmp-4']}
    told, asked = planner.plan_hosts(data, judged), planner.plan(data)
    assert told.capacity == 12
    assert told.then.resolved == asked.then.resolved
    assert told.then.room == asked.then.room
    assert told.then.table == asked.then.table
