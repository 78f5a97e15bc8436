"""Fetch a small part of the cloud that may be enough to accept or reject, at constant cost.

Data flow: the owner's client reads the group, flavor, image and quotas. By these, the operator's
client queries Placement once for a few candidates (:mod:`senlin_affinity.preflight.lower_bound`
builds the query and decides whether they are enough to accept). A quota of instances that is
exceeded is enough to reject, if the candidates have capacity for all servers within the quota: an
owner who may not list hosts then learns nothing else. Otherwise, all hosts that Placement has are
fetched, if they are few (:mod:`few`). If they do not suffice either, there is no view, and the
whole cloud must be fetched.

``Sample.read`` contains the results so far, so that no request is repeated then.

Units: 5 requests to accept, and one more each for a flavor that is given by name, for an image, and
for the aggregates, if a zone or a constraint needs them.

Raises: CloudError if Nova or Placement does not answer. If they reject a request, or the image
cannot be read, there is no view; the fetch of the whole cloud reports the reason.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from senlin_affinity.cloud import allocations, few, flavors, hosts, images
from senlin_affinity.cloud import connection as clouds
from senlin_affinity.cloud.clients import Clients
from senlin_affinity.cloud.read import Read
from senlin_affinity.cloud.server_groups import NovaServerGroups
from senlin_affinity.model.errors import AffinityError, CloudError, InvalidSpec, TooLarge
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.policy import profile
from senlin_affinity.preflight import lower_bound, upper_bound
from senlin_affinity.preflight.question import CloudView, FetchScope, Narrow


class Sample(NamedTuple):
    """A view that is enough to accept or to reject (None if there is none), and all results."""

    view: CloudView | None = None
    read: Read = Read()


def see(clients: Clients, needed: FetchScope, timeout: float | None = None) -> Sample:
    """Fetch a sample, or else all candidates; there is no view if neither is enough."""
    if needed.narrow is None:
        return Sample()
    looking = _Looking(clients, timeout)
    view = None
    try:
        view = looking.view(needed, needed.narrow)
    except InvalidSpec:
        pass
    except CloudError as error:
        if error.status is None or isinstance(error, TooLarge):
            raise
    return Sample(view, looking.read)


class _Looking:
    """The state of one fetch; ``read`` contains the results so far."""

    def __init__(self, clients: Clients, timeout: float | None) -> None:
        self.read = Read()
        self._few = few.Facts()
        self._clients = clients
        self._timeout = timeout

    def view(self, needed: FetchScope, asked: Narrow) -> CloudView | None:
        """Fetch a view that is enough to accept or reject; return None if there is none."""
        view = self._owners(needed, asked)
        if view is None:
            return None
        left = lower_bound.left_by_quota(asked, view) if self._clients.has_operator else None
        if left is None or self._shows_hosts():
            return self._certified(asked, view) or self._proved(asked, view)
        rest = self._certified(lower_bound.of(asked, left), view) if left else view
        if rest is None:
            return self._proved(asked, view)
        seen = len(rest.snapshot.hosts or ())
        return replace(view, owner_sees_hosts=False, is_part=True, enough=seen)

    def _shows_hosts(self) -> bool:
        """Check whether the owner may list hosts; the remedies then concern all hosts."""
        return clouds.ports(self._clients, self._timeout).inventory.shows_hosts()

    def _owners(self, needed: FetchScope, asked: Narrow) -> CloudView | None:
        """Fetch the group, flavor, image and quotas; return None if one of them is missing."""
        compute = clouds.compute(self._clients.owner, self._timeout)
        user, project = clouds.ids(self._clients.owner)
        name = profile.flavor(asked.question.profile or {})
        if needed.project_id not in (None, project) or not needed.server_groups or not name:
            return None
        group = NovaServerGroups(compute).get(needed.server_groups[0])
        self.read = replace(self.read, group=group)
        flavor = None if group is None else flavors.flavor(compute, name, are_specs_needed=True)
        if group is None or flavor is None or not self._has_image(needed.image):
            return None
        inventory = clouds.ports(self._clients, self._timeout).inventory
        quotas = inventory.with_user(inventory.quotas(), project, user)
        self.read = replace(self.read, quotas=quotas)
        snapshot = CloudSnapshot(
            flavors=(flavor,),
            server_groups=(group,),
            quotas=quotas,
            user_id=user,
            project_id=project,
        )
        return CloudView(snapshot, images=self.read.images)

    def _has_image(self, name: str | None) -> bool:
        """Fetch the image, if there is a name; return False if it cannot be read."""
        if name is None:
            return True
        try:
            found = images.find(self._clients.owner, name, self._timeout)
        except AffinityError as error:
            self.read = replace(self.read, image_error=error)
            return False
        self.read = replace(self.read, images={name: found})
        return True

    def _certified(self, asked: Narrow, view: CloudView) -> CloudView | None:
        """Fetch a few candidates; return a view with them if they are enough to accept."""
        sets: set[frozenset[str]] = set()
        if lower_bound.are_aggregates_needed(asked, view):
            owners = clouds.compute(self._clients.owner, self._timeout)
            compute = clouds.clouds_compute(self._clients, owners, self._timeout)
            if compute.pick(hosts.AGGREGATE_UUIDS) < hosts.AGGREGATE_UUIDS:
                return None
            known, of_hosts = aggregates = hosts.aggregates(compute)
            self.read = replace(self.read, aggregates=aggregates)
            view = replace(view, snapshot=replace(view.snapshot, aggregates=known))
            sets = {*of_hosts.values()}
        query = lower_bound.query(asked, view, sets)
        if query is None or not self._is_placement_new():
            return None
        placement = clouds.placement(self._clients.operator, self._timeout)
        answer = allocations.candidates(placement, query.text, query.limit)
        self._few = few.Facts(query.text, query.limit, answer)
        rooms = allocations.some(answer)
        found = tuple(query.host(root, room) for root, room in rooms.items() if room)
        if not lower_bound.is_enough(query.asked, view, found):
            return None
        return replace(view, snapshot=replace(view.snapshot, hosts=found), is_yes=True)

    def _is_placement_new(self) -> bool:
        """Check whether Placement offers the microversion that Nova uses."""
        placement = clouds.placement(self._clients.operator, self._timeout)
        return placement.pick(allocations.MICROVERSION) >= allocations.MICROVERSION

    def _proved(self, asked: Narrow, view: CloudView) -> CloudView | None:
        """Fetch all hosts that Placement has, if they are few; return None if they prove nothing.

        The remedies of an owner who may list hosts concern all hosts, so the few are not enough,
        unless all servers must be on one host.
        """
        owners = clouds.compute(self._clients.owner, self._timeout)
        is_told_all = not self._clients.has_operator and not upper_bound.is_bound(asked, view)
        if asked.is_lasting or is_told_all or not self._is_placement_new():
            return None
        if owners.pick(flavors.EXTRA_SPECS) < flavors.EXTRA_SPECS or upper_bound.is_hinted(
            asked, view
        ):
            return None
        every = flavors.flavors(owners)
        self.read = replace(self.read, flavors=every)
        if every is None:
            return None
        snapshot, known = replace(view.snapshot, flavors=every), self._few
        if self.read.aggregates is not None:
            aggregates, of_hosts = self.read.aggregates
            snapshot = replace(snapshot, aggregates=aggregates)
            known = known._replace(aggregates_of=of_hosts)
        return few.see(self._clients, asked, replace(view, snapshot=snapshot), known, self._timeout)
