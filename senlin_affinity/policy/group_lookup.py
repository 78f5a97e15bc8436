"""Compare a server group with a spec, and recognize ids."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.policy.properties import PolicySpec


def mismatch(group: ServerGroup, properties: PolicySpec, *, is_ours: bool = False) -> str | None:
    """Return why the group does not match the spec; None if it does.

    If the spec has no rules, any are accepted, unless the policy is to own the group (``is_ours``).
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


def is_keystone_id(text: str) -> bool:
    """Check whether a text is an id of Keystone: a UUID, usually without hyphens, or 64 digits.

    The latter are users of LDAP and of other identity providers.
    """
    return bool(re.fullmatch('([0-9a-f]{32}){1,2}', text.replace('-', ''), re.IGNORECASE))


@contextmanager
def saying(what: str) -> Iterator[None]:
    """Raise a CloudError of the block with what was tried before its message."""
    try:
        yield
    except CloudError as error:
        error.args = (f'{what} {error}',)
        raise
