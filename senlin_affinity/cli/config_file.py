"""Reads the options of ``--config-file``: those of this project, and nova.conf's enabled_filters.

Shapes::

    Options(('ComputeFilter',), Rules(), ('[filter_scheduler] enabled_filters',))

Where a file has ``enabled_filters`` twice, in ``[affinity]`` and in nova.conf's own
``[filter_scheduler]``, that of this project counts, as in an engine that reads the same file. What
the environment says of an option (``OS_GROUP__OPTION``) is for services, and not read.

Errors: UsageError for a file that cannot be read; InvalidSpec that names the file for one that is
not valid.

Source: the configuration reference of Nova, ``[filter_scheduler] enabled_filters``: a list with
commas.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from senlin_affinity.cli import base
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.core import suggestion
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.objects import Rules

_OURS, _NOVAS = 'affinity', 'filter_scheduler'
_FILTERS = 'enabled_filters'


@dataclass(frozen=True)
class Options:
    """What a file says: the filters that the scheduler runs (None: not known), and the rules.

    ``found`` names the options that it has and that count in a plan; ``is_ambiguous`` says that its
    two lists of filters differ.
    """

    filters: tuple[str, ...] | None = None
    rules: Rules = field(default_factory=Rules)
    found: tuple[str, ...] = ()
    is_ambiguous: bool = False

    def without_filters(self) -> Options:
        """The same, where the filters are known otherwise, and the file's do not count."""
        found = tuple(name for name in self.found if name not in (_named(_OURS), _named(_NOVAS)))
        return replace(self, filters=None, found=found, is_ambiguous=False)


def _named(group: str, name: str = _FILTERS) -> str:
    return f'[{group}] {name}'


def read(path: str, constraints: Iterable[Constraint] = ()) -> Options:
    """The options in a file, with those of these constraints."""
    # Imported here: without a file, a command does not need them.
    from oslo_config import cfg

    from senlin_affinity.conf import opts

    conf = cfg.ConfigOpts()
    opts.register(conf, constraints)
    conf.register_opt(cfg.ListOpt(_FILTERS), group=_NOVAS)
    try:
        conf(args=[], default_config_files=[path], default_config_dirs=[], use_env=False)
        rules = opts.rules(conf, constraints)
        ours, novas = tuple(conf.affinity.enabled_filters), conf.filter_scheduler.enabled_filters
    except cfg.ConfigFilesNotFoundError as error:
        raise base.UsageError(f'{path} can not be read: No such file or directory') from error
    except cfg.ConfigFileParseError as error:
        raise InvalidSpec(' '.join(error.msg.split()), path) from error
    except (cfg.Error, ValueError) as error:
        raise InvalidSpec(' '.join(str(error).split()), path) from error
    declared = opts.options_of(constraints)
    known = [(_OURS, _FILTERS), *((option.group, option.dest) for option in declared)]
    found = [
        (group, name)
        for group, name in known
        # None is the default of an option that has none.
        if (where := conf.get_location(name, group)) and where.location.is_user_controlled
    ]
    are_ours = novas is None or (_OURS, _FILTERS) in found
    if not are_ours:
        found.insert(0, (_NOVAS, _FILTERS))
    return Options(
        ours if are_ours else tuple(novas),
        rules,
        tuple(_named(*option) for option in found),
        novas is not None and are_ours and set(novas) != set(ours),
    )


def values(
    given: Iterable[tuple[str, str]], constraints: Iterable[Constraint]
) -> Mapping[str, object]:
    """The options of these constraints that a person gave as texts, by their keys."""
    from oslo_config import cfg

    from senlin_affinity.conf import opts

    known = {option.dest: option for option in opts.options_of(constraints)}
    conf = cfg.ConfigOpts()
    opts.register(conf, constraints)
    conf([])
    read = {}
    for name, text in given:
        option = known.get(name)
        if option is None:
            raise base.UsageError(f'--option {name}: {suggestion.meant(name, known)}')
        try:
            conf.set_override(name, text, group=option.group)
        except ValueError as error:
            raise base.UsageError(f'--option {name}: {error}') from error
        read[option.key] = opts.value_of(conf, option)
    return read
