"""Filter hosts in nova-scheduler by the extra specs of the flavor and the aggregates.

:mod:`senlin_affinity.nova.aggregate_metadata` compares the two, once per request for all hosts in
the same aggregates. If the scheduler runs the request filter, this filter ignores the keys of
reservations, because only the key of a reservation counts there, not its value.

Example, in nova.conf::

    available_filters = senlin_affinity.plugins.nova.aggregate_filter.AggregateInstanceTypeFilter

With ``aggregate_filter = log``, the filter rejects no host. It logs the hosts that it would reject,
and compares its answer with the one of Nova's ``AggregateInstanceExtraSpecsFilter`` if that is
enabled.

Raises: nothing. If the filter itself fails, it rejects the host (or passes it, see
``aggregate_filter_on_error``) and logs the traceback. A missing name changes no decision.

Source: "Filter - Aggregate Instance Type Filter" (nfv-filters); ``nova/scheduler/filters`` of Nova
34.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Any

from nova.exception import NovaException
from nova.scheduler import filters
from oslo_config import cfg
from oslo_log import log as logging

from senlin_affinity.model.numbers import counted
from senlin_affinity.model.verdict import Verdict, sentence
from senlin_affinity.nova.aggregate_metadata import FORCE, REASONS, Requirements, warnings
from senlin_affinity.nova.reservations import FORBIDDEN_PREFIXES, REQUIRED_PREFIX
from senlin_affinity.plugins import plain_log
from senlin_affinity.plugins.nova import options

LOG = plain_log.get('senlin_affinity.plugins.nova_filter')

_AGGREGATES = attrgetter('aggregates')

_NOVAS = 'AggregateInstanceExtraSpecsFilter'
#: Per line of the log.
_MOST_NAMED = 10
#: The number of distinct warnings and failures that are remembered.
_MOST_SAID = 1000


class AggregateInstanceTypeFilter(filters.BaseHostFilter):
    """A filter that compares a flavor's extra specs and aggregate metadata in both directions."""

    # Neither the flavor nor the metadata changes within a request.
    run_filter_once_per_request = True

    # A rebuild keeps the host and the flavor, so changed metadata must not prevent it.
    RUN_ON_REBUILD = False

    def __init__(self) -> None:
        self._said: set[tuple[str, ...]] = set()

    def filter_all(self, filter_obj_list: Iterable[Any], spec_obj: Any) -> Iterator[Any]:
        """Yield the hosts that pass, or all hosts in the mode ``log``."""
        if options.settings().aggregate_filter != 'log':
            yield from self._enforced(filter_obj_list, spec_obj)
            return
        hosts = [*filter_obj_list]
        passing = {id(each) for each in self._enforced(hosts, spec_obj)}
        with contextlib.suppress(Exception):  # the report must not prevent a server
            _report([each for each in hosts if id(each) not in passing], hosts, spec_obj)
        yield from hosts

    def _enforced(self, filter_obj_list: Iterable[Any], spec_obj: Any) -> Iterator[Any]:
        """Yield the hosts that pass; evaluate hosts in the same aggregates once.

        Hosts are evaluated one by one if a subclass overrides the check of a host, or if the joint
        evaluation fails.
        """
        hosts = [*filter_obj_list]
        # For one host, joint evaluation saves nothing.
        together = self._together(hosts, spec_obj) if len(hosts) > 1 else None
        if together is not None:
            yield from together
            return
        for host in hosts:
            if self._filter_one(host, spec_obj):
                yield host

    def _together(self, hosts: list[Any], spec_obj: Any) -> list[Any] | None:
        """Return the hosts that pass; None if each must be evaluated separately."""
        # Imported here, because it registers the options of all of Nova.
        from nova.scheduler import utils

        is_rebuild = not self.RUN_ON_REBUILD and utils.request_is_rebuild(spec_obj)
        if is_rebuild or self._is_overridden():
            return None
        with contextlib.suppress(Exception):
            return self._passing(hosts, spec_obj.flavor)
        return None

    def _is_overridden(self) -> bool:
        ours = AggregateInstanceTypeFilter
        return (
            getattr(self.host_passes, '__func__', None) is not ours.host_passes
            or getattr(self._filter_one, '__func__', None) is not ours._filter_one
        )

    def _passing(self, hosts: list[Any], flavor: Any) -> list[Any]:
        # Nova has one object for each aggregate, which equals only itself.
        rule = _rule(flavor)
        judged = {place: _judge(rule, place) for place in dict.fromkeys(_places(hosts))}
        if not any(judged.values()):
            return hosts
        judgements = map(judged.__getitem__, _places(hosts))
        return [
            host
            for host, judged in zip(hosts, judgements, strict=True)
            if judged is None or self._say(judged, host, flavor)
        ]

    def host_passes(self, host_state: Any, spec_obj: Any) -> bool:
        """Check whether servers of the request's flavor may run on the host. Never raises."""
        try:
            flavor = spec_obj.flavor
            judged = _judge(_rule(flavor), tuple(host_state.aggregates))
            return judged is None or self._say(judged, host_state, flavor)
        except Exception as error:
            return self._fail(error, host_state)

    def _say(self, judged: _Judged, host_state: Any, flavor: Any) -> bool:
        """Log warnings about a host and the reason for a rejection; return whether it passes."""
        is_debug = LOG.isEnabledFor(logging.DEBUG)
        if judged.warnings or is_debug:
            called, host = _called('flavor', flavor, 'name'), _called('host', host_state, 'host')
            for words in judged.warnings:
                if self._is_new(words, called):
                    LOG.warning('%s, %s: %s', called, host, words)
            if is_debug and not judged.verdict:
                code, reason = judged.verdict.code, judged.reason
                LOG.debug('%s, %s: rejected (%s): %s', called, host, code, reason)
        return bool(judged.verdict)

    def _fail(self, error: Exception, host_state: Any) -> bool:
        """Log why the filter failed; return whether the host passes according to the option."""
        host, words = _called('host', host_state, 'host'), f'{type(error).__name__}: {error}'
        is_passing: bool = options.settings().aggregate_filter_on_error == 'pass'
        outcome = 'passes' if is_passing else 'rejects'
        if self._is_new(words):
            LOG.exception('the aggregate filter failed, and %s %s', outcome, host)
        else:
            LOG.debug('the aggregate filter failed, and %s %s: %s', outcome, host, words)
        return is_passing

    def _is_new(self, *words: str) -> bool:
        """Check whether this message was not logged yet; a full memory is cleared first."""
        if words in self._said:
            return False
        if len(self._said) >= _MOST_SAID:
            self._said.clear()
        self._said.add(words)
        return True


def _report(rejected: Sequence[Any], hosts: Sequence[Any], spec_obj: Any) -> None:
    """Log the hosts of a request that would be rejected, and where Nova's filter differs."""
    parts = []
    if rejected:
        judged = _judge(_rule(spec_obj.flavor), tuple(rejected[0].aggregates))
        reason = '' if judged is None else f': {judged.reason}'
        parts.append(f'would reject {_listed(rejected)} of {len(hosts)}{reason}')
    if _NOVAS in cfg.CONF.filter_scheduler.enabled_filters:
        parts += _differences(rejected, hosts, spec_obj)
    if parts:
        LOG.info('%s: %s', _called('flavor', spec_obj.flavor, 'name'), '; '.join(parts))


def _differences(rejected: Sequence[Any], hosts: Sequence[Any], spec_obj: Any) -> Iterator[str]:
    """Yield a phrase for the hosts that only one of both filters rejects."""
    from nova.scheduler.filters.aggregate_instance_extra_specs import (
        AggregateInstanceExtraSpecsFilter,
    )

    passes, ours = AggregateInstanceExtraSpecsFilter().host_passes, {*map(id, rejected)}
    theirs = {id(each) for each in hosts if not passes(each, spec_obj)}
    for words, different in (('rejects', theirs - ours), ('accepts', ours - theirs)):
        if different:
            listed = _listed([each for each in hosts if id(each) in different])
            yield f'{_NOVAS} {words} {listed}'


def _listed(hosts: Sequence[Any]) -> str:
    """Return the number of hosts, and the names of the first ones."""
    names = [_label(each, 'host') for each in hosts[:_MOST_NAMED]]
    more = ['...'] if len(hosts) > _MOST_NAMED else []
    return f'{counted(len(hosts), "host")} ({", ".join(names + more)})'


def _label(thing: Any, attribute: str) -> str:
    """Return a name for the log; '' if there is none, or if reading it fails."""
    try:
        label = getattr(thing, attribute)
    except Exception:
        return ''
    return label if isinstance(label, str) else ''


def _called(kind: str, thing: Any, attribute: str) -> str:
    label = _label(thing, attribute)
    return f'{kind} {label}' if label else f'the {kind}'


def _rule(flavor: Any) -> Requirements:
    """Return the flavor's requirements; none if its extra specs were not loaded, as in Nova."""
    try:
        extra_specs = flavor.extra_specs or {}
    except (AttributeError, NotImplementedError, NovaException):
        extra_specs = {}
    return _requirements(tuple(sorted(extra_specs.items())), _prefixes_of_reservations())


@lru_cache(maxsize=128)
def _requirements(
    extra_specs: tuple[tuple[str, Any], ...], ignored: tuple[str, ...] = ()
) -> Requirements:
    return Requirements.parse(dict(extra_specs), ignored)


def _prefixes_of_reservations() -> tuple[str, ...]:
    """Return the prefixes of the keys of reservations; () without the request filter.

    Only the request filter registers these options in nova-scheduler.
    """
    values = getattr(cfg.CONF, REQUIRED_PREFIX.group, None)
    required = getattr(values, REQUIRED_PREFIX.dest, None)
    forbidden = getattr(values, FORBIDDEN_PREFIXES.dest, None)
    return tuple(filter(None, (required, *(forbidden or ()))))


@dataclass
class _Judged:
    """The verdict on hosts in the same aggregates, with its warnings and its reason."""

    rule: Requirements
    aggregates: Sequence[Any]
    metadata: Sequence[Mapping[str, str]]
    verdict: Verdict

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """The warnings for operators."""
        is_silent = not warnings(self.verdict, self.metadata)
        return () if is_silent else warnings(self._named, self.metadata, self._names)

    @cached_property
    def reason(self) -> str:
        """Why the hosts are rejected."""
        return sentence(self._named, REASONS)

    @cached_property
    def _named(self) -> Verdict:
        """The verdict with the names of the aggregates, for the log."""
        return self.rule.check(self.metadata, self._names)

    @cached_property
    def _names(self) -> list[str]:
        numbered = enumerate(self.aggregates, 1)
        return [_label(each, 'name') or f'aggregate {number}' for number, each in numbered]


def _places(hosts: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    return map(tuple, map(_AGGREGATES, hosts))


def _judge(rule: Requirements, aggregates: Sequence[Any]) -> _Judged | None:
    """Return the judgement of hosts in these aggregates; None if they pass without a warning."""
    if not rule.asked:
        for each in aggregates:
            if FORCE in each.metadata:
                break
        else:
            return None
    metadata = [each.metadata for each in aggregates]
    is_forcing = any([FORCE in each for each in metadata])  # noqa: C419 - a generator costs more
    verdict = rule.check(metadata) if is_forcing else rule.unmet(metadata)
    if verdict is None:
        return None
    judged = _Judged(rule, aggregates, metadata, verdict)
    return judged if not verdict or judged.warnings else None
