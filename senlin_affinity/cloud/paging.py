"""Read the lists and the single objects in answers, page by page, and check their identity.

A page holds up to 1000 objects, or fewer where the cloud limits it (``[api] max_limit``).

Raises: CloudError "could not ``what``: ...", also for a response about another object.

Source: the compute API reference, "Paginated collections".
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from senlin_affinity.cloud.rest import Microversion, Rest, malformed
from senlin_affinity.model.errors import CloudError, InvalidSpec

T = TypeVar('T')
T_Item = TypeVar('T_Item', bound=Mapping[str, Any])
LIMIT = 1000
_FORBIDDEN, _MOST_IDS = 403, 5
#: From full pages, Nova drops hypervisors without a service, and the link to the next page. A page
#: with fewer objects than these is the last one.
_SHORTENED, _FEWEST = frozenset({'hypervisors'}), 50


def allowed(read: Callable[[], T], statuses: Collection[int] = (_FORBIDDEN,)) -> T | None:
    """Return the result of ``read``; None for a CloudError with one of these statuses."""
    try:
        return read()
    except CloudError as error:
        if error.status not in statuses:
            raise
        return None


@contextlib.contextmanager
def reading(what: str) -> Iterator[None]:
    """Convert KeyError, AttributeError, TypeError and ValueError of the block to CloudError.

    :param what: the operation: "list the servers".
    """
    try:
        yield
    except KeyError as error:
        raise malformed(what, f'the answer lacks {error}') from error
    except (AttributeError, TypeError, ValueError) as exc:
        raise malformed(what, 'a value in the answer has the wrong type') from exc


def list_of(body: object, key: str, what: str) -> list[dict[str, Any]]:
    """Return ``body[key]``; raise CloudError if that is not a list of objects. [] is valid."""
    value = body.get(key) if isinstance(body, Mapping) else None
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise malformed(what, f'the answer contains no list of {key}')
    return value


def the_only(items: Sequence[T_Item], kind: str, name: str, path: str = '') -> T_Item:
    """Return the only object; raise InvalidSpec with the path if there is none, or several.

    "there is no server 'web'", "2 servers are called 'web': use an id, such as 1, 2" (up to five).

    :param kind: the noun for the message.
    """
    if not items:
        raise InvalidSpec(f'there is no {kind} {name!r}', path)
    if len(items) > 1:
        ids = ', '.join(str(each['id']) for each in items[:_MOST_IDS])
        why = f'{len(items)} {kind}s are called {name!r}: use an id, such as {ids}'
        raise InvalidSpec(why, path)
    return items[0]


def check_identity(identity: object, wanted: str, what: str) -> None:
    """Raise CloudError unless ``str(identity)`` equals the wanted id, in any case."""
    # The other object may belong to another project, so the error does not name it.
    if str(identity).lower() != wanted.lower():
        raise malformed(what, 'the answer is about another object')


def check_unique(
    items: Iterable[Mapping[str, Any]], key: str, what: str, earlier: set[str] | None = None
) -> None:
    """Raise CloudError if two objects have the same value of ``key``, or if one lacks it.

    :param earlier: the values of previous pages, to which these are added.
    """
    earlier = set() if earlier is None else earlier
    with reading(what):
        for item in items:
            identity = str(item[key])
            if identity in earlier:
                raise malformed(what, f'the answer lists {identity!r} twice')
            earlier.add(identity)


def by_marker(
    compute: Rest,
    path: str,
    key: str,
    what: str,
    microversion: Microversion,
    **query: str | Sequence[str],
) -> Iterator[dict[str, Any]]:
    """Yield each object under ``key`` as parsed JSON; request the next page when it is needed.

    The last page is empty, or has no ``next`` in ``<key>_links`` (and fewer than 50 hypervisors).
    Raise CloudError before a page that repeats an object (only servers may be on two pages), and
    for pages in a circle.
    """
    marker: Mapping[str, str] = {}
    known: set[str] = set()
    markers: set[str] = set()
    while True:
        body = compute.get(path, what, microversion, params={**query, 'limit': LIMIT, **marker})
        page = list_of(body, key, what)
        # Nova lists a server in BUILD first, and again in its order.
        check_unique(page, 'id', what, None if key == 'servers' else known)
        yield from page
        with reading(what):
            is_linked = any(each.get('rel') == 'next' for each in body.get(f'{key}_links') or ())
        may_follow = is_linked or (key in _SHORTENED and len(page) >= _FEWEST)
        if not page or not may_follow:
            return
        # The URL in the link may be wrong behind a proxy.
        with reading(what):
            following = str(page[-1]['id'])
        if following in markers:
            before = marker['marker']
            which = 'the previous' if following == before else 'an earlier'
            raise malformed(what, f'the page after {before} repeats {which} page')
        markers.add(following)
        marker = {'marker': following}
