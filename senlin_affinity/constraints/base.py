"""Where constraints are found, and what they are made of, for those who write one.

The protocols are those of :mod:`senlin_affinity.core.constraint`, where the planner reads them.
"""

from __future__ import annotations

from senlin_affinity.core.assumptions import Assumption as Assumption
from senlin_affinity.core.assumptions import OpenAssumption as OpenAssumption
from senlin_affinity.core.constraint import Constraint as Constraint
from senlin_affinity.core.constraint import Domain as Domain
from senlin_affinity.core.constraint import DomainConstraint as DomainConstraint
from senlin_affinity.core.constraint import HostConstraint as HostConstraint
from senlin_affinity.core.constraint import RequestConstraint as RequestConstraint
from senlin_affinity.core.host import Host as Host
from senlin_affinity.core.objects import ResolvedRequest as ResolvedRequest
from senlin_affinity.core.options import Option as Option
from senlin_affinity.core.planning.actions import Data as Data
from senlin_affinity.core.planning.decision import Kind as Kind
from senlin_affinity.core.planning.remedies import Remedying as Remedying
from senlin_affinity.core.planning.replanner import Change as Change
from senlin_affinity.core.planning.replanner import Planned as Planned
from senlin_affinity.core.planning.replanner import Replanner as Replanner
from senlin_affinity.core.planning.topology import domains_of as domains_of
from senlin_affinity.core.planning.topology import servers as servers
from senlin_affinity.core.reasons import Reason as Reason
from senlin_affinity.core.verdict import Verdict as Verdict

NAMESPACE = 'senlin_affinity.constraints'
