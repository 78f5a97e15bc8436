"""The hook where the preflight is asked: refuses what can not fit, and chooses hosts.

The way of the data: properties, the binding and what the cluster asks for come in; the cloud is
looked at once (``snapshot``) and planned (``plan``); a Placement or a Refusal goes out.

Modes: ``enforce`` refuses what does not fit, and a spec that this cloud can not answer; ``warn``
says so and goes on. What could not be found out is a warning in either. Where a host must be
chosen (``pin_hosts``, ``member_of``, the DRS extension, reservations), a node without a host is a
refusal in every mode, for there is nothing to send it to.

Shapes: a pinned node's entry is ``{'zone': 'az-1:cmp-3', 'servergroup': '...'}``.

Errors: InvalidSpec for a spec that this cloud can not answer; CloudError only where a host must be
chosen.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from senlin_affinity.constraints.reservations import reads_images
from senlin_affinity.core.decision import Decision
from senlin_affinity.core.errors import AffinityError, CloudError
from senlin_affinity.core.flavor import PCPU
from senlin_affinity.core.objects import CloudSnapshot, PlacementRequest, Rules
from senlin_affinity.policy import profile
from senlin_affinity.policy.binding import Binding
from senlin_affinity.policy.placement import DEFAULT_DRS_ZONE, NO_DRS_HOST, Placement, Refusal
from senlin_affinity.policy.properties import Properties
from senlin_affinity.policy.request import Asked, build, must_pin

_MOST_REMEDIES = 3
#: What freeing a host or starting one does not change.
_LASTING = ('availability_zone', 'member_of', 'reservations', 'drs', 'server_group', 'quota')


@dataclass(frozen=True)
class Preflight:
    """How the cloud is looked at, how it is planned, and where the words go.

    ``snapshot`` answers with the cloud, and why a part of it is not known, by the part's name;
    ``image`` with the properties of the image that is called so. ``plan`` takes the names of the
    only constraints that count; None is all of them. ``warn`` is for what somebody should look at,
    ``note`` for what is as usual.
    """

    snapshot: Callable[[], tuple[CloudSnapshot, Mapping[str, str]]]
    image: Callable[[str], Mapping[str, str]]
    plan: Callable[[PlacementRequest, CloudSnapshot, Rules, tuple[str, ...] | None], Decision]
    warn: Callable[[str], None]
    note: Callable[[str], None]


def unpinned(asked: Asked, properties: Properties, binding: Binding) -> Placement:
    """The nodes in their group and zone; Nova's scheduler chooses the hosts."""
    return Placement(asked.count, binding.servergroup_id, properties.availability_zone)


def place(
    asked: Asked, properties: Properties, binding: Binding, preflight: Preflight
) -> Placement | Refusal:
    """Where the nodes of a cluster with such a policy go, or why nowhere.

    :param asked: with the count of nodes, 1 or more.
    """
    is_pinned, is_enforced = must_pin(properties, asked.rules), properties.preflight == 'enforce'
    try:
        decision, unknown = _decide(asked, properties, binding, preflight)
    except AffinityError as error:
        if is_pinned or (is_enforced and not isinstance(error, CloudError)):
            raise
        preflight.warn(f'could not find out whether {asked.count} node(s) fit: {error}')
        return unpinned(asked, properties, binding)
    if is_pinned:
        return _pinned(decision, unknown, binding.servergroup_id, properties)
    if decision.fits is False and is_enforced and not _is_image_hidden(asked):
        return _refusal(decision)
    if decision.fits is False or (decision.fits is None and decision.is_hosts_known):
        preflight.warn(_words(decision, unknown))
    elif decision.fits is None:  # as ever for a user who may not see hosts
        preflight.note(decision.line())
    return unpinned(asked, properties, binding)


def ceiling(
    asked: Asked, properties: Properties, binding: Binding, preflight: Preflight
) -> str | None:
    """Why the cluster can not have so many nodes, whatever hosts are freed; None where it can.

    :param asked: with the nodes that it may still grow by.
    """
    decision, _unknown = _decide(asked, properties, binding, preflight, _LASTING)
    return _words(decision) if decision.fits is False else None


def _decide(
    asked: Asked,
    properties: Properties,
    binding: Binding,
    preflight: Preflight,
    only: tuple[str, ...] | None = None,
) -> tuple[Decision, Mapping[str, str]]:
    is_pinned = must_pin(properties, asked.rules)
    snapshot, unknown = preflight.snapshot()
    if is_pinned and snapshot.hosts is None:
        why = unknown.get('hosts', 'the hosts are not known')
        raise CloudError(f'the policy has to choose the host of every node: {why}')
    image = profile.image(asked.profile or {})
    # A host that the policy chooses must have the traits that the image requires, too.
    if image is not None and (is_pinned or reads_images(asked.rules)):
        asked = replace(asked, image_properties=preflight.image(image))
    elif image is not None and _has_pinned_cpus(snapshot):
        with contextlib.suppress(CloudError):  # then it is not known which CPUs the image asks for
            asked = replace(asked, image_properties=preflight.image(image))
    asked = replace(asked, properties=properties, server_group=binding.servergroup_id)
    request, snapshot, rules = build(asked, _remembered(snapshot, binding))
    return preflight.plan(request, snapshot, rules, only), unknown


def _has_pinned_cpus(snapshot: CloudSnapshot) -> bool:
    """Does a host have CPUs of the kind that an image can ask for in place of the common one?"""
    return any(PCPU in (host.resources or {}) for host in snapshot.hosts or ())


def _remembered(snapshot: CloudSnapshot, binding: Binding) -> CloudSnapshot:
    """The rules that the binding remembers, where an old cloud does not show those of a group."""
    groups = snapshot.server_groups
    if groups is None or not binding.rules:
        return snapshot
    return replace(
        snapshot,
        server_groups=tuple(
            replace(group, rules=binding.rules) if group.id == binding.servergroup_id else group
            for group in groups
        ),
    )


def _is_image_hidden(asked: Asked) -> bool:
    """Would the properties of the image count, and nobody knows them (a volume's image)?"""
    return reads_images(asked.rules) and profile.image(asked.profile or {}) is None


def _pinned(
    decision: Decision, unknown: Mapping[str, str], group_id: str, properties: Properties
) -> Placement | Refusal:
    if len(decision.placements) == decision.wanted:
        zone = properties.availability_zone or DEFAULT_DRS_ZONE
        hosts = tuple(f'{placed.zone or zone}:{placed.host}' for placed in decision.placements)
        return Placement(decision.wanted, group_id, hosts=hosts)
    refusal = _refusal(decision, unknown)
    if properties.is_drs_enabled and not decision.placements and _is_no_host_left(decision):
        return Refusal(NO_DRS_HOST, f'{NO_DRS_HOST} ({refusal.reason})')
    return refusal


def _is_no_host_left(decision: Decision) -> bool:
    return all(row.code is not None for row, _number in decision.tally)


def _refusal(decision: Decision, unknown: Mapping[str, str] | None = None) -> Refusal:
    words = _words(decision, unknown)
    return Refusal(words, words)


def _words(decision: Decision, unknown: Mapping[str, str] | None = None) -> str:
    """The line, with what would help, or with why it is not known."""
    words = decision.line()
    if decision.fits is None and unknown:
        return f'{words}; {"; ".join(unknown.values())}'
    if decision.remedies:
        helps = ', '.join(map(str, decision.remedies[:_MOST_REMEDIES]))
        return f'{words}; would help: {helps}'
    return words
