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
from senlin_affinity.core.objects import Host, ResolvedRequest
from senlin_affinity.core.options import Option
from senlin_affinity.core.planning.decision import Kind
from senlin_affinity.core.planning.remedies import Remedying
from senlin_affinity.core.planning.replanner import Change, Replanner
from senlin_affinity.core.planning.topology import domains_of, servers
from senlin_affinity.core.reasons import Reason
from senlin_affinity.core.verdict import Verdict

NAMESPACE = 'senlin_affinity.constraints'

__all__ = [
    'NAMESPACE',
    'Change',
    'Constraint',
    'Domain',
    'DomainConstraint',
    'Host',
    'HostConstraint',
    'Kind',
    'Option',
    'Reason',
    'Remedying',
    'Replanner',
    'RequestConstraint',
    'ResolvedRequest',
    'Verdict',
    'domains_of',
    'servers',
]
