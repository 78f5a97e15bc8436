"""Reads the options of ``--config-file``: those of this project, and nova.conf's enabled_filters.

Where a file has ``enabled_filters`` twice, in ``[affinity]`` and in nova.conf's own
``[filter_scheduler]``, that of this project counts, as in an engine that reads the same file. What
the environment says of an option (``OS_GROUP__OPTION``) is for services, and not read.

Errors: UsageError for a file that cannot be read; InvalidSpec that names the file for one that is
not valid.

Source: Nova's configuration reference, ``[filter_scheduler] enabled_filters``: a list.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from senlin_affinity.cli import base
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.core.errors import InvalidSpec

LOG = logging.getLogger(__name__)
_OURS, _NOVAS = 'affinity', 'filter_scheduler'
_FILTERS = 'enabled_filters'


@dataclass(frozen=True)
class Options:
    """What a file says: the filters that the scheduler runs (None: not known), and the options of
    constraints that are not their defaults.

    ``found`` names the options that it has and that count in a plan.
    """

    filters: tuple[str, ...] | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    found: tuple[str, ...] = ()


def read(
    path: str, constraints: Collection[Constraint] = (), *, are_filters_given: bool = False
) -> Options:
    """The options in a file, with those of these constraints, and a warning if it has none.

    :param are_filters_given: the filters are known otherwise, and the file's do not count.
    """
    # Imported here: without a file, a command does not need them.
    from oslo_config import cfg

    from senlin_affinity.conf import opts

    conf = cfg.ConfigOpts()
    opts.register(conf, constraints)
    conf.register_opt(cfg.ListOpt(_FILTERS), group=_NOVAS)
    try:
        conf(args=[], default_config_files=[path], default_config_dirs=[], use_env=False)
        values = opts.changed(conf, constraints)
        ours, novas = tuple(conf.affinity.enabled_filters), conf.filter_scheduler.enabled_filters
    except cfg.ConfigFilesNotFoundError as error:
        raise base.UsageError(f'{path} can not be read: No such file or directory') from error
    except cfg.ConfigFileParseError as error:
        raise InvalidSpec(' '.join(error.msg.split()), path) from error
    except (cfg.Error, ValueError) as error:
        raise InvalidSpec(' '.join(str(error).split()), path) from error
    declared = [(option.group, option.dest) for option in opts.options_of(constraints)]
    found = [
        f'[{group}] {name}'
        for group, name in ((_OURS, _FILTERS), *declared)
        # None is the default of an option that has none.
        if (where := conf.get_location(name, group)) and where.location.is_user_controlled
    ]
    named = f'[{_OURS}] {_FILTERS}'
    are_ours = novas is None or named in found
    if not are_ours:
        named = f'[{_NOVAS}] {_FILTERS}'
        found.insert(0, named)
    if not found:
        LOG.warning('%s has none of the options that count in a plan', path)
    if are_filters_given:
        return Options(None, values, tuple(name for name in found if name != named))
    if are_ours and novas is not None and set(novas) != set(ours):
        LOG.warning(
            '%s: [affinity] enabled_filters counts, and [filter_scheduler] has other filters', path
        )
    return Options(ours if are_ours else tuple(novas), values, tuple(found))
