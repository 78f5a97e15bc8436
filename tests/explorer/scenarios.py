"""The start states of the explorer, and the operations from each.

Single operations reach each start state: nothing is attached; a user's group; one cluster owns a
group; two share it; a cluster of another project uses it by its id; and so on.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from senlin_affinity.model.server_group import ServerGroup
from tests.explorer.explore import Operation
from tests.explorer.world import FOREIGN_SERVER, Bound, Cluster, Database, Policy, World, uid
from tests.support.values import replace

ONE, TWO, ELSEWHERE, GONE = (uid(number) for number in range(1, 5))
WEB, OWN, OTHER = uid(10), uid(11), uid(12)
CLUSTERS = (Cluster(ONE), Cluster(TWO), Cluster(ELSEWHERE, 'q'))
POLICIES = (
    Policy('WEB', 'web'),
    Policy('own'),
    Policy('keep', 'web', on_detach='keep'),
    Policy('by id', WEB, 'q'),
    Policy('orphan', f'senlin-affinity-{ONE}'),
)
_DATABASE = Database(CLUSTERS, POLICIES)
_OTHER = ServerGroup(OTHER, 'other', 'anti-affinity', {}, (), 'p', 'u-p')


def _group(key: str, name: str, *members: object) -> ServerGroup:
    return ServerGroup(key, name, 'anti-affinity', {}, tuple(members), 'p', 'u-p')


def _world(*groups: ServerGroup, database: Database = _DATABASE, ours: bool = True) -> World:
    """Return a world with these groups, and an empty one of a user."""
    created = frozenset(each.id for each in groups) if ours else frozenset()
    return World((*groups, _OTHER), database, created)


_ONE = Bound(ONE, 'WEB', WEB, is_owner=True)
_SHARED = (_ONE, Bound(TWO, 'WEB', WEB))
_web, _own = _group(WEB, 'web'), _group(OWN, f'senlin-affinity-{ONE}')
STARTS = {
    'nothing': _world(),
    "a user's group": _world(_web, ours=False),
    'one owner': _world(_web, database=replace(_DATABASE, bound=(_ONE,))),
    'servers of others': _world(
        _group(WEB, 'web', FOREIGN_SERVER), database=replace(_DATABASE, bound=(_ONE,))
    ),
    'two clusters': _world(_web, database=replace(_DATABASE, bound=_SHARED)),
    'another project': _world(
        _web, database=replace(_DATABASE, bound=(_ONE, Bound(ELSEWHERE, 'by id', WEB)))
    ),
    'its own group': _world(
        _own, database=replace(_DATABASE, bound=(Bound(ONE, 'own', OWN, is_owner=True),))
    ),
    'its own group, not bound': _world(_own),
    'its own group, shared': _world(
        _own,
        database=replace(
            _DATABASE, bound=(Bound(ONE, 'own', OWN, is_owner=True), Bound(TWO, 'orphan', OWN))
        ),
    ),
    'an orphan in use': _world(
        _own,
        database=replace(
            _DATABASE, clusters=CLUSTERS[1:], bound=(Bound(TWO, 'orphan', OWN, is_owner=True),)
        ),
    ),
    'to be kept': _world(
        _web, database=replace(_DATABASE, bound=(Bound(ONE, 'keep', WEB, is_owner=True),))
    ),
    'an orphan': _world(_own, database=replace(_DATABASE, clusters=CLUSTERS[1:])),
    'kept': _world(_web, database=_DATABASE.with_cluster(Cluster(ONE, kept=WEB))),
}
_ATTACHES = (
    Operation('attach', ONE, 'WEB'),
    Operation('attach', TWO, 'WEB'),
    Operation('attach', ONE, 'own'),
    Operation('attach', ELSEWHERE, 'by id'),
    Operation('attach', TWO, 'orphan'),
    Operation('attach', ONE, 'keep'),
)
_OTHERS = (
    Operation('cluster delete', ONE),
    Operation('policy delete', policy='WEB'),
    Operation('profile update', TWO, word='web'),
    Operation('user creates', word='web'),
    Operation('user creates', 'q', word='web'),
    Operation('user deletes', word=WEB),
    Operation('user deletes', word=OWN),
    Operation('delete orphans', word=OWN),
)


def pairs(start: World) -> Iterator[tuple[Operation, Operation]]:
    """Yield the pairs of operations from a start state; those of users only with another one."""
    detaches = [
        Operation(name, row.cluster, row.policy)
        for row in start.database.bound
        for name in ('detach', 'hook')
    ]
    known = (*_ATTACHES, *detaches, *_OTHERS)
    yield from itertools.combinations(known, 2)
