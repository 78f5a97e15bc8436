"""Register and read the options of Senlin's engine, of the commands and of the sample file.

Constraints declare the options that they read; this module declares the rest.

Units: ``request_timeout`` is in seconds.

Source: ``[scheduler]`` holds the two prefixes of Placement's specification "Support filtering by
forbidden aggregate membership", and three options of nova.conf.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from oslo_config import cfg

from senlin_affinity.conf.constraint_plugins import load_constraints
from senlin_affinity.conf.oslo_options import Settings, as_oslo, value_of, why_invalid
from senlin_affinity.constraints.availability_zone import AvailabilityZoneConstraint
from senlin_affinity.constraints.candidates import CandidatesConstraint
from senlin_affinity.constraints.drs import DrsConstraint
from senlin_affinity.constraints.flavor import FlavorConstraint
from senlin_affinity.constraints.host_state import HostStateConstraint
from senlin_affinity.constraints.image_aggregates import ImageAggregatesConstraint
from senlin_affinity.constraints.image_hypervisor import ImageHypervisorConstraint
from senlin_affinity.constraints.isolated_hosts import IsolatedHostsConstraint
from senlin_affinity.constraints.quota import QuotaConstraint
from senlin_affinity.constraints.reservations import ReservationsConstraint
from senlin_affinity.constraints.resources import ResourcesConstraint
from senlin_affinity.constraints.server_count import ServerCountConstraint
from senlin_affinity.constraints.server_group import ServerGroupConstraint
from senlin_affinity.constraints.traits import TraitsConstraint
from senlin_affinity.groups.attachment import GROUP_NAME_PREFIX
from senlin_affinity.model import suggestion
from senlin_affinity.model.errors import InvalidSpec, PluginError
from senlin_affinity.model.option import Option
from senlin_affinity.model.request import DEFAULT_FILTERS, FILTERS
from senlin_affinity.policy.properties import PREFLIGHTS

AFFINITY = cfg.OptGroup(
    'affinity',
    title='Affinity policy',
    help='Options of the affinity policy of senlin-affinity.',
)

SCHEDULER = cfg.OptGroup(
    'scheduler',
    title='Reserved, isolated and tenant aggregates',
    help='Reserved and isolated aggregates, and aggregates of tenants, for policy and preflight. '
    'The last three options must have the values of [scheduler] in nova.conf.',
)

AFFINITY_OPTIONS: tuple[Any, ...] = (
    cfg.FloatOpt(
        'request_timeout',
        default=60,
        min=0.1,
        help='The maximum time in seconds without data from Keystone, Nova, Placement or Glance. A '
        'login, the discovery of a service, and a request with its answer fail after three times '
        'this value.',
    ),
    cfg.IntOpt(
        'max_answer_size',
        default=128,
        min=1,
        help='The maximum size of one answer of a service in MiB, after decompression.',
    ),
    cfg.StrOpt(
        'preflight',
        default=PREFLIGHTS[0],
        choices=[
            (PREFLIGHTS[0], 'the spec of each policy decides'),
            (PREFLIGHTS[1], 'rejects nothing, and logs a warning if nodes do not fit'),
            (PREFLIGHTS[2], 'no preflight'),
        ],
        help='The strictest preflight of all policies: the property preflight of a spec can only '
        'be less strict. A policy that chooses hosts or zones reads the cloud in any case.',
    ),
    cfg.StrOpt(
        'group_name_prefix',
        default=GROUP_NAME_PREFIX,
        help='The prefix of the names of the server groups that the policy creates for specs '
        'without a name.',
    ),
    cfg.ListOpt(
        FILTERS,
        default=list(DEFAULT_FILTERS),
        advanced=True,
        help='The value of enabled_filters in [filter_scheduler] of nova.conf: a filter that is '
        'not enabled causes no rejection. The default is that of Nova.',
    ),
    cfg.ListOpt(
        'nova_conf',
        default=[],
        help='Configuration files of nova-scheduler and nova-api, such as /etc/nova/nova.conf, or '
        'directories of such files. They replace enabled_filters and all other options here that '
        'repeat an option of Nova (listed as advanced). Nothing else is read from them.',
    ),
    cfg.BoolOpt(
        'serve_version_1_0',
        default=False,
        help="Whether this policy replaces Senlin's own senlin.policy.affinity-1.0, also for "
        'existing policies and their clusters. The value must be the same on all engines and '
        'conductors, which read it when they start.',
    ),
)

#: The constraints of this project with options.
_OURS: tuple[Any, ...] = (
    AvailabilityZoneConstraint,
    CandidatesConstraint,
    DrsConstraint,
    FlavorConstraint,
    HostStateConstraint,
    ImageAggregatesConstraint,
    ImageHypervisorConstraint,
    IsolatedHostsConstraint,
    QuotaConstraint,
    ReservationsConstraint,
    ResourcesConstraint,
    ServerCountConstraint,
    ServerGroupConstraint,
    TraitsConstraint,
)


def options_of(constraints: Iterable[Any]) -> tuple[Option, ...]:
    """Return the options of the given constraints, and of this project's own."""
    declared = (option for each in (*_OURS, *constraints) for option in each.options)
    return tuple(dict.fromkeys(declared))


def register(conf: Any, constraints: Iterable[Any] = ()) -> Any:
    """Register all options with a ``ConfigOpts``, and return ``conf.affinity``; repeatable."""
    # The name, because all ConfigOpts that register one group object share its values.
    conf.register_opts(AFFINITY_OPTIONS, group=AFFINITY.name)
    for option in options_of(constraints):
        try:
            conf.register_opt(as_oslo(option), group=option.group)
        except cfg.DuplicateOptError as error:
            message = f'[{option.group}] {option.dest}: a constraint declares an existing option'
            raise PluginError(message) from error
    return conf.affinity


def changed(conf: Any, constraints: Collection[Any] = ()) -> dict[str, Any]:
    """Return the values of constraint options that differ from their defaults, by key."""
    register(conf, constraints)
    values = ((option, value_of(conf, option)) for option in options_of(constraints))
    return {option.key: value for option, value in values if value != option.default}


def settings(conf: Any, constraints: Collection[Any] = ()) -> Settings:
    """Return the options and filters that a file or an override specifies."""
    values = changed(conf, constraints)
    options = [item for item in options_of(constraints) if _is_set(conf, item.group, item.dest)]
    named = [(option.group, option.dest) for option in options]
    has_filters = _is_set(conf, AFFINITY.name, FILTERS)
    if has_filters:
        named.insert(0, (AFFINITY.name, FILTERS))
    return Settings(
        tuple(conf.affinity.enabled_filters) if has_filters else None,
        values,
        frozenset(option.key for option in options),
        tuple(f'[{group}] {name}' for group, name in named),
    )


def _is_set(conf: Any, group: str, name: str) -> bool:
    """Check whether a registered option has a value other than by default."""
    where = getattr(conf.get_location(name, group), 'location', None)
    return where not in (None, cfg.Locations.opt_default, cfg.Locations.set_default)


def read(
    given: Mapping[str, Any], constraints: Collection[Any] = (), where: str = 'options.'
) -> dict[str, Any]:
    """Parse options that are given by name or key, and return their values by key.

    Raise InvalidSpec for an unknown option and an invalid value.

    :param where: the prefix of the name in the path of the error.
    """
    if not given:
        return {}
    options = options_of(constraints)
    known = {option.dest: option for option in options}
    conf = cfg.ConfigOpts()
    register(conf, constraints)
    values = {}
    for name, value in given.items():
        option = known.get(name) or next((item for item in options if item.key == name), None)
        if option is None:
            raise InvalidSpec(f'unknown option: {suggestion.meant(name, known)}', f'{where}{name}')
        try:
            conf.set_override(option.dest, value, group=option.group)
        except (ValueError, TypeError) as error:
            raise InvalidSpec(why_invalid(error), f'{where}{name}') from error
        values[option.key] = value_of(conf, option)
    return values


def list_opts() -> list[tuple[Any, Sequence[Any]]]:
    """Return the groups and options for oslo-config-generator, including those of plugins."""
    groups = {AFFINITY.name: (AFFINITY, [*AFFINITY_OPTIONS]), SCHEDULER.name: (SCHEDULER, [])}
    for option in options_of(load_constraints()):
        group = cfg.OptGroup(option.group)
        groups.setdefault(option.group, (group, []))[1].append(as_oslo(option))
    return list(groups.values())
