"""Is an existing server group the one that a spec asks for?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from senlin_affinity.core.errors import CloudError
from senlin_affinity.core.server_group import ServerGroup
from senlin_affinity.policy.properties import Properties


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
