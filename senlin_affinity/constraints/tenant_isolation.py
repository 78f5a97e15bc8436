"""Hosts of aggregates that are for some projects: only for the servers of these.

Source: Nova's AggregateMultiTenancyIsolation. The values of all metadata keys of a host's
aggregates that begin with ``filter_tenant_id`` are the projects that it is for; a host without such
a key is for everybody. It is another flow than ``limit_tenants_to_placement_aggregate``, which
keeps a project in its aggregates (:mod:`senlin_affinity.constraints.reservations`).

At most: where the aggregates or the project are not known.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import ClassVar

from senlin_affinity.constraints.base import Host, Reason, ResolvedRequest, Verdict
from senlin_affinity.core.aggregates.isolation import TENANT
from senlin_affinity.core.aggregates.metadata_of import aggregates_of, named, values

_FILTER = 'AggregateMultiTenancyIsolation'


class TenantIsolationConstraint:
    """The projects that a host is for."""

    name = 'tenant_isolation'
    order = 72
    summary = 'hosts of aggregates for some projects only for servers of these'
    needs = ('aggregates', 'hosts')
    filters = (_FILTER,)
    is_by_name = False
    is_by_resources = False
    reasons: ClassVar[Mapping[str, Reason]] = {
        'tenant_isolation.everybody': Reason('is for the servers of every project'),
        'tenant_isolation.own': Reason('is for the servers of project {project}'),
        'tenant_isolation.other': Reason(
            'is in {aggregates}, which is not for project {project}',
            advice=f'name the project in the aggregate, under a key that begins with {TENANT}, or '
            'use hosts of another aggregate',
        ),
        'tenant_isolation.unknown': Reason('for which projects it is, or who asks, is not known'),
        'tenant_isolation.not_enforced': Reason(
            f'not enforced here: the scheduler does not run {_FILTER}'
        ),
    }

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """See :meth:`HostConstraint.check_host`."""
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

    def reads(self, resolved: ResolvedRequest) -> Collection[str]:
        """What counts of a host."""
        return ('aggregates',) if resolved.is_enforced(_FILTER) else ()

    def shape(self, resolved: ResolvedRequest, host: Host) -> Hashable:
        """The host's aggregates are all that counts."""
        return host.aggregates if resolved.is_enforced(_FILTER) else None
