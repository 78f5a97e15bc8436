"""Compare the properties of the image with the metadata of the host's aggregates.

Source: Nova's AggregateImagePropertiesIsolation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import ClassVar

from senlin_affinity.constraints.base import (
    Assumption,
    Constraint,
    Host,
    Option,
    Reason,
    ResolvedRequest,
    Switch,
    Verdict,
)
from senlin_affinity.nova.aggregate_lookup import aggregates_of, values
from senlin_affinity.nova.image_fields import filter_value, known_names

_FILTER = 'AggregateImagePropertiesIsolation'
NAMESPACE = Option(
    'aggregate_image_properties_isolation_namespace',
    None,
    f'The prefix of the metadata keys that {_FILTER} compares with the properties of images; '
    'by default, it compares all keys. Use the value in section [filter_scheduler] of nova.conf.',
    nova='filter_scheduler',
)
SEPARATOR = Option(
    'aggregate_image_properties_isolation_separator',
    '.',
    'The separator after this prefix. Use the value in section [filter_scheduler] of nova.conf.',
    nova='filter_scheduler',
)
NO_NAMESPACE = Assumption(f'image_aggregates.{NAMESPACE.key}', f'no {NAMESPACE.key}')


class ImageAggregatesConstraint(Constraint):
    """The image properties that aggregates restrict."""

    name = 'image_aggregates'
    order = 76
    summary = "the properties of the image match the metadata of the host's aggregates"
    needs = ('aggregates', 'hosts')
    filters = (_FILTER,)
    is_host_specific = False
    uses_resources = False
    options = NAMESPACE, SEPARATOR
    reasons: ClassVar[Mapping[str, Reason]] = {
        'image_aggregates.matches': Reason(
            'the properties of the image match the metadata of the aggregates'
        ),
        'image_aggregates.mismatch': Reason(
            'the image has {key} "{asked}", but the metadata of the aggregates has "{found}"',
            advice='use another image or hosts of another aggregate, or change the metadata',
            detail='key',
        ),
        'image_aggregates.unknown': Reason(
            'it is not known whether the image properties match the metadata of the aggregates'
        ),
        'image_aggregates.not_enforced': Reason(
            f'not enforced here: the scheduler does not run {_FILTER}'
        ),
    }

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """Reject (``mismatch``) a host whose aggregates have other values of an image property.

        The values of a key in all aggregates of a host are one set; an empty value of the image
        matches any. PASS ``matches`` otherwise, or, at most, ``unknown`` if the aggregates, or the
        type of a property that they have, are unknown. SKIP ``not_enforced`` without the filter. An
        unknown image has no properties.
        """
        if not resolved.is_enforced(_FILTER):
            return Verdict.skipped('image_aggregates.not_enforced')
        aggregates = aggregates_of(resolved, host)
        if aggregates is None:
            return Verdict.passed('image_aggregates.unknown', is_at_most=True)
        values_by_key: dict[str, frozenset[str]] = {}
        for each in aggregates:
            for key, text in each.metadata.items():
                values_by_key[key] = values_by_key.get(key, frozenset()) | values(text)
        is_known = True
        for key, asked in resolved.memo(_properties).items():
            options = values_by_key.get(key)
            if options is None or asked == '' or asked in options:
                continue
            if asked is None:
                is_known = False
                continue
            shown = ', '.join(sorted(options))
            return Verdict.rejected('image_aggregates.mismatch', key=key, asked=asked, found=shown)
        code = 'image_aggregates.matches' if is_known else 'image_aggregates.unknown'
        return Verdict.passed(code, is_at_most=not is_known)

    def host_fields(self, resolved: ResolvedRequest) -> Collection[str]:
        """Return ``('aggregates',)``, or () without the filter."""
        return ('aggregates',) if resolved.is_enforced(_FILTER) else ()

    def assumptions(self, resolved: ResolvedRequest) -> Iterator[Assumption | Switch]:
        """Yield the filter if an aggregate has a key of the image.

        NO_NAMESPACE if the filter is enabled, the image has properties, and the option is not
        explicit.
        """
        asked, known = resolved.memo(_properties), resolved.snapshot.aggregates or ()
        if not all(asked.keys().isdisjoint(each.metadata) for each in known):
            yield _FILTER
        is_read = resolved.is_enforced(_FILTER) and resolved.image_properties
        if is_read and not resolved.rules.is_explicit(NAMESPACE):
            yield NO_NAMESPACE


def _properties(resolved: ResolvedRequest) -> Mapping[str, str | None]:
    """Return the values that the filter compares, by the property's current name; None: unknown.

    With a namespace, only keys that begin with it and the separator.
    """
    namespace = resolved.option(NAMESPACE)
    begin = f'{namespace}{resolved.option(SEPARATOR)}' if namespace else ''
    known = known_names(resolved.image_properties or {})
    return {key: filter_value(key, known[key]) for key in sorted(known) if key.startswith(begin)}
