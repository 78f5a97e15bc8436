"""What the decisions ask of a cloud, as protocols: the adapters in ``cloud`` answer them.

Every method raises :class:`~senlin_affinity.core.errors.CloudError` when it could not find out.
The number of requests is part of the contract: it is the real cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from senlin_affinity.core.host import Host
from senlin_affinity.core.member_of import MemberOf
from senlin_affinity.core.objects import Aggregate, Flavor, Quota
from senlin_affinity.core.server_group import ServerGroup


class ServerGroups(Protocol):
    """The server groups of one project."""

    def check(self, policy: str, rules: Mapping[str, int]) -> None:
        """InvalidSpec where the cloud is too old for such a group. No request but discovery."""

    def get(self, group_id: str) -> ServerGroup | None:
        """The group with this id, None where there is none. One request."""

    def named(self, name: str) -> tuple[ServerGroup, ...]:
        """All groups with this name, in the cloud's order. One request a page."""

    def create(self, name: str, policy: str, rules: Mapping[str, int]) -> ServerGroup:
        """A new group, as the cloud has it. One request."""

    def delete(self, group_id: str) -> bool:
        """Delete the group; False where it was gone already. One request."""


class Inventory(Protocol):
    """What a cloud has, as far as one decision needs it."""

    def availability_zones(self) -> frozenset[str]:
        """The names of all zones, available or not. One request."""

    def quotas(self) -> Mapping[str, Quota]:
        """``server_groups``, ``server_group_members``, ``instances``, ``cores`` and ``ram`` of the
        project. One request.
        """

    def flavor(self, name_or_id: str) -> Flavor | None:
        """The flavor with this id, or else this name, and its extra specs; None for none.

        One request for an id, and for a name one more a page. One more below microversion 2.61.
        """

    def lets_choose_hosts(self) -> bool:
        """Does the cloud let the owner choose the hosts of servers? One request, which is for a
        server that there can not be.
        """

    def hosts_named_like(self, pattern: str) -> tuple[Host, ...]:
        """Compute hosts with this text in the hypervisor's or the service host's name, any case.

        Those found by the hypervisor's name come first, each kind in the cloud's order. Two
        requests, however many hypervisors there are. Needs an administrator's rights.
        """

    def aggregates(self) -> tuple[Aggregate, ...]:
        """All host aggregates, by name. One request; an administrator's rights."""


class Candidates(Protocol):
    """Placement, as far as its age decides on what a policy may ask."""

    def check_version(self, member_of: MemberOf, path: str) -> None:
        """InvalidSpec where the cloud is too old for it. No request but discovery."""
