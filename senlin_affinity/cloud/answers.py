"""Read the lists and the single objects in answers, page by page, and check their identity.

Units: a page holds up to 1000 objects, or fewer where the cloud caps it (``[api] max_limit``).

Errors: CloudError, which begins with the operation that failed. A response about another object
than the requested one is an error too, because a caller may delete the object.

Source: the compute API reference, "Paginated collections". The URL of the next page
(``<key>_links``) is not followed, because behind a proxy it may name a host that only Nova reaches.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from senlin_affinity.cloud.rest import Microversion, Rest, malformed
from senlin_affinity.model.errors import CloudError

T = TypeVar('T')
LIMIT = 1000
_FORBIDDEN = 403
#: Lists of which Nova shortens full pages: hypervisors without a service are left out. Such a page
#: has no link to the next one. A page with fewer objects than these is the last one.
_SHORTENED, _FEWEST = frozenset({'hypervisors'}), 50


def allowed(read: Callable[[], T]) -> T | None:
    """Return the result of ``read``; None for a CloudError with status 403. Others propagate."""
    try:
        return read()
    except CloudError as error:
        if error.status != _FORBIDDEN:
            raise
        return None


@contextlib.contextmanager
def reading(what: str) -> Iterator[None]:
    """Raise CloudError if the block fails because an expected value is missing or of another type.

    KeyError, AttributeError, TypeError and ValueError are converted.

    :param what: the operation, for the message: "list the servers".
    """
    try:
        yield
    except KeyError as error:
        raise malformed(what, f'the answer lacks {error}') from error
    except (AttributeError, TypeError, ValueError) as exc:
        raise malformed(
            what, 'a value in the answer has another type than the API documents'
        ) from exc


def list_of(body: object, key: str, what: str) -> list[dict[str, Any]]:
    """Return the list of objects under ``key``; raise CloudError if there is no such list."""
    value = body.get(key) if isinstance(body, Mapping) else None
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise malformed(what, f'the answer contains no list of {key}')
    return value


def check_identity(found: object, wanted: str, what: str) -> None:
    """Raise CloudError if a response describes another object than the one with the wanted id.

    The comparison ignores case, because the database of a service may ignore it in searches. The
    error does not name the other object, which may belong to another project.
    """
    if str(found).lower() != wanted.lower():
        raise malformed(what, 'the answer is about another object')


def check_unique(
    items: Iterable[Mapping[str, Any]], key: str, what: str, known: set[str] | None = None
) -> None:
    """Raise CloudError if two objects of a list have the same value of ``key``, or lack it.

    :param known: the ids of the previous pages; the function adds those of this page.
    """
    known = set() if known is None else known
    with reading(what):
        for item in items:
            identity = str(item[key])
            if identity in known:
                raise malformed(what, f'the answer lists {identity!r} twice')
            known.add(identity)


def by_marker(
    compute: Rest,
    path: str,
    key: str,
    what: str,
    microversion: Microversion,
    **query: str | Sequence[str],
) -> Iterator[dict[str, Any]]:
    """Yield each object under ``key``, as raw JSON; request the next page when it is needed.

    An empty page is the last one. Raise CloudError for an object on two pages, before the objects
    of the second one are yielded. Servers are exempt, and are yielded twice: Nova lists a server
    first while it is in BUILD, and in the usual order afterwards.
    """
    marker: Mapping[str, str] = {}
    known: set[str] = set()
    while True:
        body = compute.get(path, what, microversion, params={**query, 'limit': LIMIT, **marker})
        page = list_of(body, key, what)
        check_unique(page, 'id', what, None if key == 'servers' else known)
        yield from page
        links = body.get(f'{key}_links') or ()
        is_linked = any(link.get('rel') == 'next' for link in links)
        may_follow = is_linked or (key in _SHORTENED and len(page) >= _FEWEST)
        if not page or not may_follow:
            return
        with reading(what):
            following = {'marker': str(page[-1]['id'])}
        if following == marker:
            raise malformed(what, f'the page after {marker["marker"]} repeats the one before')
        marker = following
