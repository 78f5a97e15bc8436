"""Validate and attach a policy: find or create the server group of a cluster.

The cluster gets the first of these groups:

1. the group that an earlier detach kept
2. the group in the profile's scheduler hints, which must exist; the policy inherits it
3. the group that the spec names; the policy inherits it, or creates it if it does not exist
4. a group with the cluster's own name, ``senlin-affinity-<cluster id>``, which the policy adopts or
   creates

A name that is a UUID is always an id. The policy owns a group that it created or adopted. A policy
of another cluster does not create a group with the cluster's own name, and inherits one only while
that cluster exists.

Raises: PolicyMismatch, QuotaExceeded, InvalidSpec, CloudError; each says what was tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from senlin_affinity.groups.detachment import fetch, leave
from senlin_affinity.groups.steps import (
    Announce,
    CheckQuota,
    CreateGroup,
    LockGroup,
    LockName,
    ReadUse,
    SearchGroups,
    Step,
    Use,
)
from senlin_affinity.model.cloud import Quota
from senlin_affinity.model.errors import (
    CloudError,
    GroupMayExist,
    InvalidSpec,
    PolicyMismatch,
    QuotaExceeded,
)
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.model.ports import Candidates, Inventory
from senlin_affinity.model.server_group import NOT_YET, ServerGroup
from senlin_affinity.model.spread import ZONE
from senlin_affinity.model.verdict import Outcome, sentence
from senlin_affinity.nova import quotas
from senlin_affinity.nova.aggregates import resolve
from senlin_affinity.policy.group_lookup import is_uuid, mismatch, saying
from senlin_affinity.policy.properties import PolicySpec
from senlin_affinity.policy.senlin_data import Binding

GROUP_NAME_PREFIX = 'senlin-affinity-'
FAILED = 'Failed in creating servergroup.'
#: How a cluster got its group; the policy owns a group that it does not inherit.
CREATED, ADOPTED, INHERITS = 'created', 'adopts', 'inherits'
IN_DOUBT = (
    'it was created by another user or by an attach whose outcome is unknown, so it is inherited '
    'and stays when the policy is detached'
)


@dataclass(frozen=True)
class Attached:
    """The outcome of an attach: the binding to store, and facts for the log and the owner.

    ``how`` is ``CREATED``, ``ADOPTED`` or ``INHERITS``. ``missing`` is the id of a kept group that
    no longer exists. ``is_in_doubt``: the inherited group had no users, so an attach whose outcome
    is unknown may have created it.
    """

    binding: Binding
    group: ServerGroup
    how: str
    missing: str | None = None
    is_in_doubt: bool = False

    def line(self) -> str:
        """Return one line: "created server group web (<id>; anti-affinity max_server_per_host=2)".

        If ``is_in_doubt``, "; " and ``IN_DOUBT`` follow.
        """
        rules = ', '.join(f'{key}={value}' for key, value in sorted(self.group.rules.items()))
        kind = f'{self.group.policy} {rules}'.strip()
        message = f'{self.how} server group {self.group.name} ({self.group.id}; {kind})'
        return '; '.join(filter(None, (message, IN_DOUBT * self.is_in_doubt)))

    def report(self) -> str:
        """Return "server group web (<id>): " and ``IN_DOUBT`` if ``is_in_doubt``; '' otherwise."""
        message = f'server group {self.group.name} ({self.group.id}): {IN_DOUBT}'
        return message * self.is_in_doubt


def validate(properties: PolicySpec, inventory: Inventory) -> None:
    """Raise InvalidSpec if the cloud lacks the spec's zone; without a zone, read nothing."""
    zone = properties.availability_zone
    if zone is not None and zone not in inventory.availability_zones():
        raise InvalidSpec(
            f"The specified availability_zone '{zone}' could not be found.",
            'properties.availability_zone',
        )


def check_choice(properties: PolicySpec, inventory: Inventory) -> None:
    """Raise InvalidSpec if the spec chooses hosts, and Nova does not let the owner choose them."""
    is_choosing = properties.pins_hosts or properties.is_drs_enabled
    if is_choosing and not inventory.lets_choose_hosts():
        reasons = [f'a spread by {item.by}' for item in properties.spread if item.by != ZONE]
        reasons = ['member_of', *reasons] if properties.member_of else reasons
        reasons = ['enable_drs_extension', *reasons] if properties.is_drs_enabled else reasons
        raise InvalidSpec(
            f'for {" and ".join(reasons) or "pin_hosts"}, the policy must choose the host of every '
            'node, but Nova does not let the owner of the cluster choose hosts (rule '
            'os_compute_api:servers:create:forced_host)',
            'properties',
        )


def member_of(properties: PolicySpec, inventory: Inventory, candidates: Candidates) -> MemberOf:
    """Return the spec's ``member_of`` with UUIDs for names, by one request; empty without it.

    Raise InvalidSpec for an unknown or ambiguous name, and if Placement is too old; CloudError if
    the aggregates cannot be listed.
    """
    if not properties.member_of:
        return MemberOf()
    path = 'properties.member_of'
    by_uuid = resolve(properties.member_of, inventory.aggregates(), path)
    candidates.check_version(by_uuid, path)
    return by_uuid


def check_quota(project_quotas: Mapping[str, Quota], name: str, policy: str) -> None:
    """Raise QuotaExceeded if the quotas have no room for this group, or for one member in it."""
    new = ServerGroup(NOT_YET, name, policy)
    of_member = quotas.room_for_members(project_quotas, new, 1)
    for verdict in (quotas.room_for_group(project_quotas), of_member):
        if verdict.outcome is Outcome.REJECT:
            raise QuotaExceeded(
                f"{FAILED} Server group '{name}' cannot be created: "
                f'{sentence(verdict, quotas.REASONS)}; {quotas.REASONS[verdict.code].advice}'
            )


def cluster_of(name: str, prefix: str = GROUP_NAME_PREFIX) -> str | None:
    """Return the cluster's id in ``senlin-affinity-<cluster id>``; None for any other name."""
    key = name[len(prefix) :]
    return key if name.startswith(prefix) and is_uuid(key) else None


@dataclass(frozen=True)
class Attach:
    """Attach a policy to a cluster.

    ``kept`` is the id of a group that an earlier detach kept, ``hint`` the group in the profile's
    scheduler hints. ``project`` and ``user`` are the cluster's.
    """

    cluster: str
    wanted: PolicySpec
    hint: str | None = None
    kept: str | None = None
    project: str | None = None
    user: str | None = None
    prefix: str = GROUP_NAME_PREFIX

    def step(self) -> Step[Attached]:
        """Find the cluster's server group, or create it (the order is in the module)."""
        attached, missing, name = None, None, self.wanted.server_group_name
        is_existing = self.hint or (name and is_uuid(name))
        if not is_existing:  # before the lock of a group, so that no two attaches wait in a circle
            yield LockName(name or self.own_name)
        if self.kept is not None:
            attached, missing = yield from self._kept(self.kept)
        if attached is None and is_existing:
            attached = yield from self._named()
        elif attached is None:
            attached = yield from self._existing()
            if attached is None:
                attached = yield from self._created(name or self.own_name)
        return replace(attached, missing=missing)

    @property
    def own_name(self) -> str:
        """The cluster's own name for a group: ``<prefix><cluster id>``."""
        return f'{self.prefix}{self.cluster}'

    def _kept(self, group_id: str) -> Step[tuple[Attached | None, str | None]]:
        """Adopt the kept group (inherit it if it has another owner); return the outcome and None.

        For a group that does not match the spec, raise PolicyMismatch if servers of the cluster are
        in it; otherwise, delete it unless others use it. Without an outcome, return None, and the
        id if the group no longer exists or was deleted here.
        """
        yield LockGroup(group_id)
        with saying(f"Failed in retrieving servergroup '{group_id}'."):
            group = yield from fetch(group_id)
        if group is None:
            return None, group_id
        use: Use = yield ReadUse(group_id, group.name)
        why_not = self._difference(group)
        if why_not is None:
            return self._attached(group, INHERITS if use.has_owner else ADOPTED), None
        if {member.server for member in group.members} & use.own_servers:
            is_shared = use.users or use.others(group)
            give_up = f', or delete the group with "openstack server group delete {group_id}"'
            raise PolicyMismatch(
                f"{why_not} Servers of the cluster are in '{group.name}' ({group_id}), which was "
                'kept when its policy was detached: attach a policy that matches this group'
                f'{"" if is_shared else give_up}'
            )
        if use.has_owner:
            return None, None
        left = yield from leave(group_id, group, use)
        return None, left.deleted

    def _difference(self, group: ServerGroup) -> str | None:
        """Return why the kept group differs from the hint or the spec; None if it matches."""
        for name, where in (
            (self.hint, "the profile's scheduler_hints name"),
            (self.wanted.server_group_name, 'servergroup.name is'),
        ):
            if name and name != group.name and name.lower() != group.id:
                return f"{where} '{name}', which is a different server group from '{group.name}'."
        return mismatch(group, self.wanted)

    def _named(self) -> Step[Attached]:
        """Return the group of the hint or of the id in the spec as inherited.

        Raise PolicyMismatch if it does not exist or match.
        """
        group = yield from find(self.wanted, self.hint, is_locked=True)
        assert group is not None
        use: Use = yield ReadUse(group.id, group.name)
        self._check_name(group.name, use)
        return self._attached(group, INHERITS)

    def _existing(self) -> Step[Attached | None]:
        """Return the group with the spec's or the cluster's own name; None without one to use.

        It is adopted if :meth:`_may_adopt`; otherwise inherited, but passed over if the spec does
        not name it. With the cluster's own name, groups with another policy or other rules are
        passed over; with another name, raise PolicyMismatch for these, and for several groups.
        """
        name = self.wanted.server_group_name
        is_own = not name or name == self.own_name
        if not is_own:
            group = yield from find(self.wanted, None, is_locked=True)
            found = [] if group is None else [group]
        else:
            with saying(f"Failed in retrieving servergroup '{self.own_name}'."):
                found = yield SearchGroups(self.own_name)
            found = [each for each in found if mismatch(each, self.wanted, is_ours=True) is None]
        for group in found:
            if is_own:
                yield LockGroup(group.id)
                if (yield from fetch(group.id)) is None:
                    continue
            use: Use = yield ReadUse(group.id, group.name)
            if self._may_adopt(group, use):
                return self._attached(group, ADOPTED)
            if name:
                self._check_name(group.name, use)
                is_unused = not (group.members or use.users or use.keepers or use.profiles)
                return self._attached(group, INHERITS, is_in_doubt=is_unused)
        return None

    def _may_adopt(self, group: ServerGroup, use: Use) -> bool:
        """Check whether the group is the cluster's own, and no other cluster owns it.

        Its own has the own name, the cluster's project and user as far as known, and no servers of
        others.
        """
        return (
            group.name == self.own_name
            and group.project_id in (None, self.project)
            and group.user_id in (None, self.user)
            and not use.others(group)
            and not use.has_owner
        )

    def _check_name(self, name: str, use: Use | None = None) -> None:
        """Raise PolicyMismatch for the own name of another cluster, unless ``use.has_cluster``."""
        cluster = cluster_of(name, self.prefix)
        if cluster not in (None, self.cluster) and not (use and use.has_cluster):
            raise PolicyMismatch(
                f"the name '{name}' is reserved for cluster {cluster}, which does not exist: "
                'name another server group'
            )

    def _created(self, name: str) -> Step[Attached]:
        """Create the group; the policy owns it if Nova answers.

        If the answer is lost, return :meth:`_found_created`. Raise QuotaExceeded, and
        PolicyMismatch for another cluster's name.
        """
        self._check_name(name)
        wanted = self.wanted
        with saying(FAILED):
            yield CheckQuota(name, wanted.policy)
            if name != self.own_name:
                yield Announce(name)
            try:
                rules = tuple(sorted((wanted.rules or {}).items()))
                group = yield CreateGroup(name, wanted.policy, rules)
            except CloudError as error:
                if not error.is_uncertain:
                    raise
                return (yield from self._found_created(name, error))
        return self._attached(group, CREATED)

    def _found_created(self, name: str, error: CloudError) -> Step[Attached]:
        """Return the group that Nova may have created although its answer was lost.

        Raise GroupMayExist if it is not found, or if the search fails.
        """
        does = 'adopts it' if name == self.own_name else 'inherits it'
        try:
            attached: Attached | None = yield from self._existing()
        except CloudError as again:
            raise GroupMayExist(
                f"{error}; it is not known whether server group '{name}' was created ({again}): "
                f'if it was, the next attach {does}',
                error.status,
            ) from error
        if attached is None:  # Nova may still process a request that timed out
            raise GroupMayExist(
                f"{error}; if Nova still creates server group '{name}', the next attach {does}",
                error.status,
            ) from error
        return attached

    def _attached(self, group: ServerGroup, how: str, *, is_in_doubt: bool = False) -> Attached:
        """Return the outcome with a new binding."""
        rules, version = dict(group.rules), self.wanted.version
        binding = Binding(group.id, how == INHERITS, version, group.policy, rules)
        return Attached(binding, group, how, is_in_doubt=is_in_doubt)


def find(
    wanted: PolicySpec, hint: str | None, *, is_locked: bool = False
) -> Step[ServerGroup | None]:
    """Return the group of the hint or the spec's name; None without both, and for a new name.

    Raise PolicyMismatch if the hint or an id names no group, if hint and name differ, if several
    groups have the name, and if the group does not match the spec.

    :param is_locked: lock the group, and fetch it again after that.
    """
    name = wanted.server_group_name
    group: ServerGroup | None = None
    if hint or name:
        group = yield from _find(hint or name or '', wanted, is_locked=is_locked)
    if hint and group is None:
        raise PolicyMismatch(
            f"the profile's scheduler_hints name server group '{hint}', which does not exist: "
            'create the group, or remove the hint from the profile'
        )
    if hint and group and name and name != group.name and name.lower() != group.id:
        raise PolicyMismatch(
            f"the profile's scheduler_hints name server group '{hint}', but the policy's "
            f"servergroup.name is '{name}': remove the hint or servergroup.name"
        )
    if group is None and name and is_uuid(name):
        raise PolicyMismatch(
            f"servergroup.name '{name}' is an id, but no server group has this id: "
            'name an existing group, or choose a name for a new one'
        )
    return group


def _find(name: str, wanted: PolicySpec, *, is_locked: bool) -> Step[ServerGroup | None]:
    """Return the one group of this name or id; None if there is none.

    Raise PolicyMismatch for several groups, and for one that does not match the spec.
    """
    with saying(f"Failed in retrieving servergroup '{name}'."):
        found: tuple[ServerGroup, ...] = ()
        if not is_uuid(name):
            found = yield SearchGroups(name)
        if len(found) > 1:
            ids = ', '.join(sorted(group.id for group in found))
            raise PolicyMismatch(
                f"{len(found)} server groups are called '{name}': use an id ({ids})"
            )
        group = found[0] if found else None
        if is_uuid(name) or (group is not None and is_locked):
            group_id = group.id if group is not None else name.lower()
            yield LockGroup(group_id)
            group = yield from fetch(group_id)
    why_not = None if group is None else mismatch(group, wanted)
    if why_not is not None:
        raise PolicyMismatch(why_not)
    return group
