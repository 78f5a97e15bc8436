"""From a request and a cloud to a decision, without I/O."""

from senlin_affinity.engine.decide import decide as decide
from senlin_affinity.engine.decide import decision_of as decision_of
from senlin_affinity.engine.decide import plan as plan
