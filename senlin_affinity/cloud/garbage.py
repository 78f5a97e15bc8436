"""Spares many new values the search for garbage, which takes up to half of the time of making them.

There is none among them: what is parsed, and made of that or decided by it, holds no circle.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def unsearched() -> Iterator[None]:
    """Search for none, in all threads, until the first that asked for this is done."""
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_enabled:
            # They belong to the oldest at once, unless somebody keeps frozen ones.
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
