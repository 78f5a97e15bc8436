"""Say what to write instead of some frequent mistakes that no similar word corrects.

Example::

    of_name('hw:max_cpu_cores') == 'did you mean hw:cpu_max_cores?'

Source: ``nova/api/validation/extra_specs`` of several releases.
"""

from __future__ import annotations

import re

#: A pattern of unknown names, and the hint; {0} is the first group.
_NAMES = (
    (r'hw:max_cpu_(cores|sockets|threads)', 'did you mean hw:cpu_max_{0}?'),
    (r'resources[^:]*:(?!CUSTOM_).+', 'the name of a custom resource class begins with CUSTOM_'),
    (r'trait[^:]*:(?!CUSTOM_).+', 'the name of a custom trait begins with CUSTOM_'),
)


def of_name(name: str) -> str | None:
    """Return the hint for an unknown name; None if there is none."""
    found = ((re.fullmatch(names, name), text) for names, text in _NAMES)
    return next((text.format(*each.groups()) for each, text in found if each), None)
