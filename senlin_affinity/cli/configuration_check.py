"""Find contradictions among engines, configuration files and aggregates, for ``status``.

Example::

    engines([Engine('a', True, '0.9.1', '11'), Engine('b', True, '0.10.0', '11')])
        -> CheckResult('a', 'has 0.9.1 (options 11); other engines differ', 'give all ...'), ...
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from senlin_affinity.cloud.senlin import AbandonedAction, Engine
from senlin_affinity.conf.oslo_options import Settings
from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.option import Option
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.nova import aggregates, reservations
from senlin_affinity.nova.reservations import (
    FORBIDDEN_PREFIXES,
    REQUEST_FILTER_KEYS,
    REQUIRED_PREFIX,
)

_GUIDE = 'see "{}" in the manual'
TENANTS = _GUIDE.format('Clusters of tenants')
_FILTERS = ('AggregateInstanceExtraSpecsFilter', 'AggregateInstanceTypeFilter')


class CheckResult(NamedTuple):
    """The result of a check for one object; ``fix`` is empty if nothing has to be fixed."""

    what: str
    details: str
    fix: str


def engines(known: Iterable[Engine]) -> Iterator[CheckResult]:
    """Yield the release and options of each engine, and whether other engines have different ones.

    An engine reports with its first action for a policy after a start; before, both are unknown.
    """
    known = sorted(known, key=lambda engine: engine.host)
    reported = {(each.release, each.options) for each in known if each.is_up and each.release}
    for engine in known:
        details = f'has {engine.release} (options {engine.options})'
        if not engine.is_up:
            yield CheckResult(engine.host, 'is down', 'start senlin-engine')
        elif engine.release is None:
            yield CheckResult(engine.host, 'has not used the policy since it started', '')
        elif len(reported) == 1:
            yield CheckResult(engine.host, details, '')
        else:
            fix = 'give all engines the same release and options, and restart them'
            yield CheckResult(engine.host, f'{details}; other engines differ', fix)


def differing_options(
    own: Settings, nova: Settings, options: Iterable[Option]
) -> Iterator[CheckResult]:
    """Yield the options that have another value for the policy than in nova.conf."""
    fix = "set [affinity] nova_conf in senlin.conf to Nova's files, or to new copies of them"
    for option in options:
        if option.nova or option.key in nova.keys & REQUEST_FILTER_KEYS:
            ours, novas = (each.values.get(option.key, option.default) for each in (own, nova))
            if ours != novas:
                details = f'is {ours!r} for the policy, {novas!r} in nova.conf'
                yield CheckResult(f'[{option.group}] {option.dest}', details, fix)
    here, there = (frozenset(each.filters or DEFAULT_FILTERS) for each in (own, nova))
    if here != there:
        names = ', '.join(sorted(here ^ there))
        yield CheckResult('[affinity] enabled_filters', f'differs from nova.conf: {names}', fix)


def doubled_filters(filters: Sequence[str]) -> Iterator[CheckResult]:
    """Yield a finding if Nova uses both filters for extra specs of aggregates."""
    if {*_FILTERS} <= {*filters}:
        yield CheckResult(
            'enabled_filters',
            f'{_FILTERS[0]} rejects hosts that {_FILTERS[1]} passes',
            f'remove {_FILTERS[0]}, unless you compare the two (aggregate_filter = log)',
        )


def contradicting_prefixes(
    settings: Settings, aggregates: Sequence[Aggregate]
) -> Iterator[CheckResult]:
    """Yield the reservations that require an aggregate and forbid it at the same time."""
    required = settings.values.get(REQUIRED_PREFIX.key)
    forbidden = settings.values.get(FORBIDDEN_PREFIXES.key, ())
    keys = {key for aggregate in aggregates for key in aggregate.metadata}
    for key in reservations.reservations(keys, required):
        limits = reservations.constrain(
            [key], aggregates, required_prefix=required, forbidden_prefixes=forbidden
        )
        if any(carriers <= limits.forbidden for carriers in limits.required):
            yield CheckResult(
                key,
                f'{FORBIDDEN_PREFIXES.dest} forbids all aggregates with this key, so no host '
                'accepts servers with it',
                f'change the keys of these aggregates, or {FORBIDDEN_PREFIXES.dest}',
            )


def differing_aggregates(snapshot: Cloud) -> Iterator[CheckResult]:
    """Yield the hosts whose aggregates differ between Nova and Placement."""
    for host in snapshot.hosts or ():
        name = host.hypervisor_hostname
        if host.unmirrored:
            where = aggregates.names(snapshot, host.unmirrored)
            fix = 'nova-manage placement sync_aggregates'
            yield CheckResult(name, f'is in {where} in Nova, but not in Placement', fix)
        if host.stale_aggregates:
            where = aggregates.names(snapshot, host.stale_aggregates)
            fix = 'openstack resource provider aggregate set, without these aggregates'
            yield CheckResult(name, f'is in {where} in Placement, but not in Nova', fix)


def abandoned(actions: Iterable[AbandonedAction]) -> Iterator[CheckResult]:
    """Yield the actions that an engine left, which may lock their cluster or node."""
    for each in actions:
        fix = f'cancel it by force: {_GUIDE.format("Operations")}'
        yield CheckResult(each.id, f'{each.name} of {each.target} lost its engine', fix)


def rights(answers: Iterable[tuple[str, bool]], superfluous: str) -> Iterator[CheckResult]:
    """Yield the missing and the superfluous rights of the operator credentials.

    :param answers: each policy rule, and whether the service permitted its request.
    :param superfluous: the rule that the credentials do not need.
    """
    for rule, is_allowed in answers:
        if rule != superfluous and not is_allowed:
            yield CheckResult(rule, 'the operator credentials lack this right', TENANTS)
        elif rule == superfluous and is_allowed:
            fix = f'use a dedicated role, and set enforce_new_defaults in Nova: {TENANTS}'
            yield CheckResult(rule, 'the operator credentials do not need this right', fix)
