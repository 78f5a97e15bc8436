"""An option of a constraint, declared once: for services, for ``plan``, the sample and the manual.

Shapes::

    Option('drs_pattern', 'drs', 'What the name of a vSphere DRS host contains.', pattern=r'\\S')
    Option('most_per_rack', 2, 'Servers of one group in one rack.', minimum=1)

The type of the default is that of the option: a text (also None), a number, a boolean, or a tuple
of texts, which is a list with commas in a file.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Option:
    """What an operator can set.

    ``key`` is what the constraint calls it, ``name`` what it is called in a file, where that is
    something else; ``pattern`` is a regular expression that a text must match somewhere. ``nova``
    is the group of nova.conf where Nova itself has an option of this name, which it mirrors.
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
        """Its name in a file."""
        return self.name or self.key
