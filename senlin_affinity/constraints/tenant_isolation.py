"""Allow hosts of aggregates that name projects for these projects only.

Source: Nova's AggregateMultiTenancyIsolation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import ClassVar

from senlin_affinity.constraints.base import Constraint, Host, Reason, ResolvedRequest, Verdict
from senlin_affinity.nova.aggregate_lookup import aggregates_of, named, values
from senlin_affinity.nova.isolated_aggregates import TENANT, tenants

_FILTER = 'AggregateMultiTenancyIsolation'


class TenantIsolationConstraint(Constraint):
    """The projects that aggregates name."""

    name = 'tenant_isolation'
    order = 72
    summary = 'hosts in aggregates that name projects accept only these projects'
    needs = ('aggregates', 'hosts')
    filters = (_FILTER,)
    is_host_specific = False
    uses_resources = False
    reasons: ClassVar[Mapping[str, Reason]] = {
        'tenant_isolation.everybody': Reason('accepts every project'),
        'tenant_isolation.own': Reason('accepts project {project}'),
        'tenant_isolation.other': Reason(
            'is in {aggregates}, which does not accept project {project}',
            advice=f'name the project in the aggregate, under a key that begins with {TENANT}, or '
            'use hosts of another aggregate',
        ),
        'tenant_isolation.unknown': Reason('it is not known whether the host accepts the project'),
        'tenant_isolation.not_enforced': Reason(
            f'not enforced here: the scheduler does not run {_FILTER}'
        ),
    }

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """Reject (``other``) a host whose aggregates name projects, but not this one.

        The keys begin with ``filter_tenant_id``; a value may list several projects. PASS ``own`` if
        any names the project, ``everybody`` if none names projects, and, at most, ``unknown`` if
        the aggregates or a needed project are. SKIP ``not_enforced`` without the filter.
        """
        if not resolved.is_enforced(_FILTER):
            return Verdict.skipped('tenant_isolation.not_enforced')
        project, aggregates = resolved.project_id, aggregates_of(resolved, host)
        if aggregates is None:
            return Verdict.passed('tenant_isolation.unknown', is_at_most=True)
        metadata = (item for each in aggregates for item in each.metadata.items())
        projects = {one for key, text in metadata if key.startswith(TENANT) for one in values(text)}
        if not projects:
            return Verdict.passed('tenant_isolation.everybody')
        if project is None:
            return Verdict.passed('tenant_isolation.unknown', is_at_most=True)
        if project in projects:
            return Verdict.passed('tenant_isolation.own', project=project)
        names = named(aggregates, TENANT)
        return Verdict.rejected('tenant_isolation.other', aggregates=names, project=project)

    def host_fields(self, resolved: ResolvedRequest) -> Collection[str]:
        """Return ``('aggregates',)``, or () without the filter."""
        return ('aggregates',) if resolved.is_enforced(_FILTER) else ()

    def assumptions(self, resolved: ResolvedRequest) -> Iterator[str]:
        """Yield the filter if any aggregate names projects."""
        if any(tenants(each.metadata) for each in resolved.snapshot.aggregates or ()):
            yield _FILTER
