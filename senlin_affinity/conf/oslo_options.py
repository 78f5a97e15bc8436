"""Convert an option of a constraint into one of oslo.config, and read its value.

Example::

    as_oslo(Option('most_per_rack', 2, 'Servers of one group in one rack.', minimum=1))
        -> cfg.IntOpt('most_per_rack', default=2, min=1, help=...)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from oslo_config import cfg

from senlin_affinity.model.option import Option

_TYPES: Mapping[type, Any] = {
    bool: cfg.BoolOpt,
    int: cfg.IntOpt,
    float: cfg.FloatOpt,
    tuple: cfg.ListOpt,
}

#: Beginnings of messages, with their replacements.
_WORDS: Mapping[str, str] = {
    r'Value for option \w+ from .* is not valid: ': '',
    r'invalid literal for int\(\) with base 10: ': 'must be an integer, not ',
    'could not convert string to float: ': 'must be a number, not ',
}


def as_oslo(option: Option) -> Any:
    """Return the oslo.config option for an option of a constraint."""
    kind = _TYPES.get(type(option.default), cfg.StrOpt)
    default = list(option.default) if isinstance(option.default, tuple) else option.default
    more: dict[str, Any] = {'advanced': bool(option.nova)}  # the option nova_conf replaces it
    if option.minimum is not None:
        more['min'] = option.minimum
    if option.pattern is not None:
        more['regex'] = option.pattern
    return kind(option.dest, default=default, help=option.help, **more)


def value_of(conf: Any, option: Option, group: str = '') -> Any:
    """Return the value of a registered option, in ``group`` if given; a list as a tuple."""
    value = conf[group or option.group][option.dest]
    return tuple(value) if isinstance(value, list) else value


def why_invalid(error: Exception) -> str:
    """Return the message about an invalid value: "must be an integer, not 'x'"."""
    text = ' '.join(str(error).split())
    for pattern, words in _WORDS.items():
        text = re.sub(f'^{pattern}', words, text)
    return text
