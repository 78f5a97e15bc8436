"""Convert an option of a constraint into one of oslo.config, and read the values of a file.

Example::

    as_oslo(Option('most_per_rack', 2, 'Servers of one group in one rack.', minimum=1))
        -> cfg.IntOpt('most_per_rack', default=2, min=1, help=...)
    Settings(filters=('ComputeFilter',), values={'drs_pattern': 'esx'},
             keys=frozenset({'drs_pattern'}),
             found=('[affinity] drs_pattern', '[affinity] enabled_filters'))
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from oslo_config import cfg

from senlin_affinity.model.option import Option
from senlin_affinity.nova.reservations import REQUEST_FILTER_KEYS

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


@dataclass(frozen=True)
class Settings:
    """The scheduler filters (None: not specified) and the options of constraints.

    ``values`` are those that are not defaults, by key; ``keys`` are all specified ones. ``found``
    names the options that a file contains and that count.
    """

    filters: tuple[str, ...] | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    keys: frozenset[str] = frozenset()
    found: tuple[str, ...] = ()

    def over(self, other: Settings) -> Settings:
        """Return the options of both settings; this one takes precedence over the other.

        For options of this project's request filter, the other one does.
        """
        given = other.keys & REQUEST_FILTER_KEYS
        keys = self.keys - given
        kept = {key: value for key, value in other.values.items() if key not in keys}
        own = {key: value for key, value in self.values.items() if key in keys}
        return Settings(
            other.filters if self.filters is None else self.filters,
            {**kept, **own},
            keys | other.keys,
            (*other.found, *self.found),
        )
