"""The policy type ``senlin.policy.affinity`` in a Senlin engine.

Data flow: Senlin's objects end here; :mod:`senlin_affinity.policy` decides; its answers are written
where the engine looks. Senlin's side of it (16.0.0; ``tests/engine`` holds each point):

* The engine shows ``data['reason']``, the document says ``status_reason``: both are written.
* An exception out of the hook is swallowed on NODE_CREATE: everything is caught here.
* On NODE_CREATE nothing reads ``action.data``: the placement goes into the node's data, too.
* The engine goes on after the hook with an action that was cancelled by force: it is refused.
* ``parse_resize_params`` takes a current size of 0 for "unknown": its parts are called instead.
* The engine lets 1.0 and 1.1 of one policy type onto a cluster: attach refuses that.
* The driver (``self.nova``) makes a connection and asks nobody: the log-in is made here, and has a
  deadline like everything that is asked after it.

Errors: ``validate`` raises Senlin's InvalidSpec (a 400); attach and detach answer (False, why);
the hook never raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging
from senlin.common import consts
from senlin.common import exception as senlin_exception
from senlin.policies import base

from senlin_affinity.cloud import eyes as both
from senlin_affinity.cloud.eyes import Eyes
from senlin_affinity.core import errors
from senlin_affinity.core.errors import CloudError, InvalidSpec
from senlin_affinity.plugins import senlin_bound, senlin_cloud, senlin_registry, senlin_schema
from senlin_affinity.plugins import senlin_engine as engine
from senlin_affinity.plugins import senlin_ledger as ledger
from senlin_affinity.plugins import senlin_orphans as orphans
from senlin_affinity.plugins import senlin_preflight as preflight
from senlin_affinity.policy import affinity, binding, hook, ownership, profile, properties
from senlin_affinity.policy.placement import Placement, Refusal
from senlin_affinity.policy.schema import DECLARED

LOG = logging.getLogger(__name__)

_DISABLED = (
    "the affinity policy '{policy}' was attached disabled: nodes that are created before it is "
    'enabled do not join server group {group}, and cannot join it later'
)


class AffinityPolicy(base.Policy):
    """Places the nodes of a cluster by a Nova server group."""

    VERSION = properties.VERSIONS[-1]
    VERSIONS = {
        '1.0': [{'status': consts.SUPPORTED, 'since': '2016.10'}],
        '1.1': [{'status': consts.SUPPORTED, 'since': '2026.11'}],
    }
    PRIORITY = 300
    TARGET = [
        ('BEFORE', consts.CLUSTER_SCALE_OUT),
        ('BEFORE', consts.CLUSTER_RESIZE),
        ('BEFORE', consts.NODE_CREATE),
    ]
    PROFILE_TYPE = [profile.APPLICABLE]
    properties_schema = {item.name: senlin_schema.converted(item) for item in DECLARED}

    def validate(self, context: Any, validate_props: bool = False) -> bool:
        """Check the spec, and with ``validate_props`` whether its zone and aggregates exist.

        Who may not list aggregates is not refused here: attach says so, in words. So the cloud's
        eyes are not used: they would tell anybody which aggregates there are.
        """
        try:
            wanted = self._wanted()
            if validate_props and (wanted.availability_zone is not None or wanted.member_of):
                with _operation():
                    cloud = self._ports(context.user_id, context.project_id, both.of)
                    affinity.validate(wanted, cloud.inventory)
                    self._look_up_aggregates(wanted, cloud, 'attach')
        except InvalidSpec as error:
            raise senlin_exception.InvalidSpec(message=str(error)) from error
        except CloudError as error:
            raise senlin_exception.InternalError(
                code=error.status or 500, message=f'the spec could not be checked: {error}'
            ) from error
        return True

    def _look_up_aggregates(self, wanted: properties.Properties, cloud: Any, later: str) -> None:
        """Where its user may not see them they are looked up then, if ever."""
        try:
            affinity.member_of(wanted, cloud.inventory, cloud.candidates)
        except CloudError as error:
            if error.status != 403 or not later:
                raise
            what = f'the aggregates of member_of are not looked up before {later}'
            LOG.info('affinity policy %s: %s: %s', self.name, what, error)

    def attach(self, cluster: Any, enabled: bool = True) -> tuple[bool, Any]:
        """Find or create the cluster's server group, and answer with the binding data.

        A policy that is attached disabled gets its group, too: enabling it later asks nobody.
        """
        is_applicable, why = super().attach(cluster)
        if not is_applicable:
            return False, why

        def decide() -> Any:
            self._refuse_second(cluster)
            wanted, spec = self._wanted(), cluster.rt['profile'].spec
            profile.check_zone(spec, wanted.spread)
            cloud = self._ports(cluster.user, cluster.project)
            affinity.check_choice(wanted, cloud.inventory)
            if wanted.member_of:  # by his own eyes: the cloud's would tell him of aggregates
                own = self._ports(cluster.user, cluster.project, both.of)
                is_seen_later = not self._eyes(cluster)().are_one
                self._look_up_aggregates(wanted, own, 'a node is created' if is_seen_later else '')
            orphans.clean(cluster, self.id, lambda: cloud.server_groups)
            attached = affinity.attach(
                wanted,
                engine.known(cluster, self.id, profile.group_hint(spec), profile.flavor(spec)),
                cloud.server_groups,
                cloud.inventory,
                prefix=cfg.CONF.affinity.group_name_prefix,
            )
            engine.forget_notes(cluster)
            engine.forget_group(cluster, attached.gone)
            preflight.warn_of_ceiling(
                self.name, cluster, wanted, attached.binding, self._eyes(cluster)
            )
            note = profile.zone_note(spec, wanted.spread)
            line = '; '.join(filter(None, (attached.line(), note)))
            if not enabled:
                state = _DISABLED.format(policy=self.name, group=attached.binding.servergroup_id)
                cluster.status_reason = state  # which the engine stores with the cluster
                line = f'{line}; {state}'
            return binding.write(attached.binding), line

        return self._answer('attach', cluster.id, decide)

    def detach(self, cluster: Any) -> tuple[bool, Any]:
        """Delete the group that attach created, unless it is kept, or others use it by now."""

        def is_kept() -> bool:
            # Nobody comes after the cluster.
            return not ledger.is_running(cluster.id, consts.CLUSTER_DELETE) and ownership.is_kept(
                cluster.metadata or {}, self._wanted
            )

        def decide() -> Any:
            bound = engine.read_binding(cluster.id, self.id)
            detached = affinity.detach(
                bound,
                engine.known(cluster, self.id, self._hint(cluster)),
                lambda: self._groups(cluster),
                is_kept=is_kept,
                keep=engine.keeping(cluster, self.id),
            )
            engine.forget_group(cluster, detached.gone)
            if detached.left is not None:
                senlin_bound.tell(cluster, detached.said)
            orphans.clean(cluster, self.id, lambda: self._groups(cluster))
            return detached.said, detached.said

        return self._answer('detach', cluster.id, decide)

    def pre_op(self, cluster_id: str, action: Any) -> None:
        """Write placement data before nodes are created, or why there are none. Never raises."""
        failed = f'failed on {action.action}'
        try:
            with _operation():
                answer = self._decide(cluster_id, action)
        except Exception as error:
            answer = Refusal(self._in_words(error, failed))
        if answer is None:
            return
        self._say(cluster_id, action.action, answer.line())
        try:
            engine.write_answer(action, answer)
        except Exception as error:
            # Nothing more can be stored, but the engine looks at the data that it holds.
            action.data.pop('placement', None)
            action.data.update(Refusal(self._in_words(error, failed)).data())

    def _decide(self, cluster_id: str, action: Any) -> Placement | Refusal | None:
        """None for an action that creates no node (a shrink)."""
        count = engine.count(action)
        if count is None:
            return None
        entity = action.entity
        bound = engine.read_binding(cluster_id, self.id) if count else None
        asks = preflight.growth(entity, count, self._wanted(), bound)
        seen = preflight.look(hook.needs(asks), self._eyes(entity))
        if bound is not None:
            refusal = senlin_bound.refusal(
                self, cluster_id, bound, seen, entity, lambda: self._groups(entity)
            )
            if refusal is not None:
                return refusal
        answer = preflight.place(self.name, entity.name, asks, seen)
        if engine.is_cancelled(action):
            return Refusal('the action was cancelled before its nodes were placed')
        if bound is not None:
            engine.warn_of_outside(self.name, cluster_id, entity, bound.servergroup_id)
        return answer

    def _wanted(self) -> properties.Properties:
        """The spec, as far as operators let it go; Senlin's own type is read as Senlin reads it."""
        is_served = self.type == senlin_registry.NAME
        wanted = properties.load(properties.as_in_tree(self.spec) if is_served else self.spec)
        return wanted.limited(cfg.CONF.affinity.preflight)

    def _eyes(self, entity: Any) -> Callable[[], Eyes]:
        """Opens the owner's eyes and the cloud's."""
        return lambda: senlin_cloud.eyes(self._connection(entity.user, entity.project))

    def _refuse_second(self, cluster: Any) -> None:
        for other in cluster.rt['policies']:
            if other.id != self.id and other.type.rpartition('-')[0] == properties.TYPE:
                raise errors.PolicyMismatch(
                    f'the cluster has an affinity policy already: {other.name} ({other.type}); '
                    'detach it first'
                )

    def _hint(self, cluster: Any) -> str | None:
        """The group that the profile names; one that can not be read is one, too."""
        try:
            return profile.group_hint(cluster.rt['profile'].spec)
        except InvalidSpec as error:
            return str(error)

    def _groups(self, entity: Any) -> Any:
        return self._ports(entity.user, entity.project).server_groups

    def _ports(
        self, user: str, project: str, see: Callable[[Any], Eyes] = senlin_cloud.eyes
    ) -> Any:
        from senlin_affinity.cloud.connection import ports  # with openstacksdk

        eyes = see(self._connection(user, project))
        return ports(eyes, cfg.CONF.affinity.request_timeout)

    def _connection(self, user: str, project: str) -> Any:
        from senlin_affinity.cloud import transport

        try:
            made = self.nova(user, project).conn
            transport.bound(made.session, cfg.CONF.affinity.max_answer_size)
            return made
        except senlin_exception.SenlinException as error:
            raise CloudError(f'could not connect to the cloud: {error}') from error

    def _answer(
        self, what: str, cluster_id: str, decide: Callable[[], tuple[Any, str]]
    ) -> tuple[bool, Any]:
        """Run one decision, say it in one line, and turn every failure into (False, why)."""
        try:
            with _operation():
                data, line = decide()
        except Exception as error:
            why = self._in_words(error, f'{what} failed')
            self._say(cluster_id, what, f'refused: {why}')
            return False, why
        self._say(cluster_id, what, line)
        return True, data

    def _say(self, cluster_id: str, what: str, line: str) -> None:
        LOG.info('affinity policy %s, cluster %s, %s: %s', self.name, cluster_id, what, line)

    def _in_words(self, error: Exception, what: str) -> str:
        """The error for the user; a mistake in code is in the log, with its traceback."""
        if errors.is_mistake(error):
            LOG.exception('affinity policy %s: %s', self.name, what)
        return ledger.in_words(error)


def _operation() -> Any:
    """The deadline of all that one operation asks of the cloud."""
    from senlin_affinity.cloud.deadline import operation

    return operation(cfg.CONF.affinity.request_timeout)


senlin_registry.offer(AffinityPolicy)
