"""Attach a policy in a separate process like Senlin's engine: JSON lines in, JSON lines out.

Run it with ``python -m tests.functional.engine_process``. Each process has its own installed
packages.

Shapes::

    {"specs": {"acme:rack": "r12"}, "mode": "strict", "clusters": 2}
    {"answers": [[true, {...}], [false, "flavor ..."]], "other": true, "nova": []}

``other`` states whether another green thread ran meanwhile, ``nova`` lists the loaded modules of
Nova.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import eventlet
import senlin.cmd  # noqa: F401 - as in senlin-engine, eventlet replaces the blocking parts first

from tests.engine.support import Desk, make_database, spec
from tests.support.edge import Edge
from tests.support.fake_nova import FakeFlavor


def answer(case: Mapping[str, Any]) -> dict[str, Any]:
    """Attach the policy to clusters with this flavor at the same time, and return the results."""
    turns = []
    with Edge(flavors=[FakeFlavor('tiny', 'm1.tiny', case['specs'])]) as edge:
        desk = Desk(edge)
        policy = desk.policy(spec(extra_specs=case['mode'], servergroup={'name': 'web'}))
        edge.nova.add_group('web')
        clusters = [desk.cluster() for _ in range(case.get('clusters', 1))]
        running = [eventlet.spawn(policy.attach, cluster) for cluster in clusters]
        eventlet.spawn(lambda: turns.append(any(not each.dead for each in running)))
        answers = [each.wait() for each in running]
    return {
        'answers': answers,
        'other': any(turns),
        'nova': sorted(name for name in sys.modules if name.partition('.')[0] == 'nova'),
    }


def main() -> None:
    """Answer each line of the input."""
    make_database()
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)  # noqa: T201


if __name__ == '__main__':
    main()
