"""From a resolved request and a snapshot to a decision, without I/O."""

from senlin_affinity.planner.planner import decide, plan

__all__ = ('decide', 'plan')
