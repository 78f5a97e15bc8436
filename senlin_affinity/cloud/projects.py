"""Find the id of a project that is given by id or by name.

Raises: InvalidSpec if no project or several have the name (it is unique in its domain only), or if
the user may not list projects; CloudError.
"""

from __future__ import annotations

from senlin_affinity.cloud import connection as clouds
from senlin_affinity.cloud.answers import check_identity, check_unique, list_of, reading, the_only
from senlin_affinity.cloud.clients import OwnerClient
from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.policy.group_lookup import is_project_id

_FORBIDDEN = 403


def find(owner: OwnerClient, named: str, timeout: float | None = None) -> str:
    """Return the id of the project with this name or id; an id is not verified.

    No request for an id, or for the connection's own project.
    """
    own, own_name = clouds.project(owner, timeout)
    if own is not None and named in (own, own_name):
        return own
    if is_project_id(named):
        return named
    what = f'look up the project {named!r}'
    try:
        body = clouds.identity(owner, timeout).get('/projects', what, params={'name': named})
    except CloudError as error:
        if error.status != _FORBIDDEN:
            raise
        raise InvalidSpec(f'{error} (use the id of the project)', 'project') from error
    with reading(what):
        found = list_of(body, 'projects', what)
        check_unique(found, 'id', what)
        for item in found:
            check_identity(item['name'], named, what)
    return str(the_only(found, 'project', named, 'project')['id'])
