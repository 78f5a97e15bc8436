"""What every reader of an answer does: find its list, and say what was tried where it is odd.

Errors: CloudError, whose words begin with what was tried.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from senlin_affinity.core.errors import CloudError


@contextlib.contextmanager
def reading(what: str) -> Iterator[None]:
    """Make a CloudError of what an answer lacks; ``what`` is what was tried."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CloudError(f'could not {what}: the answer is odd ({error!r})') from error


def list_of(body: object, key: str, what: str) -> list[dict[str, Any]]:
    """The list of objects under a key."""
    value = body.get(key) if isinstance(body, Mapping) else None
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise CloudError(f'could not {what}: the answer holds no list of {key}')
    return value
