"""Nova's own api-paste.ini with more filters in the pipelines of its API.

Shapes::

    with_filters(text, ('egg:senlin-affinity#extra_spec_validation',))

A filter comes last, right before the application, where the request's user is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

#: The pipelines that end in the API itself, not those of the version documents.
_PIPELINE = re.compile(r'^(keystone = .*) (osapi_compute_app_v21)$', re.MULTILINE)


def with_filters(text: str, filters: Iterable[str]) -> str:
    """Add filters, each by what paste's ``use`` takes."""
    sections = {f'sandbox_filter_{number}': use for number, use in enumerate(filters)}
    text, found = _PIPELINE.subn(rf'\1 {" ".join(sections)} \2', text)
    if not found:
        raise LookupError("Nova's api-paste.ini has no pipeline that ends in osapi_compute_app_v21")
    return text + ''.join(f'\n[filter:{name}]\nuse = {use}\n' for name, use in sections.items())
