"""Implement the policy type ``senlin.policy.affinity`` in a Senlin engine.

This module converts Senlin's objects; :mod:`senlin_affinity.policy` decides; the answers are
written where the engine reads them. Facts about Senlin (16.0.0; ``tests/engine`` tests each):

* The engine shows ``data['reason']``, but the manual says ``status_reason``: both are written.
* An exception from the hook is ignored on NODE_CREATE: this module catches everything.
* On NODE_CREATE nothing reads ``action.data``: the placement also goes into the node's data.
* After the hook, the engine continues an action that was cancelled by force: it is rejected.
* ``parse_resize_params`` treats a current size of 0 as "unknown": its parts are called instead.
* The engine allows 1.0 and 1.1 of one policy type on a cluster: attach rejects that.
* The driver (``self.nova``) makes a connection without a request: the authentication happens here,
  with the same deadline as all later requests.

Every module that the policy uses is imported when Senlin loads this one, openstacksdk and the entry
points included: an upgrade on disk must not change a running engine.

Raises: Senlin's InvalidSpec (a 400) from ``validate``. Attach and detach return (False, reason);
the hook never raises.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from oslo_config import cfg
from senlin.common import constraints, consts, schema
from senlin.common import exception as senlin_exception
from senlin.policies import base

from senlin_affinity.cloud import transport
from senlin_affinity.cloud.clients import Clients
from senlin_affinity.cloud.connection import ports
from senlin_affinity.cloud.transport import operation
from senlin_affinity.groups import attachment
from senlin_affinity.groups.detachment import Detach, Undo
from senlin_affinity.model import errors
from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.model.terminal_text import escaped
from senlin_affinity.plugins import plain_log
from senlin_affinity.plugins.nova import extra_spec_process  # noqa: F401 - an entry point
from senlin_affinity.plugins.senlin import bound_group, clients, engine, legacy_type, log, preflight
from senlin_affinity.plugins.senlin import group_registry as registry
from senlin_affinity.plugins.senlin.group_driver import Driver
from senlin_affinity.policy import flavor, profile, properties
from senlin_affinity.policy.properties import DECLARED, Property
from senlin_affinity.policy.senlin_data import Placement, Refusal, kept_group

LOG = plain_log.get('senlin_affinity.plugins.senlin_policy')

_DISABLED = (
    "the affinity policy '{policy}' was attached disabled: nodes that are created before it is "
    'enabled do not join server group {group}, and cannot join it later'
)


def converted(item: Property) -> schema.PropertySchema:
    """Return Senlin's form of a property, which ``GET /policy-types`` shows."""
    more: dict[str, Any] = {}
    if item.children:
        more['schema'] = {child.name: converted(child) for child in item.children}
    if item.kind == 'list':
        one = schema.Map if item.children else schema.String
        more['schema'] = one('One of them.', **more)
    if item.allowed:
        more['constraints'] = [constraints.AllowedValues(item.allowed)]
    if item.since != properties.VERSIONS[0]:
        more['min_version'] = item.since
    kind = getattr(schema, item.kind.capitalize())
    return kind(item.description, default=item.default, **more)


class AffinityPolicy(base.Policy):
    """A policy that places the nodes of a cluster by a Nova server group."""

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
    properties_schema = {item.name: converted(item) for item in DECLARED}

    def validate(self, context: Any, validate_props: bool = False) -> bool:
        """Check the spec, and with ``validate_props`` whether its zone and aggregates exist.

        A user who may not list aggregates is not rejected here. The operator's credentials are not
        used, because they would reveal aggregates to any user.
        """
        try:
            wanted = self._wanted()
            if validate_props and (wanted.availability_zone is not None or wanted.member_of):
                with _operation():
                    cloud = self._ports(context.user_id, context.project_id, clients.of_owner)
                    attachment.validate(wanted, cloud.inventory)
                    self._look_up_aggregates(wanted, cloud, 'attach')
        except InvalidSpec as error:
            raise senlin_exception.InvalidSpec(message=errors.in_words(error)) from error
        except CloudError as error:
            message = f'the spec could not be checked: {errors.in_words(error)}'
            raise senlin_exception.InternalError(message=message) from error
        return True

    def _look_up_aggregates(self, wanted: properties.PolicySpec, cloud: Any, later: str) -> None:
        """Check that the aggregates exist, unless the user may not list them.

        :param later: when they are checked otherwise, for the log; '' raises the CloudError.
        """
        try:
            attachment.member_of(wanted, cloud.inventory, cloud.candidates)
        except CloudError as error:
            if error.status != 403 or not later:
                raise
            what = f'the aggregates of member_of are not looked up before {later}'
            LOG.info('affinity policy %s: %s: %s', self.name, what, error)

    def attach(self, cluster: Any, enabled: bool = True) -> tuple[bool, Any]:
        """Find or create the cluster's server group, and return the binding data.

        A policy that is attached disabled gets its group, too, because enabling it calls no plugin.
        """
        is_applicable, why = super().attach(cluster)
        if not is_applicable:
            return False, why
        log_prefix = log.prefix(self.name, cluster.id)
        log.record(self)

        def decide() -> Any:
            self._refuse_second(cluster)
            wanted, spec = self._wanted(), cluster.rt['profile'].spec
            profile.check_zone(spec, wanted.spread)
            cloud = self._ports(cluster.user, cluster.project)
            attachment.check_choice(wanted, cloud.inventory)
            if wanted.member_of:  # the operator's credentials would reveal aggregates
                own = self._ports(cluster.user, cluster.project, clients.of_owner)
                is_seen_later = self._clients(cluster)().has_operator
                self._look_up_aggregates(wanted, own, 'a node is created' if is_seen_later else '')
            problems = flavor.check(wanted, profile.flavor(spec), cloud.inventory)
            cloud.server_groups.check(wanted.policy, wanted.rules or {})
            driver = Driver(cluster, self.id, self._wanted, lambda: cloud)
            attached = driver.run(
                attachment.Attach(
                    cluster.id,
                    wanted,
                    profile.group_hint(spec),
                    kept_group(cluster.data),
                    cluster.project,
                    cluster.user,
                    cfg.CONF.affinity.group_name_prefix,
                )
            )
            try:
                line = self._report(log_prefix, cluster, wanted, attached, enabled=enabled)
                if registry.is_deleted(self.id):  # Senlin deletes a policy that is not bound yet
                    raise errors.AffinityError(registry.DELETED)
            except Exception:
                if attached.how == attachment.CREATED:
                    driver.run(Undo(attached.group.id))
                raise
            return attached.binding.data(), '; '.join(filter(None, (line, problems)))

        return self._answer('attach', log_prefix, decide)

    def _report(
        self,
        log_prefix: str,
        cluster: Any,
        wanted: Any,
        attached: attachment.Attached,
        *,
        enabled: bool,
    ) -> str:
        """Report to the owner what follows from an attach; return a line for the log."""
        engine.forget_kept_group(cluster)
        engine.forget_group(cluster, attached.missing)
        preflight.warn_if_unenforced(log_prefix, cluster, wanted, attached.binding)
        see = self._clients(cluster)
        state = _DISABLED.format(policy=self.name, group=attached.binding.servergroup_id)
        bound_group.report_to_owner(
            cluster,
            attached.report(),
            preflight.UNCHECKED * preflight.is_unchecked(wanted, see),
            state * (not enabled),
        )
        shortfall = preflight.warn_if_limited(log_prefix, cluster, wanted, attached.binding, see)
        if shortfall is not None:
            bound_group.emit_event(cluster, shortfall)
        note = profile.zone_note(cluster.rt['profile'].spec, wanted.spread)
        return '; '.join(filter(None, (attached.line(), note, state * (not enabled))))

    def detach(self, cluster: Any) -> tuple[bool, Any]:
        """Leave the group of the binding, which deletes it if nobody else uses it."""

        def decide() -> Any:
            driver = Driver(
                cluster, self.id, self._wanted, lambda: self._ports(cluster.user, cluster.project)
            )
            detached = driver.run(Detach())
            engine.forget_group(cluster, detached.deleted)
            message = escaped(detached.message)
            if detached.released is not None:
                bound_group.report_to_owner(cluster, message)
            return message, message

        return self._answer('detach', log.prefix(self.name, cluster.id), decide)

    def pre_op(self, cluster_id: str, action: Any) -> None:
        """Write placement data before nodes are created, or a rejection. Never raises."""
        log_prefix = log.prefix(self.name, cluster_id, action)
        log.record(self)
        try:
            with _operation():
                answer = self._place(cluster_id, action, log_prefix)
            if answer is None:
                return
            log.decided(log_prefix, action.action, answer.line())
        except Exception as error:
            answer = Refusal(log.failed(log_prefix, action.action, error, 'rejects'))
        try:
            engine.write_answer(action, answer)
        except Exception as error:
            # The database has failed, but the engine reads the data in memory.
            why = registry.in_words(error)
            if not (isinstance(answer, Refusal) and answer.reason == why):  # avoid a duplicate line
                log.failed(log_prefix, action.action, error, 'rejects')
            action.data = engine.with_answer(action, Refusal(why))

    def _place(self, cluster_id: str, action: Any, log_prefix: str) -> Placement | Refusal | None:
        """Return the placement or the rejection; None for an action that creates no node."""
        count = engine.count(action)
        if count is None:
            return None
        entity = action.entity
        bound = engine.read_binding(cluster_id, self.id) if count else None
        wanted = self._wanted()
        constraints = preflight.constraints_for(count, wanted)
        asked = preflight.question_of(entity, count, wanted, bound, constraints)
        fetched = preflight.fetch(asked, constraints, self._clients(entity))
        if bound is not None:
            refusal = bound_group.refusal(
                self, cluster_id, bound, fetched, entity, lambda: self._groups(entity)
            )
            if refusal is not None:
                return refusal
        answer = preflight.place(
            log_prefix,
            asked,
            constraints,
            fetched,
            lambda said: bound_group.emit_event(entity, said, action),
        )
        if engine.is_cancelled(action):
            return Refusal('the action was cancelled before its nodes were placed')
        if bound is not None:
            engine.warn_nodes_outside_group(self.name, cluster_id, bound.servergroup_id)
            if isinstance(answer, Placement):
                groups = functools.partial(self._groups, entity)
                bound_group.warn_of_hint(log_prefix, action, bound, fetched, groups)
        return answer

    def _wanted(self) -> properties.PolicySpec:
        """Return the properties of the spec, limited by the operator's options."""
        is_served = self.type == legacy_type.NAME
        wanted = properties.load(properties.as_in_tree(self.spec) if is_served else self.spec)
        return wanted.limited(cfg.CONF.affinity.preflight)

    def _clients(self, entity: Any) -> Callable[[], Clients]:
        """Return a function that makes the owner's and the operator's client."""
        return lambda: clients.clients_of(self._connection(entity.user, entity.project))

    def _refuse_second(self, cluster: Any) -> None:
        for other in cluster.rt['policies']:
            if other.id != self.id and other.type.rpartition('-')[0] == properties.TYPE:
                raise errors.PolicyMismatch(
                    f'the cluster has an affinity policy already: {other.name} ({other.type}); '
                    'detach it first'
                )

    def _groups(self, entity: Any) -> Any:
        return self._ports(entity.user, entity.project).server_groups

    def _ports(
        self, user: str, project: str, see: Callable[[Any], Clients] = clients.clients_of
    ) -> Any:
        return ports(see(self._connection(user, project)))

    def _connection(self, user: str, project: str) -> Any:
        try:
            made = self.nova(user, project).conn
            transport.bound(made.session, cfg.CONF.affinity.max_answer_size)
            return made
        except senlin_exception.SenlinException as error:
            raise CloudError(f'could not connect to the cloud: {error}') from error

    def _answer(
        self, what: str, log_prefix: str, decide: Callable[[], tuple[Any, str]]
    ) -> tuple[bool, Any]:
        """Run one decision, log it in one line, and turn every failure into (False, why)."""
        try:
            with _operation():
                data, line = decide()
        except Exception as error:
            return False, log.failed(log_prefix, what, error, 'rejected')
        log.decided(log_prefix, what, line)
        return True, data


def _operation() -> Any:
    return operation(cfg.CONF.affinity.request_timeout)


clients.log_identity()
legacy_type.install(AffinityPolicy)
