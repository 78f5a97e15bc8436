"""From a resolved request and a snapshot to a decision, without I/O.

Example: ``plan(request, snapshot, constraints).line()`` is ``fits: 2 of 2 placed``.
"""

from senlin_affinity.planner.planner import decide, plan

__all__ = ('decide', 'plan')
