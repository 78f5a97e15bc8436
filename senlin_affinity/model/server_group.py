"""Parse and validate server groups, and find their members, free slots and violations by host.

Example: :meth:`ServerGroup.from_api` reads all of these::

    {'id': '...', 'name': 'web', 'policies': ['anti-affinity'], 'members': [...]}       below 2.64
    {'id': '...', 'name': 'web', 'policy': 'anti-affinity',
     'rules': {'max_server_per_host': 3}, 'members': [...]}                             from 2.64
    {'server_group': {'name': 'web', 'policy': {'name': 'anti-affinity',
                                                'rules': {'max_server_per_host': 3}}}}    the spec's

A host is a compute host, or the ``hostId`` of the servers if the caller may not list hosts. Nothing
violates a soft policy. Servers in BUILD violate no policy, because Nova may still move them.

Raises: InvalidSpec for the input of a user, CloudError for a malformed response of Nova.

Source: https://blueprints.launchpad.net/nova/+spec/complex-anti-affinity-policies, and Nova.
Deviation: a float, and a digit string with a trailing newline, are rejected although Nova accepts
them (an integral float makes Nova answer 500 from then on).
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from senlin_affinity.model.errors import CloudError, InvalidSpec, quoted
from senlin_affinity.model.numbers import whole
from senlin_affinity.model.value import Amount, Value

AFFINITY = 'affinity'
ANTI_AFFINITY = 'anti-affinity'
SOFT_AFFINITY = 'soft-affinity'
SOFT_ANTI_AFFINITY = 'soft-anti-affinity'
POLICIES = (AFFINITY, ANTI_AFFINITY, SOFT_AFFINITY, SOFT_ANTI_AFFINITY)
SOFT_POLICIES = (SOFT_AFFINITY, SOFT_ANTI_AFFINITY)
MAX_SERVER_PER_HOST = 'max_server_per_host'
#: The id of a planned group that does not exist yet, and its name if it has no other. The groups of
#: a list have their names behind it.
NOT_YET = 'new-server-group'

#: Compute microversions.
SOFT_POLICIES_MICROVERSION = (2, 15)
RULES_MICROVERSION = (2, 64)

#: The state of a server that does not exist.
DELETED = 'DELETED'
#: States of a member that has no host until it is rebuilt, unshelved or recreated.
_WITHOUT_HOST = ('ERROR', 'SHELVED_OFFLOADED', DELETED)
#: States in which a server moves between two hosts, and has resources on both.
MOVING = ('VERIFY_RESIZE', 'RESIZE', 'REVERT_RESIZE', 'MIGRATING')
SOFT_DELETED = 'SOFT_DELETED'
BUILD = 'BUILD'
_NAME_LENGTH = 255


if TYPE_CHECKING:
    Rules = Mapping[str, int]
else:

    class Rules(dict):
        """The rules of a group. In a file, a number may also be written as its digits."""


class Member(Value, frozen=True):
    """A server of a group; ``host`` and ``user`` are None if unknown.

    ``host_id`` is the opaque ``hostId`` that a non-admin reads instead of the host: equal for all
    servers of one project on one host. ``zone`` is the availability zone, ``state`` Nova's status,
    ``project`` the project if it differs from the group's. ``also_on`` are the source and target
    hosts of a migration in progress. ``left`` maps the former hosts of live migrations, and of
    reverted resizes and cold migrations, to the seconds since the migration ended.
    """

    server: str
    host: str | None = None
    user: str | None = None
    host_id: str | None = None
    zone: str | None = None
    state: str | None = None
    also_on: tuple[str, ...] = ()
    project: str | None = None
    left: Mapping[str, Amount] = {}

    @property
    def is_nowhere(self) -> bool:
        """Return whether it is ERROR, SHELVED_OFFLOADED or DELETED, and no host is known."""
        return self.state in _WITHOUT_HOST and self.host is None and self.host_id is None

    @property
    def is_half_known(self) -> bool:
        """Return whether it is moving, and its source or target host is unknown."""
        return self.state in MOVING and not self.also_on


class ServerGroup(Value, frozen=True, dict=True):
    """A server group of Nova, in one form for all microversions.

    ``rules`` is empty if the group has none, or if the microversion does not show them.
    ``project_id`` and ``user_id`` are the creator's; None if unknown.
    """

    id: str
    name: str
    policy: str
    rules: Rules = msgspec.field(default_factory=dict)
    members: tuple[Member, ...] = ()
    project_id: str | None = None
    user_id: str | None = None

    def __hash__(self) -> int:
        return hash((self.id, self.name, self.policy))

    @classmethod
    def planned(
        cls, name: str, policy: str, rules: Mapping[str, int], key: str = ''
    ) -> ServerGroup:
        """Return a group that does not exist yet; the key, by default the name, is in its id."""
        return cls(f'{NOT_YET}:{key or name}', name, policy, dict(rules))

    @property
    def is_planned(self) -> bool:
        """Return whether the group does not exist yet."""
        return self.id.partition(':')[0] == NOT_YET

    @property
    def max_server_per_host(self) -> int | None:
        """Return how many members one host may hold; None if the policy sets no limit."""
        if self.policy != ANTI_AFFINITY:
            return None
        return self.rules.get(MAX_SERVER_PER_HOST, 1)

    @cached_property
    def has_lost_members(self) -> bool:
        """Return whether a member counts on a host that is unknown."""
        is_strict = self.policy == ANTI_AFFINITY
        return any(
            not member.is_nowhere and (member.host is None or (is_strict and member.is_half_known))
            for member in self.members
        )

    def held(self, *, is_checked: bool = True) -> Counter[str]:
        """Return the known number of members on each host, as Nova counts them.

        With anti-affinity, the late check on the compute host counts a moving server on both hosts;
        the scheduler's filter (``is_checked=False``) only on its current host. Affinity does not
        count soft-deleted servers.
        """
        return Counter(self._held[is_checked])

    @cached_property
    def _held(self) -> Mapping[bool, Counter[str]]:
        return {is_checked: Counter(self._places(is_checked)) for is_checked in (True, False)}

    def _places(self, is_checked: bool) -> Iterator[str]:
        is_strict = self.policy == ANTI_AFFINITY
        for member in self.members:
            if member.host is not None and (is_strict or member.state != SOFT_DELETED):
                yield member.host
            if is_strict and is_checked and member.also_on:
                yield from {*member.also_on}.difference((member.host,))

    def without(self, servers: Collection[str]) -> ServerGroup:
        """Return the group without these members, by id."""
        left = (member for member in self.members if member.server not in servers)
        return msgspec.structs.replace(self, members=(*left,))

    def free_slots(self, members_on_host: int) -> int | None:
        """Return how many more members a host may hold; None if there is no limit."""
        limit = self.max_server_per_host
        return None if limit is None else max(0, limit - members_on_host)

    @classmethod
    def from_api(cls, body: Mapping[str, Any]) -> ServerGroup:
        """Parse a server group from any of the three forms, with or without its envelope."""
        inner = body.get('server_group', body) if isinstance(body, Mapping) else body
        if not isinstance(inner, Mapping):
            raise CloudError(f'a server group must be a JSON object, not {inner!r}')
        name, identity = inner.get('name'), inner.get('id')
        if not isinstance(name, str) or not isinstance(identity, str):
            raise CloudError(f'a server group without id or name: {quoted(inner)}')
        policy, rules = _policy_of(inner)
        # A rule of a later Nova may have another type; ignore it.
        parsed = {key: value for key, value in rules.items() if type(value) is int}
        if MAX_SERVER_PER_HOST in rules:
            path = f'rules.{MAX_SERVER_PER_HOST}'
            try:
                parsed[MAX_SERVER_PER_HOST] = whole(rules[MAX_SERVER_PER_HOST], path, 1)
            except InvalidSpec as error:
                raise CloudError(f'server group {name} ({identity}): {error}') from error
        members = inner.get('members') or ()
        if not isinstance(members, list | tuple):
            raise CloudError(f'server group {name} has members that cannot be read: {members!r}')
        members = tuple(_member(member, name) for member in members)
        creator = (inner.get(key) for key in ('project_id', 'user_id'))
        project, user = (each if isinstance(each, str) else None for each in creator)
        return cls(identity, name, policy, parsed, members, project, user)


def parse_create(body: Mapping[str, Any]) -> ServerGroup:
    """Validate a request to create a server group, in the specification's form or Nova's.

    The returned group has an empty id. A ``policies`` list raises InvalidSpec.
    """
    path = 'server_group'
    inner = _only(_only(body, '', path)[path], path, 'name', 'policy', rules=True)
    name = check_name(inner['name'], f'{path}.name')
    if not isinstance(inner['policy'], Mapping):
        policy = check_policy(inner['policy'], f'{path}.policy')
    else:
        if 'rules' in inner:
            words = 'must be in the policy object: write server_group.policy.rules'
            raise InvalidSpec(words, f'{path}.rules')
        path = f'{path}.policy'
        inner = _only(inner['policy'], path, 'name', rules=True)
        policy = check_policy(inner['name'], f'{path}.name')
        if 'rules' in inner and policy != ANTI_AFFINITY:
            words = f'only {ANTI_AFFINITY} allows rules: remove them'
            raise InvalidSpec(words, f'{path}.rules')
    rules = check_rules(inner.get('rules', {}), policy, f'{path}.rules')
    return ServerGroup('', name, policy, rules)


def create_body(
    name: str, policy: str, rules: Mapping[str, int], microversion: tuple[int, int]
) -> dict[str, Any]:
    """Return the body of ``POST /os-server-groups`` at a microversion (2.64 changes its form).

    Raise InvalidSpec for rules below 2.64 and soft policies below 2.15.
    """
    offered = '.'.join(map(str, microversion))
    if microversion >= RULES_MICROVERSION:
        more = {'rules': dict(rules)} if rules else {}
        return {'server_group': {'name': name, 'policy': policy, **more}}
    if rules:
        raise InvalidSpec(
            f'rules need compute microversion 2.64, this cloud offers {offered}: '
            'leave the rules out, or use a newer cloud',
            'properties.servergroup.rules',
        )
    if policy in SOFT_POLICIES and microversion < SOFT_POLICIES_MICROVERSION:
        raise InvalidSpec(
            f'{policy} needs compute microversion 2.15, this cloud offers {offered}: '
            f'use {policy.removeprefix("soft-")}, or a newer cloud',
            'properties.servergroup.policies',
        )
    return {'server_group': {'name': name, 'policies': [policy]}}


def check_policy(value: object, path: str) -> str:
    """Return the value if it is exactly one of the four policies; raise InvalidSpec otherwise."""
    if not isinstance(value, str) or value not in POLICIES:
        raise InvalidSpec(f'must be one of {", ".join(POLICIES)}, not {value!r}', path)
    return value


def check_rules(value: object, policy: str, path: str) -> dict[str, int]:
    """Return the normalised rules of a group: ``{'max_server_per_host': 3}`` or ``{}``."""
    if not isinstance(value, Mapping):
        raise InvalidSpec(
            f'must be a mapping such as {{{MAX_SERVER_PER_HOST}: 3}}, not {value!r}', path
        )
    for key in value:
        if key != MAX_SERVER_PER_HOST:
            raise InvalidSpec(f'unknown rule {key!r}: the only rule is {MAX_SERVER_PER_HOST}', path)
    if value and policy != ANTI_AFFINITY:
        raise InvalidSpec(f'only {ANTI_AFFINITY} allows rules, not {policy}', path)
    return {key: whole(number, f'{path}.{key}', 1) for key, number in value.items()}


def check_name(value: object, path: str) -> str:
    """Return the name if Nova accepts it for a server group: 1 to 255 printable characters."""
    if not isinstance(value, str):
        raise InvalidSpec(f'must be a string, not {value!r}', path)
    if not 1 <= len(value) <= _NAME_LENGTH:
        raise InvalidSpec(f'must have 1 to {_NAME_LENGTH} characters, not {len(value)}', path)
    if value != value.strip():
        raise InvalidSpec(f'must not begin or end with white space: {value!r}', path)
    for character in value:
        category = unicodedata.category(character)
        if ord(character) >= 0x10000 or category[0] == 'C' or category in ('Zl', 'Zp'):
            raise InvalidSpec(f'contains a character that Nova rejects: {character!r}', path)
    return value


def _policy_of(inner: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the policy and the raw rules; the policy is '' for an empty list of policies."""
    policy: Any = inner.get('policy')
    rules: Any = inner.get('rules')
    if isinstance(policy, Mapping):
        policy, rules = policy.get('name'), policy.get('rules')
    elif policy is None and isinstance(inner.get('policies'), list | tuple):
        policy = (*inner['policies'], '')[0]
    if not isinstance(policy, str) or not isinstance(rules or {}, Mapping):
        raise CloudError(f'a server group has no readable policy: {quoted(inner)}')
    return policy, rules or {}


def _member(value: object, group: str) -> Member:
    if isinstance(value, str):
        return Member(value)
    if isinstance(value, Mapping):
        server, host = value.get('server'), value.get('host')
        if isinstance(server, str) and (host is None or isinstance(host, str)):
            return Member(server, host)
    raise CloudError(f'server group {group} has a member that cannot be read: {value!r}')


def _only(value: object, path: str, *keys: str, rules: bool = False) -> Mapping[str, Any]:
    """Return the value if it is a mapping with exactly these keys (and optionally ``rules``)."""
    known = (*keys, 'rules') if rules else keys
    if not isinstance(value, Mapping):
        raise InvalidSpec(f'must be a mapping with {", ".join(known)}, not {value!r}', path)
    for key in keys:
        if key not in value:
            raise InvalidSpec(f'{key} is missing', path)
    for key in value:
        if key == 'policies' and 'policy' in known:
            raise InvalidSpec('use policy: <name> instead of the list policies', path)
        if key not in known:
            raise InvalidSpec(f'unknown key {key!r}: choose from {", ".join(known)}', path)
    return value


@dataclass(frozen=True)
class Place:
    """The members of a group on one host; ``host`` is None for members without a known host.

    ``since`` is the time of the first violation by these members; None if unknown.
    """

    host: str | None
    servers: tuple[str, ...]
    is_violated: bool = False
    since: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the host and the servers as plain values, ready for JSON."""
        return {'host': self.host, 'servers': list(self.servers)}


def places(group: ServerGroup) -> tuple[Place, ...]:
    """Return the members by host, the fullest first, and mark violations of the policy."""
    by_host: dict[str | None, list[str]] = {}
    for member in group.members:
        by_host.setdefault(member.host or member.host_id, []).append(member.server)
    settled = _settled(group)
    known = sorted(host for host in by_host if host is not None)
    known.sort(key=lambda host: (-settled[host], -len(by_host[host])))
    limit = group.max_server_per_host
    found = []
    for number, host in enumerate(known):
        servers = settled[host]
        is_elsewhere = group.policy == AFFINITY and number > 0 and servers > 0
        is_violated = (limit is not None and servers > limit) or is_elsewhere
        found.append(Place(host, tuple(sorted(by_host[host])), is_violated))
    if None in by_host:
        found.append(Place(None, tuple(sorted(by_host[None]))))
    return tuple(found)


def _settled(group: ServerGroup) -> Counter[str | None]:
    """Return the number of members on each host that Nova does not move any more."""
    return Counter(each.host or each.host_id for each in group.members if each.state != BUILD)


def violated(group: ServerGroup | None) -> tuple[Place, ...]:
    """Return the places that violate the policy; with affinity, all but the fullest."""
    if group is None or (group.max_server_per_host is None and group.policy != AFFINITY):
        return ()
    most = group.max_server_per_host
    if most is not None and max(_settled(group).values(), default=0) <= most:
        return ()
    return tuple(place for place in places(group) if place.is_violated)
