"""The aggregate filter of document 000, for nova-scheduler.

Data flow: the metadata of a host's aggregates and the flavor's extra specs come in;
:mod:`senlin_affinity.core.aggregate_metadata` answers, once for hosts of the same aggregates.

Shapes, in nova.conf::

    available_filters = senlin_affinity.plugins.nova_filter.AggregateInstanceTypeFilter

Errors: none reaches the scheduler. A failure of the filter itself rejects the host (it fails
closed), and its traceback is in the log. Names are for the log only: one that was not loaded, or
that a stand-in does not have, decides nothing.

Source: document 000; ``nova/scheduler/filters`` of Nova 34.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from nova.exception import NovaException
from nova.scheduler import filters
from oslo_log import log as logging

from senlin_affinity.core.aggregate_metadata import Requirements, warnings
from senlin_affinity.core.aggregates.reasons import REASONS
from senlin_affinity.core.reasons import sentence
from senlin_affinity.core.verdict import Verdict

LOG = logging.getLogger(__name__)

#: A mapping that can be a key itself: its items, by their names.
_Frozen = tuple[tuple[str, Any], ...]

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

    def host_passes(self, host_state: Any, spec_obj: Any) -> bool:
        """Whether servers of the request's flavor may go to this host; never raises."""
        try:
            return self._passes(host_state, spec_obj.flavor)
        except Exception as error:
            host = _called('host', host_state, 'host')
            words = f'{type(error).__name__}: {error}'
            if self._is_new(words):
                LOG.exception('the aggregate filter failed, and rejects %s', host)
            else:
                LOG.debug('the aggregate filter failed, and rejects %s: %s', host, words)
            return False

    def _passes(self, host_state: Any, flavor: Any) -> bool:
        aggregates = [each.metadata for each in host_state.aggregates]
        names = [
            _label(each, 'name') or f'aggregate {number}'
            for number, each in enumerate(host_state.aggregates, 1)
        ]
        verdict = _judge(
            _frozen(_extra_specs(flavor)), tuple(map(_frozen, aggregates)), tuple(names)
        )
        called, host = _called('flavor', flavor, 'name'), _called('host', host_state, 'host')
        for words in warnings(verdict, aggregates, names):
            if self._is_new(words, called):
                LOG.warning('%s, %s: %s', called, host, words)
        if not verdict and LOG.isEnabledFor(logging.DEBUG):
            reason = sentence(verdict, REASONS)
            LOG.debug('%s, %s: rejected (%s): %s', called, host, verdict.code, reason)
        return bool(verdict)

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


def _extra_specs(flavor: Any) -> Mapping[str, Any]:
    """The extra specs; none where they were not loaded, as with Nova's own filter."""
    try:
        return getattr(flavor, 'extra_specs', None) or {}
    except (NotImplementedError, NovaException):
        return {}


def _frozen(mapping: Mapping[str, Any]) -> _Frozen:
    return tuple(sorted(mapping.items()))


@lru_cache(maxsize=128)
def _requirements(extra_specs: _Frozen) -> Requirements:
    """The flavor, parsed: once for all hosts of a request, and for the next requests."""
    return Requirements.parse(dict(extra_specs))


@lru_cache(maxsize=4096)
def _judge(
    extra_specs: _Frozen, aggregates: tuple[_Frozen, ...], names: tuple[str, ...]
) -> Verdict:
    return _requirements(extra_specs).check([dict(each) for each in aggregates], names)
