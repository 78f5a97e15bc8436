"""What a spec of the policy may say: every key with its type, its default and its description.

Senlin's schema, the reference page of the manual and the reader (``properties``) all follow these
declarations.

Source: document 003 (R3-01 to R3-06); spec 1.1 is this project's.
"""

from __future__ import annotations

from dataclasses import dataclass
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


SERVERGROUP = Property(
    'servergroup',
    'map',
    'The server group that the nodes join.',
    children=(
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
        Property(
            'rules',
            'map',
            'The rules of an anti-affinity group (compute microversion 2.64).',
            since='1.1',
            children=(
                Property(
                    MAX_SERVER_PER_HOST,
                    'integer',
                    'Servers of the group that one host may hold; 1 when left out.',
                    since='1.1',
                ),
            ),
        ),
        Property(
            'on_detach',
            'string',
            'Whether a detach deletes a server group that the policy created, or keeps it for the '
            'next policy of the cluster.',
            since='1.1',
            default=DELETE,
            allowed=(DELETE, KEEP),
        ),
    ),
)
AVAILABILITY_ZONE = Property(
    'availability_zone', 'string', 'Name of the availability zone to place the nodes in.'
)
ENABLE_DRS_EXTENSION = Property(
    'enable_drs_extension',
    'boolean',
    'Place the nodes on a vSphere host with DRS (clusters owned by an administrator).',
    default=False,
)
EXTRA_SPECS = Property(
    'extra_specs',
    'string',
    "How the extra specs of the flavor of the cluster's profile are checked.",
    since='1.1',
    default='permissive',
    allowed=('strict', 'permissive', 'off'),
)
PREFLIGHT = Property(
    'preflight',
    'string',
    'Whether a request that can not fit is refused before Nova is asked, or only warned of.',
    since='1.1',
    default='enforce',
    allowed=('enforce', 'warn', 'off'),
)
MEMBER_OF = Property(
    'member_of',
    'list',
    'Aggregates that the hosts of the nodes must and must not be in, by name or id, in the grammar '
    'of Placement (clusters owned by an administrator).',
    since='1.1',
)
PIN_HOSTS = Property(
    'pin_hosts',
    'boolean',
    'Whether the policy chooses the host of every node (clusters owned by an administrator); with '
    'member_of, or a spread by a metadata key, it does.',
    since='1.1',
)
SPREAD = Property(
    'spread',
    'list',
    'Spreads of the nodes over zones (for everybody), or over other domains (clusters owned by an '
    'administrator).',
    since='1.1',
    children=(
        Property(
            'by',
            'string',
            'What makes a domain: availability_zone, or a metadata key of aggregates such as rack.',
            since='1.1',
        ),
        Property(
            'max_skew',
            'integer',
            'By how many servers a domain may be ahead of the emptiest one.',
            since='1.1',
            default=1,
        ),
        Property(
            'max_per_domain',
            'integer',
            'Servers of the group that one domain may hold; no limit when left out.',
            since='1.1',
        ),
        Property(
            'mode',
            'string',
            'Whether the spread refuses what it does not allow, or is only preferred.',
            since='1.1',
            default=HARD,
            allowed=(HARD, SOFT),
        ),
    ),
)
DECLARED = (
    SERVERGROUP,
    AVAILABILITY_ZONE,
    ENABLE_DRS_EXTENSION,
    EXTRA_SPECS,
    PREFLIGHT,
    MEMBER_OF,
    PIN_HOSTS,
    SPREAD,
)
