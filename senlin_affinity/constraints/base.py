"""Export what constraints of this project and of other packages import.

:mod:`senlin_affinity.scenario.constraint` describes the base class of constraints.
"""

from __future__ import annotations

from senlin_affinity.model.bounds import Bounds as Bounds
from senlin_affinity.model.cloud import Cloud as Cloud
from senlin_affinity.model.host import Host as Host
from senlin_affinity.model.option import Option as Option
from senlin_affinity.model.proposal import Change as Change
from senlin_affinity.model.proposal import ChangedHosts as ChangedHosts
from senlin_affinity.model.proposal import Data as Data
from senlin_affinity.model.proposal import Evaluated as Evaluated
from senlin_affinity.model.proposal import Kind as Kind
from senlin_affinity.model.proposal import NewHosts as NewHosts
from senlin_affinity.model.proposal import OneOf as OneOf
from senlin_affinity.model.proposal import RaisedNumber as RaisedNumber
from senlin_affinity.model.request import Request as Request
from senlin_affinity.model.verdict import Assumption as Assumption
from senlin_affinity.model.verdict import OpenAssumption as OpenAssumption
from senlin_affinity.model.verdict import Reason as Reason
from senlin_affinity.model.verdict import Verdict as Verdict
from senlin_affinity.nova.topology import domains_of as domains_of
from senlin_affinity.scenario.constraint import Constraint as Constraint
from senlin_affinity.scenario.constraint import Domain as Domain
from senlin_affinity.scenario.constraint import Switch as Switch
from senlin_affinity.scenario.scenario import Scenario as Scenario

NAMESPACE = 'senlin_affinity.constraints'
#: The former name, for constraints of other packages.
CloudSnapshot = Cloud
