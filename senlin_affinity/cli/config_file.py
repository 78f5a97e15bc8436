"""Reads the options of ``--config-file`` and ``--nova-conf``.

The first has those of this project, and perhaps nova.conf's enabled_filters. Where a file has these
twice, in ``[affinity]`` and in nova.conf's own ``[filter_scheduler]``, that of this project counts,
as in an engine that reads the same file. What the environment says of an option
(``OS_GROUP__OPTION``) is for services, and not read.

Errors: UsageError for a file that cannot be read; InvalidSpec that names the file for one that is
not valid.

Source: Nova's configuration reference, ``[filter_scheduler] enabled_filters``: a list.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Collection, Mapping, Sequence

from senlin_affinity.cli import base
from senlin_affinity.cloud import input_file
from senlin_affinity.conf.told import Told
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.objects import FILTERS

LOG = logging.getLogger(__name__)
_OURS, _NOVAS = 'affinity', 'filter_scheduler'


def told(
    config_file: str | None,
    nova_conf: Sequence[str],
    constraints: Collection[Constraint],
    *,
    are_filters_given: bool,
) -> tuple[Told, Mapping[str, Sequence[str]]]:
    """What the files say, Nova's own before the other, and the options that each of them has.

    :param are_filters_given: the filters are known otherwise, and those of no file count.
    """
    said, found = Told(), {}
    if config_file is not None:
        is_known = are_filters_given or bool(nova_conf)
        said = read(config_file, constraints, are_filters_given=is_known)
        found[config_file] = said.found
    if nova_conf:
        novas = read_nova(nova_conf, constraints)
        found[', '.join(nova_conf)] = _but_filters(novas) if are_filters_given else novas.found
        said = novas.over(said)
    return said, found


def read(
    path: str, constraints: Collection[Constraint] = (), *, are_filters_given: bool = False
) -> Told:
    """The options in a file, with those of these constraints, and a warning if it has none.

    :param are_filters_given: the filters are known otherwise, and the file's do not count.
    """
    # Imported here: without a file, a command does not need them.
    from oslo_config import cfg

    from senlin_affinity.conf import nova_conf, opts

    input_file.check(path)
    conf = cfg.ConfigOpts()
    opts.register(conf, constraints)
    conf.register_opt(cfg.ListOpt(FILTERS), group=_NOVAS)
    try:
        conf(args=[], default_config_files=[path], default_config_dirs=[], use_env=False)
        said = nova_conf.followed(conf, constraints)
        novas = conf.filter_scheduler.enabled_filters
    except cfg.ConfigFilesNotFoundError as error:
        raise base.UsageError(f'{path} cannot be read: No such file or directory') from error
    except OSError as error:
        raise base.UsageError(f'{path} cannot be read: {error.strerror}') from error
    except cfg.ConfigFileParseError as error:
        raise InvalidSpec(nova_conf.broken(error.msg, path), path) from None
    except (cfg.Error, ValueError) as error:
        raise InvalidSpec(' '.join(str(error).split()), path) from error
    if said.filters is None and novas is not None:
        found = (f'[{_NOVAS}] {FILTERS}', *said.found)
        said = dataclasses.replace(said, filters=tuple(novas), found=found)
    elif novas is not None and not are_filters_given and set(novas) != set(said.filters or ()):
        LOG.warning(
            '%s: [affinity] enabled_filters counts, and [filter_scheduler] has other filters', path
        )
    if not said.found:
        LOG.warning('%s has none of the options that count in a plan', path)
    if are_filters_given:
        return dataclasses.replace(said, filters=None, found=_but_filters(said))
    return said


def _but_filters(said: Told) -> tuple[str, ...]:
    return tuple(name for name in said.found if not name.endswith(f'] {FILTERS}'))


def read_nova(paths: Sequence[str], constraints: Collection[Constraint] = ()) -> Told:
    """What Nova's own files say, and a warning if that is nothing."""
    from senlin_affinity.conf import nova_conf

    for path in paths:
        input_file.check(path)
    try:
        said = nova_conf.read(paths, constraints)
    except OSError as error:
        raise base.UsageError(f'{error.filename} cannot be read: {error.strerror}') from error
    if not said.found:
        named = ', '.join(paths)
        LOG.warning("%s: none of the options that count in a plan; Nova's defaults do", named)
    return said
