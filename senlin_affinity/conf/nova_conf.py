"""Read Nova's configuration files, as far as they affect the scheduling of servers.

The files are read in order (of a directory, each ``*.conf`` sorted by name); later values override
earlier ones. Only ``[filter_scheduler] enabled_filters`` and the options that constraints mirror
(``Option.nova``) are kept; passwords and everything else are dropped, also from errors. An option
that no file sets counts as specified with Nova's default; but a value with a ``$name`` of another
option, such as ``$my_ip``, causes a warning, and the option is unspecified.

The option ``[pci] alias``, which may occur several times, becomes the list of the names in its
objects. It is unspecified if one is not a JSON object with a name.

If ``[filter_scheduler] available_filters`` contains this project's request filter, its options are
read as well, and Nova enforces reservations. Otherwise, Nova ignores these options.

Raises: OSError for an unreadable file; InvalidSpec with the file and the number of the line or the
name of the option, never with its text.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from glob import escape, glob
from typing import Any

from oslo_config import cfg, iniparser

from senlin_affinity.conf import opts
from senlin_affinity.conf.oslo_options import Settings, as_oslo, value_of
from senlin_affinity.constraints.flavor import PCI_ALIASES
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.option import Option
from senlin_affinity.model.request import DEFAULT_FILTERS, FILTERS
from senlin_affinity.nova.reservations import ENFORCED_BY, NOVA, REQUEST_FILTER_OPTIONS

LOG = logging.getLogger(__name__)
_GROUP, _DEFAULT = 'filter_scheduler', 'DEFAULT'
#: Several lines and files add to this option.
_AVAILABLE = (_GROUP, 'available_filters')
#: The option with PCI aliases, and its deprecated name.
_ALIASES, _OLD_ALIASES = (PCI_ALIASES.nova, PCI_ALIASES.dest), (_DEFAULT, 'pci_alias')
_REQUEST_FILTER = 'senlin_affinity.plugins.nova.request_filter.install'
_LINE = re.compile(r':(\d+), ')
#: Not in list items: an indented line continues the previous one.
_ODD = re.compile(r'[\n=]')
_Stamp = tuple[str, int, int, int]


def read(paths: Iterable[str], constraints: Collection[Any] = ()) -> Settings:
    """Return the settings of these files and directories, with Nova's defaults."""
    return _read(_files(paths), _mirrored(constraints))


def _mirrored(constraints: Collection[Any]) -> tuple[Option, ...]:
    return tuple(option for option in opts.options_of(constraints) if option.nova)


def _read(files: Iterable[str], mirrored: Collection[Option]) -> Settings:
    names = {(option.nova, option.dest): option.key for option in mirrored}
    reserving = {(option.group, option.dest): option.key for option in REQUEST_FILTER_OPTIONS}
    known = {(_GROUP, FILTERS), _AVAILABLE, _ALIASES, _OLD_ALIASES, *names, *reserving}
    texts: dict[tuple[str, str], tuple[str, str]] = {}
    available: list[str] = []
    aliases: list[str] = []
    for file in files:
        found = _texts(file, known)
        available += found.pop(_AVAILABLE, [])
        aliases += found.pop(_ALIASES, []) + found.pop(_OLD_ALIASES, [])
        texts |= {at: (every[-1], file) for at, every in found.items()}
    is_reserving = any(_REQUEST_FILTER in each.split() for each in available)
    if is_reserving:
        mirrored, names = (*mirrored, *REQUEST_FILTER_OPTIONS), names | reserving
    else:  # Nova does not know these options
        texts = {at: text for at, text in texts.items() if at not in reserving}
    conf = cfg.ConfigOpts()
    conf.register_opt(cfg.ListOpt(FILTERS, default=list(DEFAULT_FILTERS)), group=_GROUP)
    for option in mirrored:
        conf.register_opt(as_oslo(option), group=option.nova or option.group)
    conf(args=[], default_config_files=[], default_config_dirs=[], use_env=False)
    open_ones = {at for at, (text, file) in texts.items() if not _is_set(conf, *at, text, file)}
    names_of_aliases = _names_of_aliases(aliases)
    if names_of_aliases is None:  # the option counts as unspecified
        open_ones.add(_ALIASES)
    values = {option: value_of(conf, option, option.nova) for option in mirrored}
    found_ones = texts.keys() | ({_ALIASES} if any(aliases) else set())
    values |= {option: names_of_aliases or () for option in mirrored if option == PCI_ALIASES}
    filters = tuple(conf.filter_scheduler.enabled_filters)
    enforced = {ENFORCED_BY.key: NOVA} if is_reserving else {}
    changed = {option.key: value for option, value in values.items() if value != option.default}
    return Settings(
        None if (_GROUP, FILTERS) in open_ones else filters,
        changed | enforced,
        frozenset([*(key for at, key in names.items() if at not in open_ones), *enforced]),
        tuple(f'[{group}] {name}' for group, name in sorted(found_ones - open_ones)),
    )


@lru_cache(maxsize=1)
def _kept(stamps: tuple[_Stamp, ...], mirrored: tuple[Option, ...]) -> Settings:
    """Return the settings of files, cached until a file changes."""
    return _read([path for path, *_rest in stamps], mirrored)


def _stamp(path: str) -> _Stamp:
    has = os.stat(path)
    return path, has.st_ino, has.st_size, has.st_mtime_ns


def with_nova_conf(conf: Any, constraints: Collection[Any] = ()) -> Settings:
    """Return the settings of an engine's own file, overridden by the files of Nova that it names.

    All of Nova's files are ignored, with a warning, if one is unreadable or invalid. They are read
    again after one changed its inode, size or time.
    """
    own, paths = opts.settings(conf, constraints), conf.affinity.nova_conf
    if not paths:
        return own
    try:
        stamps = tuple(map(_stamp, _files(paths)))
        return _kept(stamps, _mirrored(constraints)).over(own)
    except (OSError, InvalidSpec) as error:
        LOG.warning('[affinity] nova_conf: %s', error)
        return own


def broken(error: str, path: str) -> str:
    """Return a parser's error without the text of the line, which may be a password."""
    line = _LINE.search(error.removeprefix(f'at {path}'))
    where = f'line {line.group(1)}' if line else 'a line'
    return f'{where} is neither a group, a comment nor NAME = VALUE'


def _files(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        if not os.path.isdir(path):
            yield path
            continue
        found = sorted(glob(os.path.join(escape(path), '*.conf')))
        if not found:
            raise FileNotFoundError(errno.ENOENT, 'it has no *.conf', path)
        yield from found


def _texts(path: str, known: Collection[tuple[str, str]]) -> dict[tuple[str, str], list[str]]:
    """Return all texts of each known option in a file; the last one counts, or all of them."""
    sections: dict[str, dict[str, list[str]]] = {}
    if os.path.exists(path) and not os.path.isfile(path):  # reading a pipe would not end
        raise InvalidSpec('is not a regular file', path)
    try:
        cfg.ConfigParser(path, sections).parse()
    except iniparser.ParseError as error:
        # Not "from error", because its message contains the text of the line.
        raise InvalidSpec(broken(str(error), path), path) from None
    except UnicodeDecodeError:
        raise InvalidSpec('is not UTF-8 text', path) from None
    return {
        (group, name): options[name]
        for group, name in known
        for section, options in sections.items()
        if (section if section == _DEFAULT else section.lower()) == group and name in options
    }


def _names_of_aliases(aliases: Iterable[str]) -> tuple[str, ...] | None:
    """Return the names of PCI aliases; None if one is not a JSON object with a name."""
    try:
        found = [json.loads(alias)['name'].strip() for alias in aliases if alias.strip()]
    except (ValueError, LookupError, TypeError, AttributeError):
        LOG.warning('[pci] alias is ignored: a value is not a JSON object with a name')
        return None
    return tuple(dict.fromkeys(found))


def _is_set(conf: Any, group: str, name: str, text: str, path: str) -> bool:
    """Set an option to a text; return False if that refers to an unknown option.

    Raise InvalidSpec for an invalid text.
    """
    where = f'{path}: [{group}] {name}'
    try:
        conf.set_override(name, text, group=group)
        value = conf[group][name]
    except (cfg.Error, ValueError):
        if '$' not in text:
            raise InvalidSpec('has an invalid value', where) from None
        conf.clear_override(name, group=group)
        LOG.warning('%s is ignored: it refers to an option that is not read here', where)
        return False
    is_odd = any(map(_ODD.search, value)) if isinstance(value, list) else '\n' in str(value)
    if is_odd:
        raise InvalidSpec('is continued by an indented line that is not part of the value', where)
    return True
