"""Compare the properties of the image with the metadata of the host's aggregates.

Source: Nova's AggregateImagePropertiesIsolation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from senlin_affinity.constraints.base import (
    Assumption,
    Cloud,
    Constraint,
    Host,
    Option,
    Reason,
    Request,
    Switch,
    Verdict,
)
from senlin_affinity.nova.aggregates import aggregates_of, values
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
    reads_flavor = ()
    filters = (_FILTER,)
    reads = ('aggregates',)
    options = NAMESPACE, SEPARATOR
    reasons: ClassVar[Mapping[str, Reason]] = {
        'image_aggregates.matches': Reason(
            'the properties of the image match the metadata of the aggregates'
        ),
        'image_aggregates.mismatch': Reason(
            'the image has {key} "{asked}", but the metadata of the aggregates has "{found}"',
            advice='use another image or hosts of another aggregate, or change the metadata',
            detail='key',
            of_several='is in an aggregate with another {key} than "{asked}", which the image has',
            of_host='"{found}"',
        ),
        'image_aggregates.unknown': Reason(
            'it is not known whether the image properties match the metadata of the aggregates'
        ),
        'image_aggregates.not_enforced': Reason(
            f'not enforced here: the scheduler does not run {_FILTER}'
        ),
    }

    def prepare(
        self, request: Request, cloud: Cloud
    ) -> tuple[tuple[str, str | None], ...] | Verdict:
        """Return the properties of the image that aggregates restrict, and their values.

        An empty value matches any, and an unknown image has no properties. About every host: SKIP
        ``not_enforced`` without the filter; PASS ``unknown``, at most, if the aggregates are; PASS
        ``matches`` if no aggregate restricts a property of the image.
        """
        if not request.is_enforced(_FILTER):
            return Verdict.skipped('image_aggregates.not_enforced')
        asked, keys = request.memo(_properties), cloud.metadata_keys
        if cloud.aggregates is None:
            return Verdict.passed('image_aggregates.unknown', is_at_most=True)
        restricted = ((key, value) for key, value in asked.items() if key in keys and value != '')
        return (*restricted,) or Verdict.passed('image_aggregates.matches')

    def check(self, asked: tuple[tuple[str, str | None], ...], host: Host, cloud: Cloud) -> Verdict:
        """Reject (``mismatch``) a host whose aggregates have other values of an image property.

        The values of a key in all aggregates of a host are one set. PASS ``matches`` otherwise, or,
        at most, ``unknown`` if the type of a property that the aggregates have is unknown.
        """
        aggregates = aggregates_of(cloud, host)
        is_known = True
        for key, value in asked:
            texts = [each.metadata[key] for each in aggregates if key in each.metadata]
            options = frozenset().union(*map(values, texts))
            if not texts or value in options:
                continue
            if value is not None:
                facts = {'key': key, 'asked': value, 'found': ', '.join(sorted(options))}
                return Verdict.rejected('image_aggregates.mismatch', **facts)
            is_known = False
        code = 'image_aggregates.matches' if is_known else 'image_aggregates.unknown'
        return Verdict.passed(code, is_at_most=not is_known)

    def assumptions(self, request: Request, cloud: Cloud) -> Iterator[Assumption | Switch]:
        """Yield the filter if an aggregate has a key of the image.

        NO_NAMESPACE if the filter is enabled, the image has properties, and the option is not
        explicit.
        """
        if not cloud.metadata_keys.isdisjoint(request.memo(_properties)):
            yield _FILTER
        is_read = request.is_enforced(_FILTER) and request.image_properties
        if is_read and not request.settings.is_explicit(NAMESPACE):
            yield NO_NAMESPACE


def _properties(request: Request) -> Mapping[str, str | None]:
    """Return the values that the filter compares, by the property's current name; None: unknown.

    With a namespace, only keys that begin with it and the separator.
    """
    namespace = request.option(NAMESPACE)
    begin = f'{namespace}{request.option(SEPARATOR)}' if namespace else ''
    known = known_names(request.image_properties or {})
    return {key: filter_value(key, known[key]) for key in sorted(known) if key.startswith(begin)}
