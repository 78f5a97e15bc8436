"""Describe an error of a request to the cloud in one short line, with the cause at its end."""

from __future__ import annotations

from collections.abc import Iterator

from senlin_affinity.model.terminal_text import escaped

_LONGEST = 300


def error_text(error: BaseException) -> str:
    """Return the error in one line; the message of an OSError that caused it comes last.

    "Unable to connect to http://[::1]:9: Connection refused". The name of the type if it has no
    text.
    """
    text = str(error)
    for cause in _causes(error):
        if isinstance(cause, OSError) and cause.strerror:
            below = str(error.__cause__) if error.__cause__ is not None else ''
            head = text.removesuffix(below).rstrip(': ') if below else ''
            text = f'{head}: {cause.strerror}' if head else cause.strerror
            break
    return one_line(text) or type(error).__name__


def one_line(text: str) -> str:
    """Return the text in one line, with control characters escaped.

    Beyond 300 characters, it is cut at a space, and ends in "...".
    """
    text = escaped(' '.join(text.split()))
    if len(text) <= _LONGEST:
        return text
    return text[:_LONGEST].rsplit(' ', 1)[0] + '...'


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error, then its causes and theirs."""
    waiting, known = [error], set()
    while waiting:
        found = waiting.pop(0)
        if not isinstance(found, BaseException) or id(found) in known:
            continue
        known.add(id(found))
        yield found
        waiting += [found.__cause__, found.__context__, *found.args]
