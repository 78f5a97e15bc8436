"""Long lists of Nova's, page by page: each page after the first is asked for by the last id.

Units: a page holds up to 1000 things, or what the cloud caps it at (``[api] max_limit``).

Source: the compute API reference, "Paginated collections". A page that is not the last holds a link
to the next one under ``<key>_links``; its URL is not followed, because behind a proxy it may name a
host that nobody but Nova reaches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from senlin_affinity.cloud.answers import list_of, reading
from senlin_affinity.cloud.rest import Microversion, Rest
from senlin_affinity.core.errors import CloudError

LIMIT = 1000


def by_marker(
    compute: Rest,
    path: str,
    key: str,
    what: str,
    microversion: Microversion,
    **query: str,
) -> Iterator[dict[str, Any]]:
    """Every thing under ``key``, as raw JSON; the next page is asked for when it is needed."""
    marker: Mapping[str, str] = {}
    while True:
        body = compute.get(path, what, microversion, params={**query, 'limit': LIMIT, **marker})
        page = list_of(body, key, what)
        yield from page
        links = body.get(f'{key}_links') or ()
        if not page or not any(link.get('rel') == 'next' for link in links):
            return
        with reading(what):
            following = {'marker': str(page[-1]['id'])}
        if following == marker:
            raise CloudError(
                f'could not {what}: the page after {marker["marker"]} is the same again'
            )
        marker = following
