"""Compare the plans of random drains with an exact search, which shares no code with the engine.

A cloud has at most 6 hosts and 12 servers: flavors with a trait or aggregate metadata, groups of
all policies, zones, tenant isolation, a shared pool, hints that name servers, and one or two
drained hosts. The search tries every order and every target: :func:`accepts` is its own model of
what Nova accepts for one move.

Run: ``python -m tests.property.exact_drain 2000`` prints a table by kind; ``--write FILE`` writes
it. The exit status is 1 for a wrong plan, or if more than 5 % of the drains of a kind are neither
planned nor rejected.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from senlin_affinity import api
from senlin_affinity.engine.drain import DrainPlan
from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.server import Server
from senlin_affinity.model.server_group import Member, ServerGroup
from senlin_affinity.nova.options import ISOLATION, TENANT_AGGREGATE, TENANTS

KINDS = ('capacity', 'groups', 'places', 'pools', 'hints', 'everything')
CLASSES = ('VCPU', 'MEMORY_MB', 'DISK_GB')
TENANCY, SPECS = 'AggregateMultiTenancyIsolation', 'AggregateInstanceExtraSpecsFilter'
HINTS = ('SameHostFilter', 'DifferentHostFilter')
#: Options of nova.conf that have their defaults, and are said to.
EXPLICIT = frozenset(each.key for each in (ISOLATION, TENANTS, TENANT_AGGREGATE))
TRAIT, POOL = 'CUSTOM_FAST', '9bbcc3c4-1da2-4437-a48a-000000000001'
MOST_NOT_FOUND = 0.05
Where = Mapping[str, str]


@dataclass(frozen=True)
class Guest:
    """A server: its amounts by resource class, and its conditions."""

    id: str
    host: str
    amounts: tuple[int, int, int]
    trait: bool = False
    rack: str | None = None
    group: int | None = None
    zone: str | None = None
    project: str = 'p'
    hints: Mapping[str, str] = field(default_factory=dict)
    status: str = 'ACTIVE'
    task_state: str | None = None

    @property
    def is_movable(self) -> bool:
        return self.task_state is None and self.status != 'ERROR'


@dataclass(frozen=True)
class Place:
    """A host: its zone, rack and tenant, and its capacities; a pool may supply its disk."""

    name: str
    zone: str
    capacity: tuple[int, int, int]
    rack: str | None = None
    tenant: str | None = None
    trait: bool = False
    is_pooled: bool = False
    enabled: bool = True


@dataclass(frozen=True)
class World:
    """A small cloud, and what is drained; ``groups`` are policies with max_server_per_host."""

    kind: str
    places: tuple[Place, ...]
    guests: tuple[Guest, ...]
    groups: tuple[tuple[str, int], ...]
    pool: int
    filters: tuple[str, ...]
    drained: tuple[str, ...]
    targets: tuple[str, ...] | None

    @property
    def leaving(self) -> tuple[Guest, ...]:
        return tuple(each for each in self.guests if each.host in self.drained)


# -- the exact search


def accepts(world: World, where: Where, twice: Mapping[str, str], guest: Guest, at: Place) -> bool:
    """Check whether Nova accepts the move of a guest.

    :param where: the host of each guest.
    :param twice: guests that also hold resources on another host.
    """
    if at.name in world.drained or not at.enabled:
        return False
    if world.targets is not None and at.name not in world.targets:
        return False
    if guest.zone not in (None, at.zone) or (guest.trait and not at.trait):
        return False
    if TENANCY in world.filters and at.tenant not in (None, guest.project):
        return False
    if SPECS in world.filters and guest.rack not in (None, at.rack):
        return False
    by_id = {each.id: each for each in world.guests}
    holders = [(by_id[name], host) for name, host in (*where.items(), *twice.items())]
    here = [each for each, host in holders if host == at.name]
    for place, most in enumerate(at.capacity):
        if at.is_pooled and CLASSES[place] == 'DISK_GB':
            pooled = {each.name for each in world.places if each.is_pooled}
            here_too = [each for each, host in holders if host in pooled]
            if sum(each.amounts[place] for each in here_too) + guest.amounts[place] > world.pool:
                return False
        elif sum(each.amounts[place] for each in here) + guest.amounts[place] > most:
            return False
    others = [where[each.id] for each in world.guests if is_kin(each, guest)]
    if guest.group is not None:
        policy, most = world.groups[guest.group]
        if policy == 'anti-affinity' and others.count(at.name) >= most:
            return False
        # Nova counts the source among the hosts of the group: a lone member stays.
        if policy == 'affinity' and at.name not in others:
            return False
    if HINTS[0] in world.filters:
        same = guest.hints.get('same_host')
        if same is not None and where[same] != at.name:
            return False
        different = guest.hints.get('different_host')
        if different is not None and where[different] == at.name:
            return False
    return True


def is_kin(one: Guest, two: Guest) -> bool:
    return one.group is not None and one.group == two.group and one.id != two.id


def reachable(
    world: World, start: tuple[str, ...] | None = None, *, is_loss: bool = False
) -> set[tuple[str, ...]]:
    """Return the hosts of the leaving guests in every state that single moves reach.

    :param start: the first state; None: where the guests are.
    :param is_loss: whether the hosts are down, so that Nova frees nothing of them.
    """
    leaving = world.leaving
    start = tuple(each.host for each in leaving) if start is None else start
    fixed = {each.id: each.host for each in world.guests}
    found, todo = {start}, [start]
    while todo:
        state = todo.pop()
        where = {**fixed, **{each.id: host for each, host in zip(leaving, state, strict=True)}}
        twice = held(world, where) if is_loss else {}
        for number, guest in enumerate(leaving):
            if not (guest.is_movable or is_loss) or state[number] != guest.host:
                continue
            for at in world.places:
                after = (*state[:number], at.name, *state[number + 1 :])
                if after not in found and accepts(world, where, twice, guest, at):
                    found.add(after)
                    todo.append(after)
    return found


def held(world: World, where: Where) -> Mapping[str, str]:
    """Return the former hosts of the guests that were evacuated."""
    return {each.id: each.host for each in world.leaving if where[each.id] != each.host}


# -- the comparison


def mistakes(world: World, plan: DrainPlan, states: set[tuple[str, ...]]) -> Iterator[str]:
    """Yield a sentence for each wrong promise of a plan."""
    leaving = world.leaving
    every = [each.server.id for each in (*plan.moves, *plan.stuck)]
    every += [each.id for each in plan.not_found]
    if sorted(every) != sorted(each.id for each in leaving):
        yield f'the plan is about {sorted(every)}'
    for stuck in plan.stuck:
        number = [each.id for each in leaving].index(stuck.server.id)
        if any(state[number] != leaving[number].host for state in states):
            yield f'{stuck.server.id} is not stuck ({stuck.code})'
    if plan.fits and not all_move(world, states):
        yield 'it does not fit'
    if plan.is_proven and can_move(world, states) >= len(plan.moves) + len(plan.not_found):
        yield 'it fits but for the stuck servers'
    by_id = {each.id: each for each in leaving}
    by_name = {each.name: each for each in world.places}
    where = {each.id: each.host for each in world.guests}
    for wave in range(1, plan.waves + 1):
        wanted = [each for each in plan.moves if each.wave == wave]
        if not wanted:
            yield f'wave {wave} is empty'
        kin = [by_id[each.server.id].group for each in wanted]
        hard = [each for each in kin if each is not None and 'soft' not in world.groups[each][0]]
        if len({*hard}) < len(hard):
            yield f'members of one group move at the same time in wave {wave}'
        after = {**where, **{each.server.id: each.target for each in wanted}}
        for move in wanted:
            guest, name = by_id[move.server.id], move.server.id
            # The others of the wave hold resources on both ends, before and after they have moved.
            twice = {each.server.id: each.target for each in wanted if each.server.id != name}
            ended = {each: where[each] for each in twice}
            for at, held in ((where, twice), ({**after, name: where[name]}, ended)):
                if move.is_certain and not accepts(world, at, held, guest, by_name[move.target]):
                    yield f'{name} to {move.target} is rejected in wave {wave}'
        where = after


def all_move(world: World, states: set[tuple[str, ...]]) -> bool:
    """Check whether an order moves every guest."""
    return any(world.drained and not set(state) & set(world.drained) for state in states)


def can_move(world: World, states: set[tuple[str, ...]]) -> int:
    """Return the largest number of guests that an order moves."""
    return max(sum(host not in world.drained for host in state) for state in states)


def outcome(world: World, plan: DrainPlan, states: set[tuple[str, ...]]) -> str:
    """Return the column of the table."""
    if plan.fits is not None:
        return 'fits' if plan.fits else 'does not fit'
    return 'not found' if all_move(world, states) else 'no order exists'


def plan_of(world: World) -> DrainPlan:
    view = snapshot(world)
    question = api.Question(0, enabled_filters=world.filters, explicit_options=EXPLICIT)
    return api.drain(world.drained, view, targets=world.targets, question=question)


# -- random clouds


def random_world(seed: int) -> World:
    """Return the cloud of this number."""
    dice = random.Random(seed)
    kind = KINDS[seed % len(KINDS)]

    def may(*kinds: str) -> bool:
        return kind in (*kinds, 'everything')

    has_pool = kind == 'pools' or (kind == 'everything' and dice.random() < 0.5)
    zones = ('az-1', 'az-2') if may('places') else ('az-1',)
    flavors = [
        (dice.choice((1, 1, 2, 3)), dice.choice((512, 1024)), dice.choice((0, 5, 10)))
        for _ in range(3)
    ]
    number = dice.randint(3, 6)
    drained = tuple(f'h{each}' for each in range(dice.choice((1, 1, 2)) if number > 3 else 1))
    size = dice.randint(4, 12)
    places = tuple(
        Place(
            f'h{each}',
            dice.choice(zones),
            (size, dice.choice((4, 6, 12)) * 1_024, dice.choice((20, 40))),
            rack=dice.choice((None, 'r1', 'r2')) if may('places') else None,
            tenant=dice.choice((None, None, None, 'p', 'q')) if may('places') else None,
            trait=dice.random() < 0.6,
            is_pooled=has_pool and dice.random() < 0.7,
            enabled=f'h{each}' in drained or dice.random() < 0.9,
        )
        for each in range(number)
    )
    policies = ('anti-affinity', 'affinity', 'soft-affinity', 'soft-anti-affinity')
    groups = tuple((dice.choice(policies), dice.choice((1, 1, 2))) for _ in range(2))
    guests: list[Guest] = []
    for each in range(dice.randint(4, 12)):
        at = dice.choice(places)
        if dice.random() < 0.4:
            at = places[dice.randrange(len(drained))]
        if sum(guest.host in drained for guest in guests) >= 5 and at.name in drained:
            continue
        guest = Guest(
            f'{each:08x}-1da2-4437-a48a-000000000000',
            at.name,
            dice.choice(flavors),
            trait=at.trait and dice.random() < 0.3,
            rack=at.rack if dice.random() < 0.3 else None,
            group=dice.choice((0, 0, 1)) if may('groups') and dice.random() < 0.6 else None,
            zone=at.zone if may('places') and dice.random() < 0.4 else None,
            project=at.tenant or dice.choice('pq') if may('places') else 'p',
            hints=_hint(dice, guests) if may('hints') and dice.random() < 0.5 else {},
            status=dice.choice(('ACTIVE',) * 30 + ('SHUTOFF',) * 9 + ('ERROR',)),
            task_state='migrating' if dice.random() < 0.02 else None,
        )
        mine = [guest for guest in guests if guest.host == at.name]
        totals = zip(*(one.amounts for one in (*mine, guest)), strict=True)
        if all(sum(total) <= most for total, most in zip(totals, at.capacity, strict=True)):
            guests.append(guest)
    pooled = {each.name for each in places if each.is_pooled}
    used = sum(each.amounts[2] for each in guests if each.host in pooled)
    filters = DEFAULT_FILTERS
    if may('places'):
        filters = (*filters, TENANCY, SPECS)
    if may('hints'):
        filters = (*filters, *HINTS)
    targets = None
    if dice.random() < 0.1:
        targets = tuple(each.name for each in places if dice.random() < 0.7)
    pool = used + dice.choice((0, 5, 10, 10, 20, 60))
    return World(kind, places, (*guests,), groups, pool, filters, drained, targets)


def _hint(dice: random.Random, guests: Sequence[Guest]) -> Mapping[str, str]:
    if not guests:
        return {}
    name = dice.choice(('different_host', 'different_host', 'same_host'))
    return {name: dice.choice(guests).id}


def snapshot(world: World) -> Cloud:
    """Return the cloud as the package reads it."""

    def aggregate(number: int, name: str, **metadata: str) -> Aggregate:
        return Aggregate(f'8bbcc3c4-1da2-4437-a48a-{number:012x}', name, metadata=metadata)

    zones = {name: aggregate(number, name, availability_zone=name) for number, name in _of('az-')}
    racks = {name: aggregate(10 + number, name, rack=name) for number, name in _of('r')}
    tenants = {
        name: aggregate(20 + number, name, filter_tenant_id=name)
        for number, name in enumerate('pq')
    }
    every = {**zones, **racks, **tenants}
    pooled = {each.name for each in world.places if each.is_pooled}
    in_pool = sum(each.amounts[2] for each in world.guests if each.host in pooled)
    in_pool = {'DISK_GB': Resource(world.pool, in_pool, max_unit=10**6)}

    def host(place: Place) -> Host:
        mine = [each for each in world.guests if each.host == place.name]
        has = {
            name: Resource(most, sum(each.amounts[number] for each in mine), max_unit=10**6)
            for number, (name, most) in enumerate(zip(CLASSES, place.capacity, strict=True))
        }
        if place.is_pooled:
            has['DISK_GB'] = Resource(world.pool, in_pool['DISK_GB'].used, 10**6, pool=POOL)
        names = filter(None, (place.zone, place.rack, place.tenant))
        return Host(
            place.name,
            hypervisor_type='QEMU',
            availability_zone=place.zone,
            enabled=place.enabled,
            aggregates=frozenset(every[name].uuid for name in names),
            traits=frozenset(
                [TRAIT] * place.trait + ['COMPUTE_STATUS_DISABLED'] * (not place.enabled)
            ),
            resources=has,
            servers=len(mine),
        )

    groups = tuple(
        ServerGroup(
            f'g{number}',
            f'group-{number}',
            policy,
            {'max_server_per_host': most} if policy == 'anti-affinity' else {},
            tuple(
                Member(each.id, each.host, state=each.status)
                for each in world.guests
                if each.group == number
            ),
        )
        for number, (policy, most) in enumerate(world.groups)
    )
    servers = {
        place.name: tuple(_server(each) for each in world.guests if each.host == place.name)
        for place in world.places
    }
    return Cloud(
        hosts=tuple(map(host, world.places)),
        aggregates=(*every.values(),),
        server_groups=groups,
        pools={POOL: in_pool} if pooled else {},
        servers=tuple(Member(each.id, each.host) for each in world.guests),
        soft_deleted=(),
        servers_by_host=servers,
    )


def _of(prefix: str) -> Iterator[tuple[int, str]]:
    return ((number, f'{prefix}{number}') for number in (1, 2))


def _server(guest: Guest) -> Server:
    cpus, memory, disk = guest.amounts
    extra = {f'trait:{TRAIT}': 'required'} if guest.trait else {}
    if guest.rack is not None:
        extra['aggregate_instance_extra_specs:rack'] = guest.rack
    flavor = Flavor(
        f'{cpus}-{memory}-{disk}-{guest.trait}-{guest.rack}',
        'f',
        cpus,
        memory,
        disk,
        extra_specs=extra,
    )
    return Server(
        guest.id,
        f's-{guest.id[:8]}',
        guest.status,
        host=guest.host,
        hypervisor_hostname=guest.host,
        task_state=guest.task_state,
        project_id=guest.project,
        flavor=flavor,
        pinned_zone=guest.zone,
        hints=guest.hints,
        server_group=None if guest.group is None else f'g{guest.group}',
    )


# -- the table


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the arguments of a comparison, also that of losses."""
    parser = argparse.ArgumentParser()
    parser.add_argument('number', type=int, nargs='?', default=2_000)
    parser.add_argument('--first', type=int, default=0, help='the number of the first cloud')
    parser.add_argument('--until', type=float, help='no cloud starts afterwards')
    parser.add_argument('--write', type=Path, help='a file for the table')
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    given = parse(arguments)
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    for seed in range(given.first, given.first + given.number):
        if given.until is not None and time.time() > given.until:
            break
        world = random_world(seed)
        plan, states = plan_of(world), reachable(world)
        count = counts[world.kind]
        count['drains'] += 1
        count[outcome(world, plan, states)] += 1
        for mistake in mistakes(world, plan, states):
            count['wrong'] += 1
            print(f'cloud {seed} ({world.kind}): {mistake}', file=sys.stderr)
    table = [*lines(counts)]
    print('\n'.join(table))
    if given.write is not None:
        given.write.write_text('\n'.join(table) + '\n', encoding='utf-8')
    most = max(count['not found'] / (count['drains'] or 1) for count in counts.values())
    return int(most > MOST_NOT_FOUND or any(count['wrong'] for count in counts.values()))


COLUMNS = ('drains', 'fits', 'does not fit', 'no order exists', 'not found', 'wrong')


def lines(counts: Mapping[str, Counter[str]], columns: Sequence[str] = COLUMNS) -> Iterator[str]:
    """Yield the table in the format of the manual."""
    total = sum(counts.values(), Counter[str]())
    rows = [('kind', *columns)]
    for kind, count in (*counts.items(), ('all', total)):
        rows.append((kind, *(str(count[name]) for name in columns)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = '  '.join('=' * width for width in widths)
    texts = ['  '.join(map(str.ljust, row, widths)).rstrip() for row in rows]
    yield from (rule, texts[0], rule, *texts[1:], rule)


if __name__ == '__main__':
    sys.exit(main())
