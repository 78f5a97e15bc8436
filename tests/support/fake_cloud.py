"""Represent a cloud in memory: the ports of ``model.ports``, with a log of requests and faults.

It replaces the cloud for code without I/O of its own. Groups are listed in the order of their
creation, as in Nova; several may have the same name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from senlin_affinity.model.cloud import Aggregate, Flavor, Quota
from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.model.host import Host
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.model.server_group import Member, ServerGroup, create_body

WRITES = ('create', 'delete')


@dataclass(frozen=True)
class Fault:
    """The failure of the request with this number, from 0.

    ``is_done``: the request was carried out, and only the response was lost. ``is_uncertain``: the
    caller cannot know. ``is_ignored``: the request was not carried out, and the response says that
    there is no such group.
    """

    request: int
    is_done: bool = False
    is_uncertain: bool = False
    is_ignored: bool = False
    status: int | None = None
    words: str = 'the cloud is on fire'


@dataclass
class FakeCloud:
    """Server groups, and the inventory that the policy needs."""

    groups: list[ServerGroup] = field(default_factory=list)
    microversion: tuple[int, int] = (2, 100)
    zones: frozenset[str] = frozenset({'nova'})
    limits: Mapping[str, Quota] = field(default_factory=dict)
    hosts: tuple[Host, ...] = ()
    flavors: tuple[Flavor, ...] = ()
    known_aggregates: tuple[Aggregate, ...] = ()
    has_old_placement: bool = False
    is_choice: bool = True
    faults: tuple[Fault, ...] = ()
    requests: list[str] = field(default_factory=list)
    before_request: Callable[[str], None] = lambda _what: None
    made: int = 0

    # -- ServerGroups

    def check(self, policy: str, rules: Mapping[str, int]) -> None:
        create_body('', policy, rules, self.microversion)

    def get(self, group_id: str) -> ServerGroup | None:
        return self._send('get', lambda: next((g for g in self.groups if g.id == group_id), None))

    def named(self, name: str) -> tuple[ServerGroup, ...]:
        return self._send('named', lambda: tuple(g for g in self.groups if g.name == name))

    def own(self) -> tuple[ServerGroup, ...]:
        return self._send('own', lambda: tuple(self.groups))

    def create(self, name: str, policy: str, rules: Mapping[str, int]) -> ServerGroup:
        def do() -> ServerGroup:
            self.made += 1
            group = ServerGroup(f'made-{self.made}', name, policy, dict(rules))
            self.groups.append(group)
            return group

        return self._send('create', do)

    def delete(self, group_id: str) -> bool:
        def do() -> bool:
            left = [group for group in self.groups if group.id != group_id]
            is_deleted = len(left) < len(self.groups)
            self.groups[:] = left
            return is_deleted

        return self._send('delete', do)

    # -- Inventory

    def availability_zones(self) -> frozenset[str]:
        return self._send('zones', lambda: self.zones)

    def quotas(self) -> Mapping[str, Quota]:
        return self._send('quotas', lambda: self.limits)

    def flavor(self, name_or_id: str) -> Flavor | None:
        found = (each for each in self.flavors if name_or_id in (each.id, each.name))
        return self._send('flavor', lambda: next(found, None))

    def highest_microversion(self) -> tuple[int, int]:
        return 2, 104

    def lets_choose_hosts(self) -> bool:
        return self._send('choice', lambda: self.is_choice)

    def hosts_named_like(self, pattern: str) -> tuple[Host, ...]:
        return self._send('hosts', lambda: self.hosts)

    def aggregates(self) -> tuple[Aggregate, ...]:
        return self._send('aggregates', lambda: self.known_aggregates)

    # -- Candidates

    def check_version(self, member_of: MemberOf, path: str) -> None:
        if member_of.forbidden and self.has_old_placement:
            raise InvalidSpec('needs 1.32', path)

    def _send(self, what: str, do):
        self.before_request(what)
        number = len(self.requests)
        self.requests.append(what)
        for fault in self.faults:
            if fault.request == number:
                if fault.is_ignored:
                    return None
                if fault.is_done:
                    do()
                raise CloudError(
                    fault.words,
                    fault.status,
                    is_uncertain=what in WRITES and (fault.is_uncertain or fault.is_done),
                )
        return do()


def group_of(row: Mapping) -> ServerGroup:
    """Return the group of a row; by default "web" with anti-affinity, without members."""
    members = tuple(Member(server) for server in row.get('members', ()))
    name, policy = row.get('name', 'web'), row.get('policy', 'anti-affinity')
    creator = row.get('project'), row.get('user')
    return ServerGroup(row['id'], name, policy, row.get('rules', {}), members, *creator)


def cloud_of(row: Mapping) -> FakeCloud:
    """Return the cloud of a row, in which every key is optional."""
    major, minor = str(row.get('microversion', '2.100')).split('.')
    return FakeCloud(
        groups=[group_of(group) for group in row.get('groups', ())],
        microversion=(int(major), int(minor)),
        zones=frozenset(row.get('zones', ('nova',))),
        limits={
            name: Quota(each['limit'], each.get('used'))
            for name, each in row.get('quotas', {}).items()
        },
        hosts=tuple(Host(**host) for host in row.get('hosts', ())),
        flavors=tuple(
            Flavor(f'id of {name}', name, 1, 512, 1, extra_specs=specs)
            for name, specs in row.get('flavors', {}).items()
        ),
        known_aggregates=tuple(Aggregate(**each) for each in row.get('aggregates', ())),
        has_old_placement=row.get('has_old_placement', False),
        faults=tuple(Fault(**fault) for fault in row.get('faults', ())),
    )
