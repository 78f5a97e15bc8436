"""What a spec of the policy may say: every key with its type, its default and its description.

Senlin's schema, the reference page of the manual and the reader (``properties``) all follow these
declarations.

Source: document 003; spec 1.1 is this project's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from senlin_affinity.core.server_group import ANTI_AFFINITY, MAX_SERVER_PER_HOST, POLICIES
from senlin_affinity.core.spread import HARD, SOFT

#: What a detach does with a server group that the policy created.
DELETE, KEEP = 'delete', 'keep'


@dataclass(frozen=True)
class Property:
    """The declaration of one key: what the schema, the reference page and the reader share.

    ``kind`` is ``string``, ``integer``, ``boolean``, ``list`` (of strings; of maps where it has
    ``children``) or ``map``; ``since`` the version of the spec that brought it; ``default`` None
    means that leaving it out is a value of its own.
    """

    name: str
    kind: str
    description: str
    since: str = '1.0'
    default: Any = None
    allowed: tuple[str, ...] = ()
    children: tuple[Property, ...] = ()


_New = partial(Property, since='1.1')

_GROUP = (
    Property(
        'name',
        'string',
        'Name or id of the server group: an existing one is inherited, a name that does not '
        'exist yet is created.',
    ),
    Property(
        'policies',
        'string',
        'The policy of the server group.',
        default=ANTI_AFFINITY,
        allowed=POLICIES,
    ),
    _New(
        'rules',
        'map',
        'The rules of an anti-affinity group (compute microversion 2.64).',
        children=(
            _New(
                MAX_SERVER_PER_HOST,
                'integer',
                'Servers of the group that one host may hold; 1 when left out.',
            ),
        ),
    ),
    _New(
        'on_detach',
        'string',
        'Whether a detach deletes a server group that the policy created, or keeps it for the '
        'next policy of the cluster.',
        default=DELETE,
        allowed=(DELETE, KEEP),
    ),
)
_SPREAD = (
    _New(
        'by',
        'string',
        'What makes a domain: availability_zone, or a metadata key of aggregates such as rack.',
    ),
    _New(
        'max_skew',
        'integer',
        'By how many servers a domain may be ahead of the emptiest one.',
        default=1,
    ),
    _New(
        'max_per_domain',
        'integer',
        'Servers of the group that one domain may hold; no limit when left out.',
    ),
    _New(
        'mode',
        'string',
        'Whether the spread refuses what it does not allow, or is only preferred.',
        default=HARD,
        allowed=(HARD, SOFT),
    ),
)
DECLARED = (
    Property('servergroup', 'map', 'The server group that the nodes join.', children=_GROUP),
    Property('availability_zone', 'string', 'Name of the availability zone to place the nodes in.'),
    Property(
        'enable_drs_extension',
        'boolean',
        'Place the nodes on a vSphere host with DRS (clusters owned by an administrator).',
        default=False,
    ),
    _New(
        'extra_specs',
        'string',
        "How the extra specs of the flavor of the cluster's profile are checked.",
        default='permissive',
        allowed=('strict', 'permissive', 'off'),
    ),
    _New(
        'preflight',
        'string',
        'Whether a request that can not fit is refused before Nova is asked, or only warned of.',
        default='enforce',
        allowed=('enforce', 'warn', 'off'),
    ),
    _New(
        'member_of',
        'list',
        'Aggregates that the hosts of the nodes must and must not be in, by name or id, in the '
        'grammar of Placement (clusters owned by an administrator).',
    ),
    _New(
        'pin_hosts',
        'boolean',
        'Whether the policy chooses the host of every node (clusters owned by an administrator); '
        'with member_of, or a spread by a metadata key, it does.',
    ),
    _New(
        'spread',
        'list',
        'Spreads of the nodes over zones (for everybody), or over other domains (clusters owned '
        'by an administrator).',
        children=_SPREAD,
    ),
)
