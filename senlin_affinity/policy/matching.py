"""Which existing server group does an attach inherit, and is it the one that a spec asks for?

Requests: 1 by id; by name 1 a page.

Errors: PolicyMismatch, and CloudError with what was tried.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from senlin_affinity.core.errors import CloudError, PolicyMismatch
from senlin_affinity.core.ports import ServerGroups
from senlin_affinity.core.server_group import ServerGroup
from senlin_affinity.policy.properties import Properties

Several: TypeAlias = Callable[[Sequence[ServerGroup]], Sequence[ServerGroup]]


def find(
    properties: Properties, hint: str | None, groups: ServerGroups, several: Several = tuple
) -> ServerGroup | None:
    """The existing group that an attach inherits; None where it creates one. Only reads.

    :param several: which of several of one name count.
    """
    groups.check(properties.policy, properties.rules or {})
    name = properties.server_group_name
    if hint:
        group = _inherit(hint, properties, groups, several)
        if group is None:
            raise PolicyMismatch(
                f"the server group '{hint}' that the profile's scheduler_hints name does not "
                'exist: create it, or take the hint out of the profile'
            )
        if name and name != group.name and name.lower() != group.id:
            raise PolicyMismatch(
                f"the profile's scheduler_hints name the server group '{hint}', but the policy's "
                f"servergroup.name is '{name}': take one of them out"
            )
        return group
    group = _inherit(name, properties, groups, several) if name else None
    if group is None and name and is_uuid(name):
        raise PolicyMismatch(
            f"servergroup.name '{name}' is an id, and no server group has it: "
            'name an existing group, or write a name for a new one'
        )
    return group


def _inherit(
    name: str, properties: Properties, groups: ServerGroups, several: Several
) -> ServerGroup | None:
    """The one group of this name or id, if its policy and rules are what the spec asks for."""
    with saying(f"Failed in retrieving servergroup '{name}'."):
        if is_uuid(name):
            group = groups.get(name.lower())
            found: Sequence[ServerGroup] = () if group is None else (group,)
        else:
            found = several(groups.named(name))
    if len(found) > 1:
        ids = ', '.join(sorted(group.id for group in found))
        raise PolicyMismatch(
            f"{len(found)} server groups are called '{name}' ({ids}): name the one by its id"
        )
    why_not = mismatch(found[0], properties) if found else None
    if why_not is not None:
        raise PolicyMismatch(why_not)
    return found[0] if found else None


def mismatch(group: ServerGroup, properties: Properties, *, is_ours: bool = False) -> str | None:
    """Why the group is not what the spec asks for; None if it is.

    Where the spec gives no rules, those of an inherited group are taken over, whatever they are;
    one that is to be the policy's own (``is_ours``) must be as the policy would create it.
    """
    compared: list[tuple[str, object, object]] = [('Policies', properties.policy, group.policy)]
    if properties.rules is not None or is_ours:
        ours = ServerGroup('', '', properties.policy, properties.rules or {}).max_server_per_host
        compared.append(('max_server_per_host', ours, group.max_server_per_host))
    for what, wanted, found in compared:
        if wanted != found:
            return (
                f"{what} specified ({wanted}) doesn't match that of the existing servergroup "
                f"'{group.name}' ({found or 'none'})."
            )
    return None


def is_uuid(text: str) -> bool:
    """Is it a UUID as Nova writes one (36 characters, any case)?"""
    return bool(re.fullmatch('[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', text, re.IGNORECASE))


def is_project_id(text: str) -> bool:
    """Is it an id as Keystone makes one for a project (a UUID, mostly without hyphens)?"""
    return bool(re.fullmatch('[0-9a-f]{32}', text.replace('-', ''), re.IGNORECASE))


@contextmanager
def saying(what: str) -> Iterator[None]:
    """Put what was tried before the cloud's own words."""
    try:
        yield
    except CloudError as error:
        error.args = (f'{what} {error}',)
        raise
