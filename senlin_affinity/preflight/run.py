"""Fetch as little of the cloud as decides a request, in at most three stages.

After the owner's group, flavor, image and quotas: *A sample* of allocation candidates is usually
enough to accept a request, at constant cost, or to reject one that exceeds the quota of instances.
*All candidates* decide others, unless they are many; if the policy chooses the hosts, it tries a
few of them first. *The whole cloud* decides the rest, such as spreads over zones.

Raises: BindingError for a cluster without a binding; InvalidSpec for an image that does not exist;
CloudError if a service does not answer, or answers too much. After any other error of a stage, the
whole cloud follows, whose view gives the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from msgspec import structs

from senlin_affinity.constraints.drs import PATTERN
from senlin_affinity.model.errors import BindingError, CloudError, InvalidSpec, TooLarge
from senlin_affinity.model.host import Host
from senlin_affinity.model.proposal import Change
from senlin_affinity.policy import placement
from senlin_affinity.preflight import candidates, question, sample
from senlin_affinity.preflight.candidates import CandidateQuery
from senlin_affinity.preflight.cloud_view import CloudView, Coverage
from senlin_affinity.preflight.question import FetchScope
from senlin_affinity.preflight.sample import AggregateSets, Outline, Query
from senlin_affinity.preflight.scale_request import ScaleRequest

#: How many hosts beyond one per server each attempt of a pinned request reads.
_MORE_HOSTS = (0, 4)


class Cloud(Protocol):
    """The requests of the stages; for a result of None, the stages do not decide the request."""

    def facts(self, scope: FetchScope, flavor: str | None) -> CloudView | None:
        """Fetch the owner's group, flavor, image and quotas; only ``()`` if there is no group."""

    def refresh(self) -> bool:
        """Read again from now on what an earlier operation read; return whether any was used.

        What an earlier operation read suffices to accept a request, not to reject it.
        """

    def aggregates(self, view: CloudView) -> tuple[CloudView, AggregateSets] | None:
        """Add all aggregates to the view; return also the sets that hosts are in."""

    def sample(self, query: Query) -> tuple[Host, ...] | None:
        """Fetch a sample of candidates."""

    def roots_of_members(self, query: Query, view: CloudView) -> Mapping[str, str] | None:
        """Fetch the host of each member, by server id: as in the sample, or else its name.

        None if a host is unknown, or if servers may count that the group does not show.
        """

    def flavors(self, view: CloudView) -> CloudView:
        """Add all flavors of the owner to the view."""

    def root_of_members(self, view: CloudView) -> str | None:
        """Fetch the root provider of the one host of all members."""

    def unread(self, view: CloudView) -> CloudView:
        """Append hosts of which only name, zone and aggregates are known."""

    def candidates(
        self, query: CandidateQuery, view: CloudView, limit: int | None = None
    ) -> CloudView | None:
        """Fetch all candidates, or at most ``limit``, with their hosts."""

    def whole(self, scope: FetchScope) -> CloudView:
        """Fetch every host, and what is missing besides."""


def scope_of(request: ScaleRequest) -> FetchScope | None:
    """Return the parts of the cloud to fetch; None for no nodes, or without a plan or DRS host.

    Without a plan, the scope is only the pattern of DRS hosts. Raise BindingError for new nodes of
    a cluster without a binding.
    """
    asked, properties = request.question, request.properties
    if asked.count == 0:
        return None
    if request.binding is None:
        raise BindingError(
            'the policy is bound to this cluster without a server group: '
            'detach the policy and attach it again'
        )
    if placement.is_planned(properties):
        return question.scope_of(asked)
    if properties.is_drs_enabled:
        return FetchScope(drs_pattern=asked.settings.value(PATTERN))
    return None


def run(request: ScaleRequest, cloud: Cloud) -> CloudView:
    """Fetch the stages until a view decides the request, and return that view.

    ``CloudView()`` if nothing must be fetched.
    """
    scope = scope_of(request)
    if scope is None:
        return CloudView()
    view = None
    if scope.drs_pattern is None and _is_staged(request):
        try:
            view = _staged(request, scope, cloud)
        except InvalidSpec:
            pass  # raised again when the request is decided
        except CloudError as error:
            if error.status is None or isinstance(error, TooLarge):
                raise
    return view or cloud.whole(scope)


def _is_staged(request: ScaleRequest) -> bool:
    """Check whether fewer hosts than the whole cloud may decide the request.

    False without constraints, for a request that names its host, the DRS extension, a spread over
    zones, several spreads, and reservations that pin hosts.
    """
    asked = request.question
    is_of_host = asked.target.is_forced  # no filter runs
    if not request.constraints or request.properties.is_drs_enabled or is_of_host:
        return False
    if len(asked.spreads) > 1 or request.zones is not None:
        return False  # zones and crossing domains depend on all hosts
    return asked.chooses_hosts or not asked.is_pinned


def _staged(request: ScaleRequest, scope: FetchScope, cloud: Cloud) -> CloudView | None:
    """Return a view of a sample or of all candidates; None if neither decides."""
    if request.question.is_pinned:
        cloud.refresh()  # Nova does not check chosen hosts again
    view = cloud.facts(scope, request.question.flavor_name)
    if view is None or not view.snapshot.server_groups:
        return view
    if request.question.is_pinned:
        return _pinned(request, view, cloud)
    outline = sample.outline(request, view)
    if outline.left_by_quota is not None and _has_changed(request, scope, cloud, view, ()):
        return _staged(request, scope, cloud)
    if outline.left_by_quota == 0:
        return replace(view, coverage=Coverage.ENOUGH_FOR_QUOTA)
    if outline.are_aggregates_needed:
        with_aggregates = cloud.aggregates(view)
        if with_aggregates is None:
            return None
        view, sets = with_aggregates
        outline = outline._replace(sets=sets)
    if outline.left_by_quota is not None:
        left = replace(request, question=replace(request.question, count=outline.left_by_quota))
        if _sample(left, view, cloud, outline):
            return replace(view, coverage=Coverage.ENOUGH_FOR_QUOTA)
    elif hosts := _sample(request, view, cloud, outline):
        snapshot = structs.replace(view.snapshot, hosts=hosts)
        return replace(view, snapshot=snapshot, coverage=Coverage.ENOUGH)
    if _has_changed(request, scope, cloud, view, outline.sets):
        return _staged(request, scope, cloud)
    if request.ignores_current_usage:
        return None  # candidates have room now; others may have it later
    decided = _candidates(request, view, cloud, outline.sets)
    if decided is None or decided.fits:
        return decided and decided.view
    view = cloud.flavors(decided.view)
    return replace(view, helpful=(*_helpful(request, view, cloud, outline),))


def _has_changed(
    request: ScaleRequest, scope: FetchScope, cloud: Cloud, view: CloudView, sets: AggregateSets
) -> bool:
    """Check whether a view from cached values differs from the cloud now.

    False without cached values, so at most once for a request.
    """
    if not cloud.refresh():
        return False
    now = cloud.facts(scope, request.question.flavor_name)
    if now is None or view.snapshot.aggregates is None:
        return now != view
    return cloud.aggregates(now) != (view, sets)


def _pinned(request: ScaleRequest, view: CloudView, cloud: Cloud) -> CloudView | None:
    """Return a view of some candidates that suffice, or else of all; None if neither decides."""
    if request.ignores_current_usage:
        return None
    with_aggregates = cloud.aggregates(view)
    if with_aggregates is None:
        return None
    view, sets = with_aggregates
    if request.question.spreads:
        view = cloud.unread(view)
    for more in _MORE_HOSTS:
        few = _candidates(request, view, cloud, sets, request.question.count + more)
        if few is not None and few.fits:
            return few.view
    decided = _candidates(request, view, cloud, sets)
    if decided is None or decided.fits:
        return decided and decided.view
    return cloud.flavors(decided.view)


def _sample(
    request: ScaleRequest, view: CloudView, cloud: Cloud, outline: Outline
) -> tuple[Host, ...]:
    """Fetch a sample, or a larger one after it; return its hosts if they are enough, or else ()."""
    smaller = None
    for is_large in (False, True):
        query = sample.query(request, view, outline, is_large=is_large)
        hosts = None if query is None or query == smaller else cloud.sample(query)
        if query is None or hosts is None:
            return ()
        if sample.is_enough(query.request, view, hosts):
            return hosts
        if len(hosts) < query.limit:  # a larger limit would not return more hosts
            return hosts if _is_enough_beside_members(query, view, cloud, hosts) else ()
        smaller = query
    return ()


def _is_enough_beside_members(
    query: Query, view: CloudView, cloud: Cloud, hosts: Sequence[Host]
) -> bool:
    """Check whether a sample is enough, with the members of the group on their hosts."""
    if not sample.depends_on_members(query.request, view, hosts):
        return False
    roots = cloud.roots_of_members(query, view)
    return roots is not None and sample.is_enough(query.request, view, hosts, roots)


class _Decided(NamedTuple):
    """A view of candidates that decides a request, and whether the servers fit."""

    view: CloudView
    fits: bool


def _candidates(
    request: ScaleRequest,
    view: CloudView,
    cloud: Cloud,
    sets: AggregateSets,
    limit: int | None = None,
) -> _Decided | None:
    """Fetch all candidates, or at most ``limit``; None if they do not decide the request."""
    root = (
        cloud.root_of_members(view) if sample.must_join_members(request.resolve(view)[0]) else None
    )
    query = candidates.query(request, view, sets, root)
    found = None if query is None else cloud.candidates(query, view, limit)
    fits = None if found is None else candidates.fits(request, found)
    if found is None or fits is None:
        return None
    return _Decided(candidates.compared(request, found), fits)


def _helpful(
    request: ScaleRequest, view: CloudView, cloud: Cloud, outline: Outline
) -> Iterator[Change]:
    """Yield the changes with each of which a new sample is enough."""
    for change in candidates.alternatives(request, view):
        if _sample(replace(request, change=change.data), view, cloud, outline):
            yield change
