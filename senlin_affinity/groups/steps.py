"""Describe attach, detach and the checks of a server group as steps without I/O.

A step is a generator. It yields effects, receives their answers, and returns an outcome, or raises
an error. Effects, answers and outcomes are plain values.

Raises: CloudError for an answer that does not belong to its effect; GroupBusy, after which the
plugin releases the locks, waits and starts the step again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.ports import ServerGroups
from senlin_affinity.model.server_group import ServerGroup


@dataclass(frozen=True)
class GetGroup:
    """Fetch a group by its id: a ServerGroup, or None."""

    group_id: str


@dataclass(frozen=True)
class SearchGroups:
    """List the groups of the project with this name (None: all), in Nova's order."""

    name: str | None = None


@dataclass(frozen=True)
class CheckQuota:
    """Raise QuotaExceeded if the project has no room for this new group."""

    name: str
    policy: str


@dataclass(frozen=True)
class CreateGroup:
    """Create a group: the ServerGroup that Nova answers."""

    name: str
    policy: str
    rules: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class DeleteGroup:
    """Delete a group: whether Nova had it."""

    group_id: str


@dataclass(frozen=True)
class LockName:
    """Lock a name in the project until the step ends."""

    name: str


@dataclass(frozen=True)
class LockGroup:
    """Lock a group until the step ends."""

    group_id: str


@dataclass(frozen=True)
class ReadBinding:
    """Read the binding of the cluster and the policy: a Binding, or None."""


@dataclass(frozen=True)
class ReadUse:
    """Read who uses a group: a :class:`Use`.

    ``name`` is the group's, if known: profiles and policies refer to groups by name, too.
    """

    group_id: str
    name: str | None = None


@dataclass(frozen=True)
class ReadKeep:
    """Read whether this detach keeps the group."""


@dataclass(frozen=True)
class Leave:
    """Delete the binding; in the same transaction, make ``heir`` the owner of its group.

    With ``is_kept``, the cluster keeps the group for its next policy.
    """

    group_id: str
    heir: GroupUser | None = None
    is_kept: bool = False


@dataclass(frozen=True)
class Announce:
    """Report to the cluster's owner that a group of this name is about to be created."""

    name: str


Effect: TypeAlias = (
    GetGroup | SearchGroups | CheckQuota | CreateGroup | DeleteGroup | LockName | LockGroup
    | ReadBinding | ReadUse | ReadKeep | Leave | Announce
)  # fmt: skip


@dataclass(frozen=True)
class GroupUser:
    """Another binding that refers to the group.

    ``may_own`` is False for Senlin's own policy, which would delete a group that others use, and
    for a cluster of another project, which cannot list the group.
    """

    cluster: str
    cluster_name: str
    policy: str
    is_owner: bool = False
    may_own: bool = True


@dataclass(frozen=True)
class Use:
    """The users of a group in all projects, except the cluster itself.

    ``users`` are in the order of their clusters' creation. By the names of clusters, ``keepers``
    keep the group, and to ``attaching``, a policy is being attached that may use it. ``profiles``
    (also of this cluster) name it in their scheduler hints. ``own_servers`` are the servers of the
    cluster's nodes, and of nodes that were placed into the group and are in no cluster any more.
    ``has_cluster``: the cluster that the group is named after exists, or there is none.
    """

    users: tuple[GroupUser, ...] = ()
    keepers: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    attaching: tuple[str, ...] = ()
    own_servers: frozenset[str] = frozenset()
    has_cluster: bool = True

    @property
    def has_owner(self) -> bool:
        """Whether another cluster owns or keeps the group."""
        return bool(self.keepers) or any(each.is_owner for each in self.users)

    @property
    def heir(self) -> GroupUser | None:
        """The present owner, else the oldest user, that may own the group; None without any."""
        able = sorted((each for each in self.users if each.may_own), key=lambda it: not it.is_owner)
        return next(iter(able), None)

    def others(self, group: ServerGroup) -> list[str]:
        """Return the sorted members of the group that are not the cluster's own."""
        return sorted({member.server for member in group.members} - self.own_servers)


T = TypeVar('T')
#: A step also yields the effects of ``groups.audit``.
Step: TypeAlias = Generator[Any, Any, T]


def checked(effect: object, answer: Any) -> Any:
    """Return the answer; raise CloudError if it is about another group than the effect.

    Checked are the id of a group; all names of a search, and that no id occurs twice; and of a
    creation the name, the policy, and that there are no members.
    """
    match effect:
        case GetGroup(group_id):
            is_right = answer is None or answer.id == group_id
        case CreateGroup(name, policy):
            is_right = (answer.name, answer.policy, answer.members) == (name, policy, ())
        case SearchGroups(name):
            ids = [group.id for group in answer]
            names = {group.name for group in answer} - {name}
            is_right = len(ids) == len({*ids}) and not (name and names)
        case _:
            is_right = True
    if not is_right:
        is_uncertain = isinstance(effect, CreateGroup)
        raise CloudError('the answer is about another server group', is_uncertain=is_uncertain)
    return answer


def run(step: Step[T], perform: Callable[[Any], Any]) -> T:
    """Run a step: send it the answer of ``perform`` for each effect, and return the outcome.

    An error of ``perform`` is thrown into the step.
    """
    try:
        effect = next(step)
        while True:
            try:
                answer = checked(effect, perform(effect))
            except Exception as error:  # noqa: BLE001 - the step decides
                effect = step.throw(error)
            else:
                effect = step.send(answer)
    except StopIteration as end:
        outcome: T = end.value
        return outcome


def ask_nova(effect: Effect, groups: ServerGroups) -> Any:
    """Send the request of an effect on Nova; return the answer, or None for another effect."""
    match effect:
        case GetGroup(group_id):
            return groups.get(group_id)
        case SearchGroups(None):
            return groups.own()
        case SearchGroups(str(name)):
            return groups.named(name)
        case CreateGroup(name, policy, rules):
            return groups.create(name, policy, dict(rules))
        case DeleteGroup(group_id):
            return groups.delete(group_id)
    return None
