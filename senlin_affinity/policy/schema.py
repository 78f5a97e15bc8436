"""Declare the keys of a spec of the policy, with their types, defaults and descriptions.

Senlin's schema, the manual's reference page and the parser (``properties``) use them.

Source: "Affinity Policy V1.0" in Senlin's manual; spec 1.1 is this project's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from senlin_affinity.model.server_group import ANTI_AFFINITY, MAX_SERVER_PER_HOST, POLICIES
from senlin_affinity.model.spread import HARD, SOFT

#: What a detach does with a server group that the policy created.
DELETE, KEEP = 'delete', 'keep'
#: The modes of a preflight, the strongest first.
PREFLIGHTS = ('enforce', 'warn', 'off')


@dataclass(frozen=True)
class Property:
    """The declaration of one key of a spec.

    ``kind`` is ``string``, ``integer``, ``boolean``, ``list`` (of strings; of maps if it has
    ``children``) or ``map``. ``since`` is the first version of the spec with the key. ``default``
    of None: a missing key has a meaning of its own.
    """

    name: str
    description: str
    kind: str = 'string'
    since: str = '1.0'
    default: Any = None
    allowed: tuple[str, ...] = ()
    children: tuple[Property, ...] = ()


_New = partial(Property, since='1.1')

_GROUP = (
    Property(
        'name',
        'Name or id of the server group. An existing group is inherited; a group with a new name '
        'is created.',
    ),
    Property(
        'policies', 'The policy of the server group.', default=ANTI_AFFINITY, allowed=POLICIES
    ),
    _New(
        'rules',
        'The rules of an anti-affinity group (compute microversion 2.64).',
        'map',
        children=(
            _New(
                MAX_SERVER_PER_HOST,
                'Maximum number of servers of the group on one host (default: 1).',
                'integer',
            ),
        ),
    ),
    _New(
        'on_detach',
        'Whether a detach deletes a server group that the policy created, or keeps it for the '
        'next policy of the cluster.',
        default=DELETE,
        allowed=(DELETE, KEEP),
    ),
)
_SPREAD = (
    _New(
        'by',
        'Criterion of the domains: availability_zone, or a metadata key of aggregates such as '
        'rack.',
    ),
    _New(
        'max_skew',
        'Maximum difference between the servers in a domain and those in the emptiest domain.',
        'integer',
        default=1,
    ),
    _New(
        'max_per_domain',
        'Maximum number of servers of the group in one domain (default: no limit).',
        'integer',
    ),
    _New(
        'mode',
        'Whether the spread rejects nodes that violate it (hard), or is only preferred (soft).',
        default=HARD,
        allowed=(HARD, SOFT),
    ),
)
DECLARED = (
    Property('servergroup', 'The server group that the nodes join.', 'map', children=_GROUP),
    Property('availability_zone', 'Name of the availability zone to place the nodes in.'),
    Property(
        'enable_drs_extension',
        'Place the nodes on a vSphere host with DRS (clusters owned by an administrator).',
        'boolean',
        default=False,
    ),
    _New(
        'extra_specs',
        "How the extra specs of the flavor of the cluster's profile are checked.",
        default='permissive',
        allowed=('strict', 'permissive', 'off'),
    ),
    _New(
        'preflight',
        'Whether nodes that do not fit are rejected before Nova receives a request, or only '
        'cause a warning.',
        default=PREFLIGHTS[0],
        allowed=PREFLIGHTS,
    ),
    _New(
        'member_of',
        'Aggregates that the hosts of the nodes must be in, or must not be in, by name or id, in '
        'the syntax of Placement (clusters owned by an administrator).',
        'list',
    ),
    _New(
        'pin_hosts',
        'Whether the policy chooses the host of every node (clusters owned by an administrator). '
        'Always true with member_of, or with a spread by a metadata key.',
        'boolean',
    ),
    _New(
        'spread',
        'Spreads of the nodes over zones (for everybody), or over other domains (clusters owned '
        'by an administrator).',
        'list',
        children=_SPREAD,
    ),
)
