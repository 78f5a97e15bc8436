"""A spec's ``member_of``, as the cloud understands it: names become UUIDs, and it can be kept to.

The way of the data: the expression of a spec and Nova's aggregates make one :class:`MemberOf`;
whether Placement is new enough for it is found out at the same time, so that a cluster never has
a policy that its cloud can not keep.

Requests: 1 (the aggregates), and the version of Placement; none without ``member_of``.

Errors: InvalidSpec for a name that no aggregate has or that two have, and for a cloud that is too
old (RX-08, R1-42), with the property's path; CloudError, also where the user may not see
aggregates.
"""

from __future__ import annotations

from senlin_affinity.core.aggregate_names import resolve
from senlin_affinity.core.member_of import MemberOf
from senlin_affinity.core.ports import Candidates, Inventory
from senlin_affinity.policy.properties import Properties

PATH = 'properties.member_of'


def member_of(properties: Properties, inventory: Inventory, candidates: Candidates) -> MemberOf:
    """What the spec asks of the hosts' aggregates."""
    if not properties.member_of:
        return MemberOf()
    found = resolve(properties.member_of, inventory.aggregates(), PATH)
    candidates.check_version(found, PATH)
    return found
