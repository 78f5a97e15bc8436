"""Where constraints are found, and what they are made of, for those who write one.

The protocols are those of :mod:`senlin_affinity.core.constraint`, where the planner reads them.
"""

from __future__ import annotations

from senlin_affinity.core.constraint import (
    Constraint,
    Domain,
    DomainConstraint,
    HostConstraint,
    RequestConstraint,
)
from senlin_affinity.core.objects import Host, Question
from senlin_affinity.core.reasons import Reason
from senlin_affinity.core.verdict import Verdict

NAMESPACE = 'senlin_affinity.constraints'

__all__ = [
    'NAMESPACE',
    'Constraint',
    'Domain',
    'DomainConstraint',
    'Host',
    'HostConstraint',
    'Question',
    'Reason',
    'RequestConstraint',
    'Verdict',
]
