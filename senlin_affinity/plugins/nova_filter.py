"""The aggregate filter of document 000, for nova-scheduler.

Data flow: the metadata of a host's aggregates and the flavor's extra specs come in;
:mod:`senlin_affinity.core.aggregate_metadata` answers, within a request once for all hosts that are
in the same aggregates.

Shapes, in nova.conf::

    available_filters = senlin_affinity.plugins.nova_filter.AggregateInstanceTypeFilter

Errors: none reaches the scheduler. A failure of the filter itself rejects the host (it fails
closed), and its traceback is in the log. Names are for the log only: one that was not loaded, or
that a stand-in does not have, decides nothing.

Source: document 000; ``nova/scheduler/filters`` of Nova 34.
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
from oslo_log import log as logging

from senlin_affinity.core.aggregate_metadata import FORCE, Requirements, warnings
from senlin_affinity.core.aggregates.reasons import REASONS
from senlin_affinity.core.reasons import sentence
from senlin_affinity.core.verdict import Verdict

LOG = logging.getLogger(__name__)

_AGGREGATES = attrgetter('aggregates')
_NOTHING = Requirements.parse({})

#: How many different warnings and failures are remembered as said.
_MOST_SAID = 1000


class AggregateInstanceTypeFilter(filters.BaseHostFilter):
    """Compares a flavor's extra specs with the metadata of a host's aggregates, both ways."""

    # Neither the flavor nor the metadata change within a request.
    run_filter_once_per_request = True

    # A rebuild keeps the host and the flavor: changed metadata must not get in its way.
    RUN_ON_REBUILD = False

    def __init__(self) -> None:
        self._said: set[tuple[str, ...]] = set()

    def filter_all(self, filter_obj_list: Iterable[Any], spec_obj: Any) -> Iterator[Any]:
        """The hosts that pass; those that are in the same aggregates are decided once.

        A subclass that decides about a host itself is asked about each; so is everything where
        something is not as it should be, and fails where it is.
        """
        hosts = [*filter_obj_list]
        # Of a lone host nothing can be saved, and little may be added.
        together = self._together(hosts, spec_obj) if len(hosts) > 1 else None
        if together is not None:
            yield from together
            return
        for host in hosts:
            if self._filter_one(host, spec_obj):
                yield host

    def _together(self, hosts: list[Any], spec_obj: Any) -> list[Any] | None:
        """The hosts that pass; None where each must be asked about."""
        # Imported here, as in Nova: it registers the options of all of Nova.
        from nova.scheduler import utils

        if self._is_overridden():
            return None
        if not self.RUN_ON_REBUILD and utils.request_is_rebuild(spec_obj):
            return hosts
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
        """The hosts that pass. Nova has one object for each aggregate, equal to itself only."""
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
        """Whether servers of the request's flavor may go to this host; never raises."""
        try:
            flavor = spec_obj.flavor
            judged = _judge(_rule(flavor), tuple(host_state.aggregates))
            return judged is None or self._say(judged, host_state, flavor)
        except Exception as error:
            return self._fail(error, host_state)

    def _say(self, judged: _Judged, host_state: Any, flavor: Any) -> bool:
        """Log what is to be said of a host, and answer whether it passes."""
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
        """Reject the host, and log why."""
        host, words = _called('host', host_state, 'host'), f'{type(error).__name__}: {error}'
        if self._is_new(words):
            LOG.exception('the aggregate filter failed, and rejects %s', host)
        else:
            LOG.debug('the aggregate filter failed, and rejects %s: %s', host, words)
        return False

    def _is_new(self, *words: str) -> bool:
        """Has this not been said yet? When too much was said, it begins anew."""
        if words in self._said:
            return False
        if len(self._said) >= _MOST_SAID:
            self._said.clear()
        self._said.add(words)
        return True


def _label(thing: Any, attribute: str) -> str:
    """A name for the log; '': none. One of Nova's objects may raise whatever it likes for it."""
    try:
        label = getattr(thing, attribute)
    except Exception:
        return ''
    return label if isinstance(label, str) else ''


def _called(kind: str, thing: Any, attribute: str) -> str:
    label = _label(thing, attribute)
    return f'{kind} {label}' if label else f'the {kind}'


def _rule(flavor: Any) -> Requirements:
    """What the flavor asks; nothing where its extra specs were not loaded, as Nova's own filter."""
    try:
        extra_specs = flavor.extra_specs
    except (AttributeError, NotImplementedError, NovaException):
        return _NOTHING
    return _requirements(tuple(sorted(extra_specs.items()))) if extra_specs else _NOTHING


@lru_cache(maxsize=128)
def _requirements(extra_specs: tuple[tuple[str, Any], ...]) -> Requirements:
    """The flavor, parsed: once for all hosts of a request, and for the next requests."""
    return Requirements.parse(dict(extra_specs))


@dataclass
class _Judged:
    """What the rule says of hosts in some aggregates, and what the log says of them."""

    rule: Requirements
    aggregates: Sequence[Any]
    metadata: Sequence[Mapping[str, str]]
    verdict: Verdict

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What an operator should be told."""
        is_silent = not warnings(self.verdict, self.metadata)
        return () if is_silent else warnings(self._named, self.metadata, self._names)

    @cached_property
    def reason(self) -> str:
        """Why the hosts are rejected."""
        return sentence(self._named, REASONS)

    @cached_property
    def _named(self) -> Verdict:
        """The verdict, with the names of the aggregates in it: for the log only."""
        return self.rule.check(self.metadata, self._names)

    @cached_property
    def _names(self) -> list[str]:
        numbered = enumerate(self.aggregates, 1)
        return [_label(each, 'name') or f'aggregate {number}' for number, each in numbered]


def _places(hosts: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """The aggregates of each host: Nova has one object for each, which equals itself only."""
    return map(tuple, map(_AGGREGATES, hosts))


def _judge(rule: Requirements, aggregates: Sequence[Any]) -> _Judged | None:
    """None: the hosts pass, and there is nothing to be said of them."""
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
