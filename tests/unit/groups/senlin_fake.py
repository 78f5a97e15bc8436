"""A Senlin in memory, which answers the effects of a step that do not concern Nova."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from senlin_affinity.groups import attachment, steps
from senlin_affinity.groups.detachment import Detach
from senlin_affinity.groups.steps import (
    CheckQuota,
    GroupUser,
    Leave,
    ReadBinding,
    ReadKeep,
    ReadUse,
    Use,
)
from senlin_affinity.policy.senlin_data import Binding
from tests.support.fake_cloud import FakeCloud


@dataclass
class FakeSenlin:
    """``use`` are the users of a group; ``effects`` are those on Senlin, in order."""

    cloud: FakeCloud
    binding: Any = None
    use: Callable[[str], Use] = lambda _group_id: Use()
    is_kept: bool = False
    effects: list[Any] = field(default_factory=list)

    def run(self, operation: Any) -> Any:
        return steps.run(operation.step(), self.perform)

    def detach(self, stored: object) -> Any:
        """Detach the policy with this binding."""
        self.binding = Binding.read(stored)
        return self.run(Detach())

    def perform(self, effect: Any) -> Any:
        match effect:
            case CheckQuota(name, policy):
                return attachment.check_quota(self.cloud.quotas(), name, policy)
            case ReadBinding():
                return self.binding
            case ReadUse(group_id):
                return self.use(group_id)
            case ReadKeep():
                return self.is_kept
        answer = steps.ask_nova(effect, self.cloud)
        if type(effect) not in NOVA:
            self.effects.append(effect)
        return answer

    @property
    def left(self) -> list[Leave]:
        return [each for each in self.effects if isinstance(each, Leave)]


NOVA = (steps.GetGroup, steps.SearchGroups, steps.CreateGroup, steps.DeleteGroup)


def use_of(row: Any) -> Callable[[str], Use]:
    """Return the users of any group, in the format of a row."""
    users = tuple(
        GroupUser(
            name,
            name,
            f'policy of {name}',
            is_owner=name == row.get('owner'),
            may_own=name not in row.get('foreign', ()),
        )
        for name in row.get('others', ())
    )

    def use(group_id: str) -> Use:
        return Use(
            users,
            tuple(row.get('keepers', ())),
            tuple(row.get('profiles', ())),
            tuple(row.get('attaching', ())),
            frozenset(row.get('own', ())),
            row.get('has_cluster', True),
        )

    return use
