"""Read, create and delete server groups, as :class:`~senlin_affinity.model.ports.ServerGroups`.

A cloud may limit its pages to any size, so the last page is the first one that is empty, or shorter
than one before.

Source: the compute API reference: ``policy`` and ``rules`` from 2.64, a list ``policies`` below,
soft policies from 2.15.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from senlin_affinity.cloud.paging import check_identity, check_unique, list_of
from senlin_affinity.cloud.rest import Microversion, OwnerRest
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.server_group import RULES_MICROVERSION, ServerGroup, create_body
from senlin_affinity.policy.group_lookup import is_uuid

PATH = '/os-server-groups'
PAGE = 1000
LIST = 'list the server groups'
#: The first microversion in which a group has its project.
PROJECTS: Microversion = (2, 13)


class NovaServerGroups:
    """The server groups of the connection's project."""

    def __init__(self, compute: OwnerRest) -> None:
        self._compute = compute

    def check(self, policy: str, rules: Mapping[str, int]) -> None:
        """Raise InvalidSpec if the cloud is too old for the rules or for a soft policy."""
        create_body('', policy, rules, self._microversion)

    def get(self, group_id: str) -> ServerGroup | None:
        """Fetch the group with this id; None if Nova does not have it. One request."""
        what = f'get server group {group_id}'
        body = self._compute.get(_path(group_id), what, self._microversion, may_be_missing=True)
        if body is None:
            return None
        group = _parse(body, what)
        check_identity(group.id, group_id, what)
        return group

    def named(self, name: str) -> tuple[ServerGroup, ...]:
        """Fetch all groups of the project with this name, in Nova's order."""
        return tuple(_parse(body, LIST) for body in self._pages() if body.get('name') == name)

    def own(self) -> tuple[ServerGroup, ...]:
        """Fetch all groups of the project, in Nova's order."""
        return tuple(_parse(body, LIST) for body in self._pages())

    def of_every_project(self) -> tuple[ServerGroup, ...]:
        """Fetch all groups as an administrator; otherwise, those of the project."""
        return tuple(_parse(body, LIST) for body in self._pages(all_projects='true'))

    def create(self, name: str, policy: str, rules: Mapping[str, int]) -> ServerGroup:
        """Create a group, and return it. One request.

        Raise CloudError with ``is_uncertain`` for a malformed response, or one about another or a
        used group.
        """
        what = f"create server group '{name}'"
        sent = create_body(name, policy, rules, self._microversion)
        body = self._compute.post(PATH, what, self._microversion, sent)
        group = _parse(body, what, is_uncertain=True)
        wanted = ServerGroup('', name, policy, rules)
        limits = group.max_server_per_host, wanted.max_server_per_host
        is_same = (group.name, group.policy) == (name, policy) and limits[0] == limits[1]
        if not is_same or group.members:
            why = 'the answer is about another server group'
            raise CloudError(f'could not {what}: {why}', is_uncertain=True)
        return group

    def delete(self, group_id: str) -> bool:
        """Delete the group; False if Nova does not have it. One request."""
        what = f'delete server group {group_id}'
        return self._compute.delete(_path(group_id), what, self._microversion)

    @property
    def _microversion(self) -> Microversion:
        """Return 2.64, or the nearest that the cloud offers."""
        return self._compute.pick(RULES_MICROVERSION)

    def _pages(self, **query: str) -> Iterator[dict[str, Any]]:
        """Yield the groups as parsed JSON, page by page."""
        offset = longest = 0
        known: set[str] = set()
        while True:
            params: dict[str, str | int] = {'limit': PAGE, 'offset': offset, **query}
            body = self._compute.get(PATH, LIST, self._microversion, params=params)
            page = list_of(body, 'server_groups', LIST)
            check_unique(page, 'id', LIST, known)
            yield from page
            if not page or len(page) < longest:
                return
            longest = len(page)
            offset += longest


def called(
    nova: NovaServerGroups, wanted: set[str], project: str | None = None
) -> tuple[ServerGroup, ...]:
    """Fetch the groups of the project with a wanted name or id, in Nova's order.

    Other groups with a wanted id follow, sorted by it. Names and ids without a group are left out.
    Without a name, no groups are listed.

    :param project: another project than the connection's; the groups of all projects are listed.
    """
    found: dict[str, ServerGroup] = {}
    if are_named(wanted):
        own = nova.own() if project is None else nova.of_every_project()
        found = {
            group.id: group
            for group in own
            if project in (None, group.project_id) and wanted & {group.id, group.name}
        }
    for group_id in sorted(filter(is_uuid, wanted - set(found))):
        group = nova.get(group_id)
        if group is not None:
            found[group.id] = group
    return tuple(found.values())


def are_named(wanted: Collection[str] | None) -> bool:
    """Check whether one of these is a name (no UUID); False for None or none."""
    return not all(map(is_uuid, wanted or ()))


def _parse(body: Any, what: str, *, is_uncertain: bool = False) -> ServerGroup:
    """Convert the body of a response to a group; raise CloudError if it is malformed."""
    try:
        return ServerGroup.from_api(body)
    except CloudError as error:
        raise CloudError(f'could not {what}: {error}', is_uncertain=is_uncertain) from error


def _path(group_id: str) -> str:
    """Return ``/os-server-groups/<id>``, quoted."""
    return f'{PATH}/{quote(group_id, safe="")}'
