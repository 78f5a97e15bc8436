"""Find the id of a project, or of a user, that is given by id or by name.

Raises: InvalidSpec if none or several have the name (it is unique in its domain only), or if the
user may not list them; CloudError.
"""

from __future__ import annotations

from senlin_affinity.cloud import connection as clouds
from senlin_affinity.cloud.clients import OwnerClient
from senlin_affinity.cloud.paging import check_identity, check_unique, list_of, reading, the_only
from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.policy.group_lookup import is_keystone_id

_FORBIDDEN = 403


def find(owner: OwnerClient, named: str) -> str:
    """Return the id of the project with this name or id; an id is not verified.

    No request for an id, or for the connection's own project.
    """
    own, own_name = clouds.project(owner)
    if own is not None and named in (own, own_name):
        return own
    return _look_up(owner, 'project', named)


def find_user(owner: OwnerClient, named: str) -> str:
    """Return the id of the user with this name or id; an id is not verified.

    No request for an id.
    """
    return _look_up(owner, 'user', named)


def _look_up(owner: OwnerClient, kind: str, named: str) -> str:
    """Return the id of the project or user; a text that looks like an id is returned."""
    if is_keystone_id(named):
        return named
    what = f'look up the {kind} {named!r}'
    try:
        path = f'/{kind}s'
        body = clouds.identity(owner).get(path, what, params={'name': named})
    except CloudError as error:
        if error.status != _FORBIDDEN:
            raise
        raise InvalidSpec(f'{error} (use the id of the {kind})', kind) from error
    with reading(what):
        found = list_of(body, f'{kind}s', what)
        check_unique(found, 'id', what)
        for item in found:
            check_identity(item['name'], named, what)
    return str(the_only(found, kind, named, kind)['id'])
