"""Read the options of ``--config-file`` and ``--nova-conf``.

The first file has the options of this project, and may have nova.conf's enabled_filters. If it has
enabled_filters both in ``[affinity]`` and in ``[filter_scheduler]``, ``[affinity]`` takes
precedence, as in an engine. Environment variables (``OS_GROUP__OPTION``) are ignored.

Raises: UsageError for a file that cannot be read; InvalidSpec, which names the file, for invalid
content.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from senlin_affinity.cli import base
from senlin_affinity.cloud import input_file
from senlin_affinity.conf.oslo_options import Settings
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.request import FILTERS

LOG = logging.getLogger(__name__)
_OURS, _NOVAS = 'affinity', 'filter_scheduler'


def settings(
    config_file: str | None,
    nova_conf: Sequence[str],
    constraints: Collection[Constraint],
    *,
    are_filters_given: bool,
) -> tuple[Settings, Mapping[str, Sequence[str]]]:
    """Return the settings of the files, and the options that each file sets.

    nova.conf takes precedence over the other file.

    :param are_filters_given: another source sets the filters; ignore those of the files.
    """
    own, found = Settings(), {}
    if config_file is not None:
        is_known = are_filters_given or bool(nova_conf)
        own = read(config_file, constraints, are_filters_given=is_known)
        found[config_file] = own.found
    if nova_conf:
        novas = read_nova(nova_conf, constraints)
        found[', '.join(nova_conf)] = _but_filters(novas) if are_filters_given else novas.found
        own = novas.over(own)
    return own, found


def read(
    path: str, constraints: Collection[Constraint] = (), *, are_filters_given: bool = False
) -> Settings:
    """Return the settings of a file; warn if it sets none of the options.

    :param are_filters_given: another source sets the filters; ignore those of the file.
    """
    from senlin_affinity.conf import nova_conf

    conf = parsed(path, constraints)
    with _reading(path):
        _check_values(conf, constraints, path)
        own = nova_conf.with_nova_conf(conf, constraints)
        novas = conf.filter_scheduler.enabled_filters
    if own.filters is None and novas is not None:
        found = (f'[{_NOVAS}] {FILTERS}', *own.found)
        own = dataclasses.replace(own, filters=tuple(novas), found=found)
    elif novas is not None and not are_filters_given and set(novas) != set(own.filters or ()):
        LOG.warning(
            '%s: [affinity] enabled_filters differs from [filter_scheduler] and takes precedence',
            path,
        )
    if not own.found:
        LOG.warning('%s sets no option that affects a plan', path)
    if are_filters_given:
        return dataclasses.replace(own, filters=None, found=_but_filters(own))
    return own


def parsed(path: str, constraints: Collection[Constraint] = ()) -> Any:
    """Return a ``ConfigOpts`` with the options of this project."""
    from oslo_config import cfg

    from senlin_affinity.conf import opts

    input_file.check(path)
    conf = cfg.ConfigOpts()
    opts.register(conf, constraints)
    conf.register_opt(cfg.ListOpt(FILTERS), group=_NOVAS)
    with _reading(path):
        conf(args=[], default_config_files=[path], default_config_dirs=[], use_env=False)
    return conf


def serves_version_1_0(path: str) -> bool:
    """Return whether an engine with this file serves specs 1.0 with the policy of this project."""
    conf = parsed(path)
    with _reading(path):
        return bool(conf.affinity.serve_version_1_0)


def _check_values(conf: Any, constraints: Collection[Constraint], path: str) -> None:
    """Raise InvalidSpec, which names the option, for an invalid value."""
    from oslo_config import cfg

    from senlin_affinity.conf import opts, oslo_options

    for option in opts.options_of(constraints):
        try:
            oslo_options.value_of(conf, option)
        except (cfg.Error, ValueError) as error:
            where = f'{path}: [{option.group}] {option.dest}'
            raise InvalidSpec(oslo_options.why_invalid(error), where) from error


@contextlib.contextmanager
def _reading(path: str) -> Iterator[None]:
    from oslo_config import cfg

    from senlin_affinity.conf import nova_conf

    try:
        yield
    except cfg.ConfigFilesNotFoundError as error:
        raise base.UsageError(f'{path} cannot be read: No such file or directory') from error
    except OSError as error:
        raise base.UsageError(f'{path} cannot be read: {error.strerror}') from error
    except cfg.ConfigFileParseError as error:
        raise InvalidSpec(nova_conf.broken(error.msg, path), path) from None
    except (cfg.Error, ValueError) as error:
        raise InvalidSpec(' '.join(str(error).split()), path) from error


def _but_filters(own: Settings) -> tuple[str, ...]:
    return tuple(name for name in own.found if not name.endswith(f'] {FILTERS}'))


def read_nova(paths: Sequence[str], constraints: Collection[Constraint] = ()) -> Settings:
    """Return the settings of nova.conf files; warn if they set none of the options."""
    from senlin_affinity.conf import nova_conf

    for path in paths:
        input_file.check(path)
    try:
        own = nova_conf.read(paths, constraints)
    except OSError as error:
        raise base.UsageError(f'{error.filename} cannot be read: {error.strerror}') from error
    if not own.found:
        named = ', '.join(paths)
        LOG.warning("%s: no option that affects a plan is set; Nova's defaults apply", named)
    return own
