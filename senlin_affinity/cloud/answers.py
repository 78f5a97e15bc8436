"""What every reader of an answer does: find its list, page by page, and say where it is odd.

Units: a page holds up to 1000 things, or what the cloud caps it at (``[api] max_limit``).

Errors: CloudError, whose words begin with what was tried.

Source: the compute API reference, "Paginated collections". A page that is not the last holds a link
to the next one under ``<key>_links``; its URL is not followed, because behind a proxy it may name a
host that nobody but Nova reaches.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from senlin_affinity.cloud.rest import Microversion, Rest, odd

LIMIT = 1000


@contextlib.contextmanager
def reading(what: str) -> Iterator[None]:
    """Make a CloudError of what an answer lacks; ``what`` is what was tried."""
    try:
        yield
    except KeyError as error:
        raise odd(what, f'the answer lacks {error}') from error
    except (AttributeError, TypeError, ValueError) as error:
        raise odd(what, 'a value in the answer is of another kind than the API says') from error


def list_of(body: object, key: str, what: str) -> list[dict[str, Any]]:
    """The list of objects under a key."""
    value = body.get(key) if isinstance(body, Mapping) else None
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise odd(what, f'the answer holds no list of {key}')
    return value


def by_marker(
    compute: Rest,
    path: str,
    key: str,
    what: str,
    microversion: Microversion,
    **query: str | Sequence[str],
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
            raise odd(what, f'the page after {marker["marker"]} is the same again')
        marker = following
