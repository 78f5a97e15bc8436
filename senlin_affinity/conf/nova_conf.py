"""What Nova's own files say of where servers go, under Nova's groups and names.

Data flow: the files are read one after the other (of a directory, each ``*.conf`` by its name), as
Nova itself reads them: what a later one says counts. Only ``[filter_scheduler] enabled_filters``
and the options that constraints mirror (``Option.nova``) are taken out; passwords, and all else, go
no further, not even into an error. What no file says is as Nova has it without: all of these
options are told. The exception is a value with a ``$name`` that is not one of them, such as
``$my_ip``: Nova knows it, and it is warned of and not told.

An engine reads the files again where one of them is another file, or has another size or time.

Errors: OSError for a file that can not be read; InvalidSpec, with the file and the number of the
line or the name of the option, never with its text.

Source: Nova's configuration reference.
"""

from __future__ import annotations

import errno
import logging
import os
import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from glob import escape, glob
from typing import Any

from oslo_config import cfg, iniparser

from senlin_affinity.conf import opts
from senlin_affinity.conf.told import Told
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.objects import DEFAULT_FILTERS, FILTERS
from senlin_affinity.core.options import Option

LOG = logging.getLogger(__name__)
_GROUP, _DEFAULT = 'filter_scheduler', 'DEFAULT'
_LINE = re.compile(r':(\d+), ')
#: What no item of a list has: a line that begins with a space goes on with the one above it.
_ODD = re.compile(r'[\n=]')
_Texts = dict[tuple[str, str], tuple[str, str]]
_Stamp = tuple[str, int, int, int]


def read(paths: Iterable[str], constraints: Collection[Any] = ()) -> Told:
    """What these files and directories say, and Nova's defaults."""
    return _read(_files(paths), _mirrored(constraints))


def _mirrored(constraints: Collection[Any]) -> tuple[Option, ...]:
    return tuple(option for option in opts.options_of(constraints) if option.nova)


def _read(files: Iterable[str], mirrored: Collection[Option]) -> Told:
    names = {(option.nova, option.dest): option.key for option in mirrored}
    known = {(_GROUP, FILTERS), *names}
    texts: _Texts = {}
    for file in files:
        texts |= _texts(file, known)
    conf = cfg.ConfigOpts()
    conf.register_opt(cfg.ListOpt(FILTERS, default=list(DEFAULT_FILTERS)), group=_GROUP)
    for option in mirrored:
        conf.register_opt(opts.as_oslo(option), group=option.nova)
    conf(args=[], default_config_files=[], default_config_dirs=[], use_env=False)
    open_ones = {at for at, (text, file) in texts.items() if not _is_set(conf, *at, text, file)}
    values = {option: opts.value_of(conf, option, option.nova) for option in mirrored}
    filters = tuple(conf.filter_scheduler.enabled_filters)
    return Told(
        None if (_GROUP, FILTERS) in open_ones else filters,
        {option.key: value for option, value in values.items() if value != option.default},
        frozenset(key for at, key in names.items() if at not in open_ones),
        tuple(f'[{group}] {name}' for group, name in sorted(texts.keys() - open_ones)),
    )


@lru_cache(maxsize=1)
def _kept(stamps: tuple[_Stamp, ...], mirrored: tuple[Option, ...]) -> Told:
    """What files say, as long as they are as they were."""
    return _read([path for path, *_rest in stamps], mirrored)


def _stamp(path: str) -> _Stamp:
    has = os.stat(path)
    return path, has.st_ino, has.st_size, has.st_mtime_ns


def followed(conf: Any, constraints: Collection[Any] = ()) -> Told:
    """What an engine's own file says, and before it the files of Nova's that it names.

    One that can not be read is warned of: then nobody told what it says.
    """
    said, paths = opts.told(conf, constraints), conf.affinity.nova_conf
    if not paths:
        return said
    try:
        stamps = tuple(map(_stamp, _files(paths)))
        return _kept(stamps, _mirrored(constraints)).over(said)
    except (OSError, InvalidSpec) as error:
        LOG.warning('[affinity] nova_conf: %s', error)
        return said


def broken(said: str, path: str) -> str:
    """What a parser says of a line, without its text, which may be a password."""
    line = _LINE.search(said.removeprefix(f'at {path}'))
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


def _texts(path: str, known: Collection[tuple[str, str]]) -> _Texts:
    """The texts of the known options in a file, each with the file's path."""
    sections: dict[str, dict[str, list[str]]] = {}
    try:
        cfg.ConfigParser(path, sections).parse()
    except iniparser.ParseError as error:
        # Not "from error", whose words have the line's text.
        raise InvalidSpec(broken(str(error), path), path) from None
    except UnicodeDecodeError:
        raise InvalidSpec('is not UTF-8 text', path) from None
    return {
        (group, name): (options[name][-1], path)
        for group, name in known
        for section, options in sections.items()
        if (section if section == _DEFAULT else section.lower()) == group and name in options
    }


def _is_set(conf: Any, group: str, name: str, text: str, path: str) -> bool:
    """Give an option the value of a text, if it is one for it; False: part of it is not known."""
    where = f'{path}: [{group}] {name}'
    try:
        conf.set_override(name, text, group=group)
        value = conf[group][name]
    except (cfg.Error, ValueError):
        if '$' not in text:
            raise InvalidSpec('has a value that is not valid', where) from None
        conf.clear_override(name, group=group)
        LOG.warning('%s refers to an option that is not read, and is not told', where)
        return False
    is_odd = any(map(_ODD.search, value)) if isinstance(value, list) else '\n' in str(value)
    if is_odd:
        raise InvalidSpec('goes on over lines that are no part of it', where)
    return True
