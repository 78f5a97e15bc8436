"""Hosts that are changed by index are planned like the change of a remedy."""

from senlin_affinity.conf.installed import load_constraints
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.request import PlacementRequest
from senlin_affinity.model.snapshot import CloudSnapshot, Flavor
from senlin_affinity.planner.evaluation import evaluate
from senlin_affinity.planner.resolution import resolve
from senlin_affinity.planner.what_if import WhatIf


def test_changed_hosts_are_planned_like_the_change():
    resources = {'VCPU': Resource(4, 0), 'MEMORY_MB': Resource(4096, 0), 'DISK_GB': Resource(9, 0)}
    names = ('cmp-1', 'cmp-2', 'cmp-3', 'cmp-4')
    hosts = tuple(
        Host(name, name, 'QEMU', 'az', name == 'cmp-1', resources=resources) for name in names
    )
    cloud = CloudSnapshot(hosts, (), (Flavor('f', 'f', 1, 512, 1),), (), {})
    constraints = load_constraints()
    planner = WhatIf(evaluate(resolve(PlacementRequest(20, 'f'), cloud), constraints))
    started = {place: hosts[place].but(enabled=True) for place in (1, 3)}
    data = {'enabled_hosts': ['cmp-2', 'cmp-4']}
    changed, whole = planner.plan_hosts(data, started), planner.plan(data)
    assert changed.capacity == 12
    assert changed.after.resolved == whole.after.resolved
    assert changed.after.total == whole.after.total
    assert changed.after.matrix == whole.after.matrix
