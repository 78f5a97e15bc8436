"""Explain why a server or an action on it failed: plan the same request again.

The servers that failed in their creation are left out. An action on a server that ran is asked for
by :mod:`~senlin_affinity.preflight.server_action`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from msgspec import structs

from senlin_affinity import engine
from senlin_affinity.answers import disclosure, likely_cause
from senlin_affinity.answers.explanation import Explanation, usage_of_failed
from senlin_affinity.answers.suggestions import suggested
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.constraints.flavor import FlavorConstraint
from senlin_affinity.constraints.image import ImageConstraint
from senlin_affinity.constraints.quota import QuotaConstraint
from senlin_affinity.engine.decision import Decision
from senlin_affinity.model import scheduler_hints
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.flavor import DISK_GB, MEMORY_MB, VCPU, Flavor
from senlin_affinity.model.request import Request
from senlin_affinity.model.server_group import ANTI_AFFINITY
from senlin_affinity.nova.actions import SAME_HOST, Action, ServerAction
from senlin_affinity.preflight import server_action
from senlin_affinity.preflight.failed_server import Cause, FailedServer
from senlin_affinity.preflight.question import Question, only_on, resolve_question
from senlin_affinity.preflight.server_action import ActionRequest
from senlin_affinity.scenario.scenario import Scenario

#: Of ``_consume_selected_host`` in nova-scheduler, until the computes report their servers again
#: (``scheduler_instance_sync_interval``).
_STILL_COUNTED = (
    'For two minutes after the failure, nova-scheduler may count the failed servers '
    'on the chosen hosts.'
)


@dataclass(frozen=True)
class NewServers:
    """A request for new servers, and the cloud to plan it on."""

    request: Request
    cloud: Cloud

    def decide(self, constraints: Sequence[Constraint], *, remedies: bool = True) -> Decision:
        """Return the decision about the request."""
        return engine.plan(self.request, Scenario.of(self.cloud), constraints, remedies=remedies)

    def accepted(self, request: Request, cloud: Cloud) -> NewServers:
        """Return another request for servers."""
        return NewServers(request, cloud)


Repetition: TypeAlias = NewServers | ActionRequest


def explain(
    failed: FailedServer,
    question: Question,
    view: Cloud,
    constraints: Sequence[Constraint],
    host: str | None = None,
    *,
    remedies: bool = True,
) -> Explanation:
    """Decide the request of a failed server again, without the servers that failed.

    :param question: the result of ``failed_server.question_of``.
    :param host: the only host to use (InvalidSpec if it does not exist); None: any.
    :param remedies: whether to search for remedies and suggestions, and to count the failed
        servers: most of the cost. False is enough for the cause.
    """
    notes: list[str] = []
    repeated: Repetition
    with_failed: NewServers | None = None
    if failed.attempt is None:
        repeated, with_failed = _creation(failed, question, view, host, notes)
    else:
        repeated = _action(failed.attempt, replace(question, host=host), view, notes)
    counted = None
    if with_failed is not None and remedies:
        counted = with_failed.decide(constraints, remedies=False)
    request, cloud = repeated.request, repeated.cloud
    notes += (f'Not modelled: {what}.' for what in scheduler_hints.unmodelled(request))
    group = request.server_group
    if failed.number > 1 and failed.failure.is_by_filters and group is not None:
        notes += [_STILL_COUNTED] if group.policy == ANTI_AFFINITY else []
    required = (*_host_requirements(request), *disclosure.requirements(request, constraints))
    decision = repeated.decide(constraints, remedies=remedies)
    explained = Explanation(failed, request, cloud, decision, counted, (*notes,), required)
    explained = _with_cause(explained, repeated, constraints)
    return _with_suggestions(explained, constraints) if remedies else explained


def _action(
    asked: ServerAction, question: Question, view: Cloud, notes: list[str]
) -> ActionRequest:
    """Return the action that failed, with its extra specs accepted; add a note about its host."""
    repeated = server_action.asking(asked, question, view)
    request, cloud = _of_settings(repeated.request, repeated.cloud)
    source, known = asked.server.host, cloud.hosts
    if source is not None and known is not None and all(each.host != source for each in known):
        why = f': {SAME_HOST.key} is false' if asked.action is Action.RESIZE else ''
        notes.append(f'Nova does not consider {source}, the host of {asked.server.name}{why}.')
    return replace(repeated, request=request, cloud=cloud)


def _creation(
    failed: FailedServer,
    question: Question,
    view: Cloud,
    host: str | None,
    notes: list[str],
) -> tuple[NewServers, NewServers | None]:
    """Return the request without the failed servers, and the one that counts them, if any."""
    question = _with_known_group(question, view, notes)
    whole = _with_known_zone(question, view, notes)
    if failed.flavor is not None and question.flavor == failed.flavor_name:
        whole = _with_flavor(whole, failed.flavor, notes)
    snapshot = whole if host is None else only_on(host, whole)
    request, cloud = _of_settings(*resolve_question(question, snapshot))
    is_optional = request.is_group_optional and failed.action is None  # else, of a policy
    request = replace(request, is_group_optional=is_optional)
    counted = None
    if failed.remaining:
        counted = NewServers(request, cloud)
        request, cloud = without_failed(request, cloud, failed)
    if host is not None:
        elsewhere = _of_settings(*resolve_question(question, whole))
        if failed.remaining:
            elsewhere = without_failed(*elsewhere, failed)
        request = replace(request, is_host_named=True, elsewhere=elsewhere)
    return NewServers(request, cloud), counted


def _of_settings(request: Request, cloud: Cloud) -> tuple[Request, Cloud]:
    """Return the request whose extra specs and image properties nova-api has accepted.

    A file of nova.conf may lack what nova-api has, such as PCI aliases.
    """
    settings = request.settings
    accepted = replace(settings, waived=settings.waived | {FlavorConstraint.name})
    return replace(request, settings=accepted), cloud


def _with_suggestions(explained: Explanation, constraints: Sequence[Constraint]) -> Explanation:
    """Return the explanation with what the requester could change, if Nova found no host."""
    failed, decision = explained.failed, explained.decision
    failure = failed.failure
    if failure.cause is not Cause.NO_HOST or failed.attempt is not None:
        return explained
    if decision.fits and not explained.would_fail_again:
        return explained
    found = suggested(
        decision,
        explained.request,
        explained.cloud,
        constraints,
        is_by_filters=failure.is_by_filters,
        server=failed.id,
    )
    return replace(explained, suggestions=(*found,))


def _with_cause(
    explained: Explanation, repeated: Repetition, constraints: Sequence[Constraint]
) -> Explanation:
    """Return the explanation with the likely cause, and with the decision that it follows from."""
    request, failure, scheduled = explained.request, explained.failed.failure, None
    likely = likely_cause.of_message(failure)
    is_action = explained.failed.attempt is not None
    if is_action or failure.origin in (Cause.NO_HOST, Cause.RETRIES):
        accepted, cloud = _accepted(request, explained.cloud)
        scheduled = repeated.accepted(accepted, cloud).decide(constraints, remedies=False)
    if scheduled is not None and failure.cause is Cause.NO_HOST and likely is None:
        is_by_filters = failure.is_by_filters
        likely = likely_cause.of_bound(
            scheduled, accepted, constraints, is_by_filters=is_by_filters
        )
    options = (each for item in constraints for each in item.options if each.nova)
    return replace(
        explained,
        scheduled=scheduled,
        likely_cause=likely,
        is_nova_conf_read=all(map(request.settings.is_explicit, options)),
    )


def _accepted(request: Request, cloud: Cloud) -> tuple[Request, Cloud]:
    """Return the request without what nova-api checks: quotas, image, and access to the flavor.

    Nova had accepted the request before it looked for hosts.
    """
    flavor, settings = request.flavor, request.settings
    checked = {QuotaConstraint.name, ImageConstraint.name}
    accepted = replace(
        request,
        flavor=flavor and structs.replace(flavor, is_shared=True),
        settings=replace(settings, waived=settings.waived | checked),
    )
    # Without a project, the cloud lacks no quotas.
    return accepted, structs.replace(cloud, quotas={}, project_id=None)


def without_failed(request: Request, cloud: Cloud, failed: FailedServer) -> tuple[Request, Cloud]:
    """Return the request and the cloud without the failed servers, in the group and in quotas."""
    ids, usage = {each.id for each in failed.remaining}, usage_of_failed(request, failed)
    is_of_user = failed.user_id in (None, cloud.user_id)
    quotas = cloud.quotas and {
        name: quota.with_less_usage(usage.get(name, 0), is_of_user=is_of_user)
        for name, quota in cloud.quotas.items()
    }
    group = request.server_group
    if group is not None:
        left = tuple(each for each in group.members if each.server not in ids)
        request = replace(request, server_group=structs.replace(group, members=left))
    return request, structs.replace(cloud, quotas=quotas)


def _host_requirements(request: Request) -> Iterator[str]:
    """Yield the flavor with its extra specs, then image properties and hints, if there are any.

    "flavor m1: 2 VCPU, 2048 MiB of memory, 20 GiB of disk, hw:cpu_policy=dedicated". Without what
    ``resources:...=0`` removes.
    """
    flavor, properties, hints = request.flavor, request.image_properties, request.scheduler_hints
    if flavor is not None:
        specs = flavor.extra_specs
        amounts = {
            VCPU: f'{flavor.vcpus} VCPU',
            MEMORY_MB: f'{flavor.ram} MiB of memory',
            DISK_GB: f'{flavor.disk} GiB of disk',
        }
        parts = [words for name, words in amounts.items() if specs.get(f'resources:{name}') != '0']
        parts += [
            f'{key}={value}'
            for key, value in specs.items()
            if not (key.startswith('resources:') and value == '0')
        ]
        yield f'flavor {flavor.name}{": " if parts else ""}{", ".join(parts)}'
    if properties:
        yield f'image: {", ".join(f"{key}={value}" for key, value in properties.items())}'
    for name, value in hints.items():
        if value:
            is_ids = name in scheduler_hints.OF_SERVERS
            words = ', '.join(scheduler_hints.servers(hints, name)) if is_ids else value
            yield f'scheduler hint {name}: {words}'


def _with_known_group(question: Question, snapshot: Cloud, notes: list[str]) -> Question:
    """Return the question without a group that no longer exists; add a note about it."""
    group, known = question.server_group, snapshot.server_groups
    if group is None or known is None or any(group in (each.id, each.name) for each in known):
        return question
    notes.append(f'Server group {group} no longer exists. The answer ignores it.')
    return replace(question, server_group=None)


def _with_known_zone(question: Question, snapshot: Cloud, notes: list[str]) -> Cloud:
    """Return the snapshot with the requested zone; add a note if it did not have the zone."""
    zone, known = question.availability_zone, snapshot.availability_zones
    if zone is None or question.target.is_forced or known is None or zone in known:
        return snapshot
    notes.append(f'No host is in availability zone {zone} any more, so Nova rejects the request.')
    return structs.replace(snapshot, availability_zones=known | {zone})


def _with_flavor(snapshot: Cloud, then: Flavor, notes: list[str]) -> Cloud:
    """Return the snapshot with the flavor of the request; add a note if it differs from today's.

    The id and the access are today's.
    """
    listed = snapshot.flavors or ()
    now = next((each for each in listed if each.name == then.name), None)
    used = then if now is None else structs.replace(then, id=now.id, is_shared=now.is_shared)
    if used != now and snapshot.flavors is not None:
        what = 'no longer exists' if now is None else 'has changed since'
        notes.append(f'Flavor {then.name} {what}. The answer uses the flavor of the request.')
    return structs.replace(snapshot, flavors=(used, *(each for each in listed if each is not now)))
