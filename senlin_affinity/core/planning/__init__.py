"""From a request and a snapshot to a decision: the parts that ``core.planner`` puts together."""
