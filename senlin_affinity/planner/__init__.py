"""From a request and a cloud to a decision, without I/O."""

from senlin_affinity.planner.planner import decide as decide
from senlin_affinity.planner.planner import decision_of as decision_of
from senlin_affinity.planner.planner import plan as plan
