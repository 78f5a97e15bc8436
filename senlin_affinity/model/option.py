r"""An option of a constraint, declared once for services, ``plan``, the sample and the manual."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Option:
    """An option that an operator can set.

    ``key`` is its name in the constraint; ``name`` is its name in a file, if that differs. The
    default determines the type: a string (also for None), a number, a boolean, or a tuple of
    strings (a comma-separated list in a file). ``pattern`` is a regular expression that must match
    some part of a string. ``nova`` is the group of nova.conf with an option of this name, which
    this option mirrors.
    """

    key: str
    default: str | int | float | bool | tuple[str, ...] | None
    help: str
    name: str = ''
    group: str = 'affinity'
    minimum: float | None = None
    pattern: str | None = None
    nova: str = ''

    @property
    def dest(self) -> str:
        """Return the name of the option in a file."""
        return self.name or self.key
