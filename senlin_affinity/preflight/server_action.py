"""Ask whether an action on a server would find a host: ``plan --server``, and ``server explain``.

Example::

    resize = ServerAction(Action.RESIZE, server)
    question = question_of(resize, Question(1, 'big'))    what to fetch
    asked = asking(resize, question, view)
    asked.decide(constraints).fits                        False: nova-scheduler rejects every host

A server keeps its group, its hints and, but for a rebuild, its image. So a remedy changes the
hosts, the quotas, the place of another server, the requested host or the pinned zone, and nothing
else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from msgspec import structs

from senlin_affinity import engine
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.constraints.quota import DRIVER, USAGE
from senlin_affinity.engine.changes import changes_cloud
from senlin_affinity.engine.decision import Decision, Remedy
from senlin_affinity.engine.resolution import resolve
from senlin_affinity.engine.scheduler_filters import KNOWN
from senlin_affinity.model.cloud import Cloud, Quota
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.image import Image
from senlin_affinity.model.proposal import Data
from senlin_affinity.model.request import QUOTA, Request, Settings
from senlin_affinity.model.server import Server
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.value import Texts
from senlin_affinity.model.verdict import Reason, Verdict
from senlin_affinity.nova.actions import (
    REASONS,
    Action,
    ServerAction,
    obstacle,
    request_of,
    unchecked,
)
from senlin_affinity.nova.moves import REBUILT_IMAGE, UNPIN, may_unpin
from senlin_affinity.nova.quotas import CORES, NEW_NEED, RAM, RESIZE_NEEDS, Resized
from senlin_affinity.preflight.question import Question, image_of, only_on
from senlin_affinity.scenario.column import Column
from senlin_affinity.scenario.scenario import Scenario

#: The advice without what only a new server could change: its zone, hints, image, and group.
_ADVICE: Mapping[str, str] = {
    'availability_zone.other_zone': '',
    'availability_zone.not_in_aggregate': 'add the host to one of these aggregates',
    'image_hypervisor.unsupported': 'use hosts whose hypervisor supports it',
    'scheduler_hints.same_host': 'free capacity on the host of these servers',
    'scheduler_hints.different_host': 'add a host',
    'server_group.other_host': 'free capacity on the host of the group',
}
_ZONE = 'availability_zone'
#: The name under which a decision has the rejection by nova-api.
OBSTACLE = 'move'


class OwnHostConstraint(Constraint):
    """The host of a rebuilt server has room for this one server."""

    name = 'own_host'
    order = 0
    summary = 'a rebuilt server stays on its host, and keeps what it uses there'
    needs = ()
    reasons: ClassVar[Mapping[str, Reason]] = {
        'own_host.kept': Reason('the server keeps what it uses on this host')
    }

    def column(self, request: Request, scenario: Scenario) -> Column:
        """Return PASS ``kept`` with room for one server, about every host."""
        verdict = Verdict.passed('own_host.kept', room=1)
        return Column.of_all(verdict, len(scenario.hosts))


@dataclass(frozen=True)
class ActionRequest:
    """An action, the request for a host, and the cloud with the hosts that Nova considers.

    ``obstacle`` is why nova-api rejects the action for any host, if it does. ``is_late_checked``:
    what Nova checks only on the chosen host counts.
    """

    asked: ServerAction
    request: Request
    cloud: Cloud
    obstacle: Verdict | None = None
    is_late_checked: bool = True

    def decide(self, constraints: Sequence[Constraint], *, remedies: bool = True) -> Decision:
        """Return whether Nova finds a host; an obstacle is a rejection of the request.

        What Nova checks only after it has chosen a host makes the answer "at most".
        """
        # Nova chooses no host for an action that it rejects.
        request = self.request if self.obstacle is None else replace(self.request, count=0)
        if self.asked.stays:
            own = [each for each in constraints if each.name in self.asked.checked]
            filters = self._filters(own, constraints) if self.asked.is_scheduled else ()
            settings = replace(request.settings, enabled_filters=(*filters,))
            request = replace(request, settings=settings)
            constraints = [OwnHostConstraint(), *own]
        scenario = Scenario.of(self.cloud)
        decision = engine.plan(
            request, scenario, constraints, remedies=remedies, can_follow=_can_follow
        )
        reasons = decision.reasons
        if not self.asked.stays:
            reasons = {code: self._worded(code, each) for code, each in reasons.items()}
        helpful = (*map(self._with_unpinning, decision.remedies),)
        decision = replace(decision, reasons=reasons, remedies=helpful, tried=())
        if self.obstacle is not None:
            return replace(
                decision,
                fits=False,
                wanted=self.request.count,
                capacity=0,
                capacity_certain=0,
                request={OBSTACLE: self.obstacle, **decision.request},
                reasons={**decision.reasons, **REASONS},
                remedies=(),
            )
        left = unchecked(self.asked) if self.is_late_checked and decision.fits else ()
        if not left:
            return decision
        late = f'what Nova checks only on the chosen host ({"; ".join(left)})'
        return replace(decision, at_most=(*decision.at_most, late), capacity_certain=0)

    def _worded(self, code: str, reason: Reason) -> Reason:
        """Return a reason with the advice for an existing server, and the words of a resize."""
        reason = replace(reason, advice=_ADVICE.get(code, reason.advice))
        if self.asked.action is not Action.RESIZE or NEW_NEED not in reason.sentence:
            return reason
        words = reason.sentence.replace(NEW_NEED, RESIZE_NEEDS)
        return replace(reason, sentence=words, for_owner=words)

    def _filters(
        self, checked: Iterable[Constraint], constraints: Iterable[Constraint]
    ) -> Iterator[str]:
        """Yield the enabled filters that run for a rebuild: they are checked, or not of Nova."""
        run = {name for each in checked for name in each.filters}
        known = {name for each in constraints for name in each.filters} | KNOWN
        for name in self.request.settings.enabled_filters:
            if name in run or name not in known:
                yield name

    def _with_unpinning(self, remedy: Remedy) -> Remedy:
        """Return the remedy with the words and the commands for a server in a zone."""
        if _ZONE not in remedy.data:
            return remedy
        server = self.asked.server
        words = f'{server.name} unpinned from zone {server.pinned_zone}'
        change = remedy.change.replace('no availability_zone', words)
        return replace(remedy, change=change, commands=(*remedy.commands, *self._unpinning()))

    def _unpinning(self) -> Iterator[str]:
        """Yield the command that removes the pinned zone, if this Nova has one."""
        if self.cloud.nova_release is not None and may_unpin(self.cloud):
            client = f'openstack --os-compute-api-version {UNPIN}'
            yield f'{client} server unset --pinned-availability-zone {self.asked.server.id}'

    def accepted(self, request: Request, cloud: Cloud) -> ActionRequest:
        """Return the action as nova-scheduler gets it, with this request and cloud.

        The event of a check on a chosen host would have named that host.
        """
        return replace(self, request=request, cloud=cloud, obstacle=None, is_late_checked=False)


def _can_follow(data: Data) -> bool:
    """Check whether an existing server can follow a change.

    The change is of the cloud, or leaves the zone open. No server moves to bare metal.
    """
    others = data.keys() - {_ZONE}
    is_in_place = data.get(_ZONE) is None and 'available_nodes' not in others
    return is_in_place and all(map(changes_cloud, others))


def question_of(asked: ServerAction, given: Question) -> Question:
    """Return the question about the action: what ``given`` does not specify is the server's."""
    server = asked.server
    flavor = given.flavor or (None if server.flavor is None else server.flavor.name)
    if flavor is None:
        raise InvalidSpec(f'Nova does not show the flavor of {server.name}: specify --flavor')
    return replace(
        given,
        count=1,
        flavor=flavor,
        server_group=server.server_group,
        availability_zone=server.pinned_zone,
        image=given.image or Image(properties=server.image_properties),
        is_volume_booted=server.is_volume_booted,
        project_id=server.project_id,
        user_id=server.user_id,
        scheduler_hints=server.hints,
    )


def asking(asked: ServerAction, question: Question, view: Cloud) -> ActionRequest:
    """Return the action with values in place of names, and the request for a host.

    Raise InvalidSpec for a flavor or a host that does not exist.

    :param question: that of :func:`question_of`. Its host is the requested target.
    """
    cloud, settings = view, question.settings
    if not view.owner_sees_hosts:
        cloud = structs.replace(cloud, hosts=None)
    image, _properties = image_of(question, view)
    is_new = asked.action is Action.REBUILD
    server = _specified(asked.server, question, None if is_new else image)
    cloud = structs.replace(cloud, servers_by_host=_without(server, cloud.servers_by_host))
    given = _flavor(question, cloud)
    flavor = given if asked.action is Action.RESIZE else None
    known_flavor = server.flavor or (None if flavor else given)
    server = structs.replace(server, flavor=known_flavor, server_group=_group_id(question, cloud))
    asked = replace(asked, server=server, flavor=flavor, image=image if is_new else None)
    request, known = request_of(asked, cloud, settings)
    if asked.action in (Action.RESIZE, Action.UNSHELVE):
        waived = request.settings.waived - {QUOTA} | settings.waived
        request = replace(request, settings=replace(request.settings, waived=waived))
        known = structs.replace(known, quotas=_quotas(asked, known.quotas, settings))
    found = obstacle(asked, cloud, settings, question.host)
    if question.host is not None:
        elsewhere = request, known
        known = only_on(question.host, known if found is None else cloud)
        request = replace(request, is_host_named=True, elsewhere=elsewhere)
    return ActionRequest(asked, request, known, found)


def _without(
    server: Server, by_host: Mapping[str, tuple[Server, ...]]
) -> dict[str, tuple[Server, ...]]:
    """Return the servers of each host without this one, which does not make room for itself."""
    return {
        host: tuple(each for each in servers if each.id != server.id)
        for host, servers in by_host.items()
    }


def _specified(server: Server, question: Question, image: Image | None) -> Server:
    """Return the server with what the question specifies, which is then known."""
    is_image_given = isinstance(question.image, str) or bool(question.image_properties)
    given = {
        'pinned_zone': question.availability_zone is not None,
        'hints': bool(question.scheduler_hints),
        'image_properties': is_image_given,
        REBUILT_IMAGE: is_image_given,
    }
    return structs.replace(
        server,
        pinned_zone=question.availability_zone,
        hints=question.scheduler_hints,
        image_properties=server.image_properties if image is None else image.properties,
        is_volume_booted=question.is_volume_booted,
        unknown=Texts(name for name in server.unknown if not given.get(name)),
    )


def _flavor(question: Question, cloud: Cloud) -> Flavor | None:
    """Return the flavor that the question names; None if the flavors are not known."""
    return resolve(cloud, 1, question.flavor or '').flavor


def _group_id(question: Question, cloud: Cloud) -> str | None:
    """Return the id of the server group that the question names."""
    named = question.server_group
    if isinstance(named, ServerGroup):
        return named.id
    found = (each.id for each in cloud.server_groups or () if named in (each.id, each.name))
    return next(found, named)


def _quotas(
    asked: ServerAction, quotas: Mapping[str, Quota] | None, settings: Settings
) -> Mapping[str, Quota] | None:
    """Return the quotas that Nova checks, as if the server were not counted yet.

    A resize may need more cores and ram, and an unshelve needs all of its own if Placement counts
    them. Unified limits count a resized server twice.
    """
    is_unified = settings.value(DRIVER) != DRIVER.default
    if quotas is None or (asked.action is Action.RESIZE and is_unified):
        return quotas
    before, after = asked.server.flavor, asked.flavor
    if asked.action is Action.UNSHELVE:
        is_counted = is_unified or settings.value(USAGE)
        return {name: quotas[name] for name in (CORES, RAM) if name in quotas and is_counted}
    if before is None or after is None:
        return {}
    grown = {CORES: (before.vcpus, after.vcpus), RAM: (before.ram, after.ram)}
    return {
        name: Resized.of(quotas[name], old)
        for name, (old, new) in grown.items()
        if name in quotas and new > old
    }


def describe(asked: ServerAction) -> Mapping[str, Any]:
    """Return the action for JSON."""
    server: Server = asked.server
    named = {'id': server.id, 'name': server.name, 'status': server.status, 'host': server.host}
    flavor = None if asked.flavor is None else asked.flavor.name
    return {'action': asked.action.value, 'server': named, 'flavor': flavor}
