"""Draw the life of a server group from the steps of attach and detach.

Each arrow is computed: :func:`edges` runs the steps of ``senlin_affinity.groups`` in a small world,
and names the states before and after.
"""

from dataclasses import dataclass, field

from msgspec.structs import replace
from sphinx.util.docutils import SphinxDirective

from senlin_affinity.groups import steps
from senlin_affinity.groups.attachment import Attach
from senlin_affinity.groups.detachment import Detach
from senlin_affinity.model.server_group import Member, ServerGroup
from senlin_affinity.policy.properties import load
from senlin_affinity.policy.senlin_data import Binding

OWN_NAME = 'senlin-affinity-c1'
BOX, ARROW = 14, 18


@dataclass
class World:
    """A project with one cluster, and at most one server group."""

    group: ServerGroup | None = None
    binding: Binding | None = None
    use: steps.Use = field(default_factory=steps.Use)
    is_kept: bool = False
    heir: steps.GroupUser | None = None

    def perform(self, effect):
        """Return the answer to an effect of a step."""
        match effect:
            case steps.GetGroup():
                return self.group
            case steps.SearchGroups(name):
                is_found = self.group is not None and name in (None, self.group.name)
                return (self.group,) if is_found else ()
            case steps.CreateGroup(name, policy):
                self.group = ServerGroup('g1', name, policy)
                return self.group
            case steps.DeleteGroup():
                self.group = None
                return True
            case steps.ReadBinding():
                return self.binding
            case steps.ReadUse():
                return self.use
            case steps.ReadKeep():
                return self.is_kept
            case steps.Leave(_group, heir, is_kept):
                self.binding, self.heir, self.is_kept = None, heir, is_kept
        return None

    @property
    def state(self):
        """Return the name of the state of the group."""
        if self.group is None:
            return 'no group'
        if self.binding is not None:
            return 'inherited' if self.binding.is_inherited else 'owned'
        if self.heir is not None:
            return "another's"
        if self.is_kept:
            return 'kept'
        is_own = self.group.name == OWN_NAME and not self.group.members
        return 'unbound' if is_own else 'of a user'


def attach(world, name=None):
    properties = load(
        {
            'type': 'senlin.policy.affinity',
            'version': '1.1',
            'properties': {'servergroup': {'name': name} if name else {}},
        }
    )
    kept = world.group.id if world.is_kept else None
    attached = steps.run(Attach('c1', properties, kept=kept).step(), world.perform)
    world.group, world.binding, world.is_kept = attached.group, attached.binding, False


def detach(world):
    steps.run(Detach().step(), world.perform)


def edges():
    """Return each transition: the state, the operation, its condition, the next state."""
    own = ServerGroup('g1', OWN_NAME, 'anti-affinity')
    theirs = replace(own, name='web')
    member = replace(own, members=(Member('s9', 'cmp-1'),))
    owned, inherited = Binding('g1', False), Binding('g1', True)
    other = steps.Use(users=(steps.GroupUser('c2', 'other', 'p2'),))
    cases = (
        (World(), attach, '', {}),
        (World(theirs), attach, 'names it', {'name': 'web'}),
        (World(own), attach, '', {}),
        (World(own, is_kept=True), attach, '', {}),
        (World(own, owned), detach, '', {}),
        (World(own, owned, is_kept=True), detach, 'keeps it', {}),
        (World(own, owned, other), detach, 'others use it', {}),
        (World(member, owned), detach, "others' servers", {}),
        (World(theirs, inherited), detach, '', {}),
    )
    found = []
    for world, operation, condition, given in cases:
        before = world.state
        operation(world, **given)
        found.append((before, operation.__name__, condition, world.state))
    return found


def drawing():
    """Return the transitions as text: a row of two boxes and an arrow for each."""
    lines = []
    for before, operation, condition, after in edges():
        bar = '-' * (BOX - 2)
        boxes = [f'|{state:^{BOX - 2}}|' for state in (before, after)]
        lines += [
            f'.{bar}. {operation:<{ARROW - 1}}.{bar}.',
            f'{boxes[0]}{"-" * (ARROW - 1)}>{boxes[1]}',
            f"'{bar}' {condition:<{ARROW - 1}}'{bar}'",
            '',
        ]
    return lines


class LifeCycle(SphinxDirective):
    """The drawing, as a directive without arguments."""

    def run(self):
        lines = ('.. svgbob::', '', *(f'   {line}' for line in drawing()))
        return self.parse_text_to_nodes('\n'.join(lines))


def setup(app):
    app.add_directive('life-cycle', LifeCycle)
    return {'parallel_read_safe': True}
