"""Find the existing server group that an attach inherits, and compare it with the spec.

Units: requests: 1 by id, 1 per page by name.

Raises: PolicyMismatch; CloudError, which says what was tried.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from senlin_affinity.model.errors import CloudError, PolicyMismatch
from senlin_affinity.model.ports import ServerGroups
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.policy.properties import Properties

Several: TypeAlias = Callable[[Sequence[ServerGroup]], Sequence[ServerGroup]]


def find(
    properties: Properties, hint: str | None, groups: ServerGroups, several: Several = tuple
) -> ServerGroup | None:
    """Return the existing group that an attach inherits; None if the attach has to create one.

    :param several: returns which of several groups with one name count.
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
    """Return the one group of this name or id; None if there is none.

    Raise PolicyMismatch if there are several, or if the group does not match the spec.
    """
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
    """Return why the group does not match the spec; None if it does.

    If the spec has no rules, the rules of an inherited group are accepted. A group that the
    policy is to own (``is_ours``) must be as the policy would create it.
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
    """Check whether a text is a UUID as Nova writes it (36 characters, any case)."""
    return bool(re.fullmatch('[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', text, re.IGNORECASE))


def is_project_id(text: str) -> bool:
    """Check whether a text is a project id of Keystone (a UUID, usually without hyphens)."""
    return bool(re.fullmatch('[0-9a-f]{32}', text.replace('-', ''), re.IGNORECASE))


@contextmanager
def saying(what: str) -> Iterator[None]:
    """Raise a CloudError of the block with what was tried before its message."""
    try:
        yield
    except CloudError as error:
        error.args = (f'{what} {error}',)
        raise
