"""A look at as little of the cloud as can show that the servers fit: its cost does not grow.

Data flow: the owner's eyes see his group, flavor, image and quotas; by that the cloud's eyes ask
Placement once for a few candidates (:mod:`senlin_affinity.policy.certificate` says for what, and
whether they are enough). A yes comes out, or None: only the whole look tells.

A no comes out for one reason: the quota of instances, where hosts have room for all that it leaves.
Who may not see the hosts is told of nothing else then.

Units: 5 requests, and one more each for a flavor that is called by its name, an image, and for the
aggregates, where a zone or a rule needs them.

Errors: CloudError where Nova or Placement does not answer. What they refuse is None, and so is an
image that can not be read: the whole look says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from senlin_affinity.cloud import allocations, flavors, hosts, images
from senlin_affinity.cloud import connection as clouds
from senlin_affinity.cloud.eyes import Eyes
from senlin_affinity.cloud.inventory import NovaInventory
from senlin_affinity.cloud.server_groups import NovaServerGroups
from senlin_affinity.core.errors import AffinityError, CloudError, InvalidSpec
from senlin_affinity.core.image import Image
from senlin_affinity.core.objects import CloudSnapshot, Quota
from senlin_affinity.policy import certificate, profile
from senlin_affinity.policy.question import Look, Narrow, Needs

#: A user's quotas that may not be seen, or of a user that Nova does not know.
_HIDDEN = (403, 404)


def see(eyes: Eyes, needed: Needs, timeout: float | None = None) -> Look | None:
    """The look of a yes, or of a no by the quota; None where this is not enough for either."""
    if needed.narrow is None:
        return None
    try:
        look = _owners(eyes, needed, needed.narrow, timeout)
        if look is None:
            return None
        left = None if eyes.are_one else certificate.left_by_quota(needed.narrow, look)
        if left is None:
            return _certified(eyes, needed.narrow, look, timeout)
        fewer = certificate.of(needed.narrow, left)
        is_all = left == 0 or _certified(eyes, fewer, look, timeout) is not None
        return replace(look, is_owners=False) if is_all else None
    except InvalidSpec:
        return None
    except CloudError as error:
        if error.status is None:
            raise
        return None


def _owners(eyes: Eyes, needed: Needs, asked: Narrow, timeout: float | None) -> Look | None:
    """What is the owner's: the group, the flavor, the image and the quotas."""
    compute = clouds.compute(eyes.owner, timeout)
    user, project = clouds.ids(eyes.owner)
    flavor_name = profile.flavor(asked.question.profile or {})
    if needed.project_id not in (None, project) or not needed.server_groups or not flavor_name:
        return None
    group = NovaServerGroups(compute).get(needed.server_groups[0])
    flavor = flavors.flavor(compute, flavor_name, are_specs_needed=True)
    if group is None or flavor is None:
        return None
    known = _images(eyes, needed.image, timeout)
    if known is None:
        return None
    snapshot = CloudSnapshot(
        flavors=(flavor,),
        server_groups=(group,),
        quotas=_quotas(clouds.ports(eyes, timeout).inventory, project, user),
        user_id=user,
        project_id=project,
    )
    return Look(snapshot, images=known)


def _images(eyes: Eyes, name: str | None, timeout: float | None) -> Mapping[str, Image] | None:
    """The image by its name, if there is to be one; None where it can not be read."""
    try:
        return {} if name is None else {name: images.find(eyes.owner, name, timeout)}
    except AffinityError:
        return None


def _quotas(inventory: NovaInventory, project: str | None, user: str | None) -> Mapping[str, Quota]:
    """The project's, with those of the user, unless they may not be seen."""
    known = inventory.quotas()
    if project is None or user is None:
        return known
    try:
        return inventory.with_user(known, project, user)
    except CloudError as error:
        if error.status not in _HIDDEN:
            raise
        return known


def _certified(eyes: Eyes, asked: Narrow, look: Look, timeout: float | None) -> Look | None:
    """The look with its hosts, if they are enough."""
    sets: set[frozenset[str]] = set()
    if certificate.are_aggregates_needed(asked, look):
        compute = clouds.clouds_compute(eyes, clouds.compute(eyes.owner, timeout), timeout)
        if compute.pick(hosts.AGGREGATE_UUIDS) < hosts.AGGREGATE_UUIDS:
            return None
        known, of_hosts = hosts.aggregates(compute)
        look = replace(look, snapshot=replace(look.snapshot, aggregates=known))
        sets = {*of_hosts.values()}
    query = certificate.query(asked, look, sets)
    placement = clouds.placement(eyes.cloud, timeout)
    if query is None or placement.pick(allocations.MICROVERSION) < allocations.MICROVERSION:
        return None
    rooms = allocations.some(placement, query.text, query.limit)
    found = tuple(query.host(root, room) for root, room in rooms.items() if room)
    if not certificate.is_enough(query.asked, look, found):
        return None
    return replace(look, snapshot=replace(look.snapshot, hosts=found), is_yes=True)
