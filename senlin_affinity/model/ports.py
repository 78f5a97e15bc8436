"""Protocols for the reads and writes that decisions need; the adapters in ``cloud`` implement them.

The number of requests is part of the contract. Every method raises
:class:`~senlin_affinity.model.errors.CloudError` if the cloud fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.cloud import Flavor, Quota
from senlin_affinity.model.host import Host
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.model.server_group import ServerGroup


class ServerGroups(Protocol):
    """The server groups of one project."""

    def check(self, policy: str, rules: Mapping[str, int]) -> None:
        """Raise InvalidSpec if the cloud is too old for such a group. No request but discovery."""

    def get(self, group_id: str) -> ServerGroup | None:
        """Fetch the group with this id; return None if there is none. One request."""

    def named(self, name: str) -> tuple[ServerGroup, ...]:
        """Fetch all groups with this name, in the cloud's order. One request per page."""

    def own(self) -> tuple[ServerGroup, ...]:
        """Fetch all groups of the project, in the cloud's order. One request per page."""

    def create(self, name: str, policy: str, rules: Mapping[str, int]) -> ServerGroup:
        """Create a group, and return it as the cloud stores it. One request."""

    def delete(self, group_id: str) -> bool:
        """Delete the group; return False if it did not exist. One request."""


class Inventory(Protocol):
    """The reads of a cloud that one decision needs."""

    def availability_zones(self) -> frozenset[str]:
        """Fetch the names of all zones, available or not. One request."""

    def quotas(self) -> Mapping[str, Quota]:
        """Fetch five quotas of the project. One request.

        The keys: ``server_groups``, ``server_group_members``, ``instances``, ``cores`` and ``ram``.
        """

    def flavor(self, name_or_id: str) -> Flavor | None:
        """Fetch the flavor with this id, or else this name; return None if there is none.

        One request for an id, one more per page for a name, and one more for the extra specs below
        microversion 2.61.
        """

    def highest_microversion(self) -> tuple[int, int]:
        """Return Nova's maximum microversion: (2, 93). No request but discovery."""

    def lets_choose_hosts(self) -> bool:
        """Return whether the cloud lets the owner choose the hosts of servers.

        One request, to create a server that no cloud can create.
        """

    def hosts_named_like(self, pattern: str) -> tuple[Host, ...]:
        """Fetch hosts whose hypervisor or service name contains a text, in any case.

        Those with a matching hypervisor name come first, each kind in the cloud's order. Two
        requests. Requires an administrator.
        """

    def aggregates(self) -> tuple[Aggregate, ...]:
        """Fetch all host aggregates, sorted by name. One request. Requires an administrator."""


class Candidates(Protocol):
    """The version of Placement, which limits what a policy may request."""

    def check_version(self, member_of: MemberOf, path: str) -> None:
        """Raise InvalidSpec if Placement is too old for ``member_of``. No request but discovery."""
