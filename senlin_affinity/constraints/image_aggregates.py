"""Metadata of a host's aggregates that are called like a property of the image: they must agree.

Source: Nova's AggregateImagePropertiesIsolation. For each metadata key that is the name of a
property which Nova knows, and which the image has, the image's value must be one of those of the
aggregates. Where nova.conf has a namespace, only the keys that begin with it count.

At most: where the aggregates are not known, or Nova's type of the property is not modelled
(:mod:`senlin_affinity.core.image_fields`). An image that is not known has no properties here.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import ClassVar

from senlin_affinity.constraints.base import Host, Option, Reason, ResolvedRequest, Verdict
from senlin_affinity.core.aggregates.metadata_of import aggregates_of, values
from senlin_affinity.core.assumptions import Assumption
from senlin_affinity.core.image_fields import known_names, seen

_FILTER = 'AggregateImagePropertiesIsolation'
NAMESPACE = Option(
    'aggregate_image_properties_isolation_namespace',
    None,
    f'How the metadata keys begin that {_FILTER} compares with the properties of images; all of '
    "them without it. As in nova.conf's [filter_scheduler].",
    nova='filter_scheduler',
)
SEPARATOR = Option(
    'aggregate_image_properties_isolation_separator',
    '.',
    "What stands behind that namespace; as in nova.conf's [filter_scheduler].",
    nova='filter_scheduler',
)
NO_NAMESPACE = Assumption(f'image_aggregates.{NAMESPACE.key}', f'no {NAMESPACE.key}')


class ImageAggregatesConstraint:
    """The properties of the image, and the aggregates."""

    name = 'image_aggregates'
    order = 76
    summary = "the image's properties agree with the metadata of the host's aggregates"
    needs = ('aggregates', 'hosts')
    filters = (_FILTER,)
    is_by_name = False
    is_by_resources = False
    options = NAMESPACE, SEPARATOR
    reasons: ClassVar[Mapping[str, Reason]] = {
        'image_aggregates.matches': Reason(
            'the properties of the image and the metadata of the aggregates agree'
        ),
        'image_aggregates.mismatch': Reason(
            'the image has {key} "{asked}", the metadata of the aggregates "{found}"',
            advice='use another image or hosts of another aggregate, or change the metadata',
            detail='key',
        ),
        'image_aggregates.unknown': Reason(
            'whether the properties of the image agree with the aggregates is not known'
        ),
        'image_aggregates.not_enforced': Reason(
            f'not enforced here: the scheduler does not run {_FILTER}'
        ),
    }

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """See :meth:`HostConstraint.check_host`."""
        if not resolved.is_enforced(_FILTER):
            return Verdict.skipped('image_aggregates.not_enforced')
        aggregates = aggregates_of(resolved, host)
        if aggregates is None:
            return Verdict.passed('image_aggregates.unknown', is_at_most=True)
        found: dict[str, frozenset[str]] = {}
        for each in aggregates:
            for key, text in each.metadata.items():
                found[key] = found.get(key, frozenset()) | values(text)
        is_known = True
        for key, asked in resolved.once(_properties).items():
            options = found.get(key)
            if options is None or asked == '' or asked in options:
                continue
            if asked is None:
                is_known = False
                continue
            shown = ', '.join(sorted(options))
            return Verdict.rejected('image_aggregates.mismatch', key=key, asked=asked, found=shown)
        code = 'image_aggregates.matches' if is_known else 'image_aggregates.unknown'
        return Verdict.passed(code, is_at_most=not is_known)

    def reads(self, resolved: ResolvedRequest) -> Collection[str]:
        """What counts of a host."""
        return ('aggregates',) if resolved.is_enforced(_FILTER) else ()

    def shape(self, resolved: ResolvedRequest, host: Host) -> Hashable:
        """The host's aggregates are all that counts."""
        return host.aggregates if resolved.is_enforced(_FILTER) else None

    def assumptions(self, resolved: ResolvedRequest) -> Iterator[Assumption]:
        """The namespace, where an image has properties."""
        is_read = resolved.is_enforced(_FILTER) and resolved.image_properties
        if is_read and not resolved.rules.is_told(NAMESPACE):
            yield NO_NAMESPACE


def _properties(resolved: ResolvedRequest) -> Mapping[str, str | None]:
    """What the filter compares of the image, by the keys that count."""
    namespace = resolved.option(NAMESPACE)
    begin = f'{namespace}{resolved.option(SEPARATOR)}' if namespace else ''
    known = known_names(resolved.image_properties or {})
    return {key: seen(key, known[key]) for key in sorted(known) if key.startswith(begin)}
