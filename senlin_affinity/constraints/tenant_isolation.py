"""Allow hosts of aggregates that name projects for these projects only.

Source: Nova's AggregateMultiTenancyIsolation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import ClassVar

from senlin_affinity.constraints.base import (
    Change,
    Cloud,
    Constraint,
    Evaluated,
    Host,
    OneOf,
    Reason,
    Request,
    Scenario,
    Verdict,
)
from senlin_affinity.nova.aggregates import aggregates_of, named
from senlin_affinity.nova.queried_aggregates import TENANT, tenants

_FILTER = 'AggregateMultiTenancyIsolation'
#: Each is evaluated.
_MOST_AGGREGATES = 10


class TenantIsolationConstraint(Constraint):
    """The projects that aggregates name."""

    name = 'tenant_isolation'
    order = 72
    summary = 'hosts in aggregates that name projects accept only these projects'
    needs = ('aggregates', 'hosts')
    reads_flavor = ()
    filters = (_FILTER,)
    reads = ('aggregates',)
    reasons: ClassVar[Mapping[str, Reason]] = {
        'tenant_isolation.everybody': Reason('accepts every project'),
        'tenant_isolation.own': Reason('accepts project {project}'),
        'tenant_isolation.other': Reason(
            'is in aggregate {aggregates}, which does not accept project {project}',
            advice=f'name the project in the aggregate, under a key that begins with {TENANT}, or '
            'use hosts of another aggregate',
            is_state=True,
            of_several='is in an aggregate that does not accept project {project}',
            of_host='{aggregates}',
        ),
        'tenant_isolation.unknown': Reason('it is not known whether the host accepts the project'),
        'tenant_isolation.not_enforced': Reason(
            f'not enforced here: the scheduler does not run {_FILTER}'
        ),
    }

    def prepare(self, request: Request, cloud: Cloud) -> str | Verdict | None:
        """Return the project of the servers; None if it is unknown.

        About every host: SKIP ``not_enforced`` without the filter; PASS ``unknown``, at most,
        without aggregates; PASS ``everybody`` if none names projects.
        """
        if not request.is_enforced(_FILTER):
            return Verdict.skipped('tenant_isolation.not_enforced')
        known = cloud.aggregates
        if known is None:
            return Verdict.passed('tenant_isolation.unknown', is_at_most=True)
        if not any(tenants(each.metadata) for each in known):
            return Verdict.passed('tenant_isolation.everybody')
        return request.project_id

    def check(self, asked: str | None, host: Host, cloud: Cloud) -> Verdict:
        """Reject (``other``) a host whose aggregates name projects, but not this one.

        The keys begin with ``filter_tenant_id``; a value may list several projects. PASS ``own`` if
        any names the project, ``everybody`` if none names projects, and, at most, ``unknown`` if
        the project is.
        """
        aggregates = aggregates_of(cloud, host)
        projects = frozenset().union(*(tenants(each.metadata) for each in aggregates))
        if not projects:
            return Verdict.passed('tenant_isolation.everybody')
        if asked is None:
            return Verdict.passed('tenant_isolation.unknown', is_at_most=True)
        if asked in projects:
            return Verdict.passed('tenant_isolation.own', project=asked)
        names = named(aggregates, TENANT)
        return Verdict.rejected('tenant_isolation.other', aggregates=names, project=asked)

    def assumptions(self, request: Request, cloud: Cloud) -> Iterator[str]:
        """Yield the filter if any aggregate names projects."""
        if any(tenants(each.metadata) for each in cloud.aggregates or ()):
            yield _FILTER

    def proposals(
        self, request: Request, scenario: Scenario, evaluation: Evaluated
    ) -> Iterator[Change]:
        """Yield ``aggregate_projects``: the best one of the aggregates that keep the project out.

        In a project that the aggregate accepts, the servers fit as if it accepted this one.
        """
        project, rejected = request.project_id, evaluation.rejected
        of_rejected = frozenset().union(*(host.aggregates for host in rejected))
        closed = (
            each
            for each in scenario.cloud.aggregates or ()
            if each.uuid in of_rejected and tenants(each.metadata)
        )
        choices = [
            Change(
                'aggregate_projects',
                f'use a project that aggregate {each.name} accepts, or add this project to its '
                f'{TENANT}',
                {
                    'aggregate_projects': {
                        'aggregate': {'name': each.name, 'uuid': each.uuid},
                        'projects': [project],
                    }
                },
            )
            for each in islice(closed, _MOST_AGGREGATES)
        ]
        yield OneOf('aggregate_projects', '', choices=(*choices,))
