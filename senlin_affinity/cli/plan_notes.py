"""What is told beside a decision: what the snapshot lacks, and what a remedy does not say.

Shapes::

    tuple(missing(request, snapshot)) == (
        'hosts: not in the snapshot (Nova shows them to administrators only)',
        "flavors: not in the snapshot (nobody checked that there is 'm1.small')",
    )
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from senlin_affinity.core.decision import Decision
from senlin_affinity.core.filters import KNOWN
from senlin_affinity.core.objects import CloudSnapshot, PlacementRequest, Question
from senlin_affinity.core.server_group import ServerGroup
from senlin_affinity.core.spread import ZONE
from senlin_affinity.core.suggestion import typo_of

#: Remedies that change the rule or the policy of a group.
_OF_A_GROUP = ('max_server_per_host', 'soft_policy')
_NEW_GROUP_NEEDED = 'Nova changes no rule of a group that is there: it takes a new group.'


@dataclass(frozen=True)
class Notes:
    """What is told of the snapshot, and of the group that the request joins.

    ``unknown`` says why parts of a live cloud are not known, ``missing`` which parts that matter
    are not in a file; ``is_group_there`` that the group is none that an attach would create.
    ``options`` are those that count in a plan and are in the ``config_file``. ``question`` is what
    was asked.
    """

    unknown: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    group: ServerGroup | None = None
    is_group_there: bool = False
    has_no_hosts: bool = False
    config_file: str | None = None
    options: tuple[str, ...] = ()
    question: Question | None = None

    def of_remedies(self, decision: Decision) -> str:
        """What to know of the remedies that are shown; '' for nothing."""
        is_told = any(remedy.code in _OF_A_GROUP for remedy in decision.remedies)
        return _NEW_GROUP_NEEDED if is_told and self.is_group_there else ''


def notes(
    request: PlacementRequest,
    before: CloudSnapshot,
    planned: CloudSnapshot,
    unknown: Mapping[str, str],
    group: ServerGroup | None,
) -> Notes:
    """The notes about a request that joins this group.

    :param before: the cloud as it was looked at; ``unknown`` says why a part of it is not known.
    :param planned: the same as it was planned on, with the group that an attach would create.
    """
    return Notes(
        tuple(f'the {part.replace("_", " ")}: {why}' for part, why in unknown.items()),
        tuple(missing(request, replace(planned, hosts=before.hosts), unknown)),
        group,
        group in (before.server_groups or ()),
        before.hosts == (),
    )


def missing(
    request: PlacementRequest, snapshot: CloudSnapshot, told: Collection[str] = ()
) -> Iterator[str]:
    """In words, the parts that matter to the request and are not in the snapshot.

    :param told: parts whose reason is told elsewhere.
    """
    keys = ', '.join(item.by for item in request.spread if item.by != ZONE)
    of_keys = f'the domains by {keys} are not known'
    lacking = {
        'hosts': (snapshot.hosts, 'Nova shows them to administrators only'),
        'aggregates': (
            snapshot.aggregates if request.member_of or keys else (),
            'the names in member_of can not be looked up' if request.member_of else of_keys,
        ),
        'flavors': (snapshot.flavors, f'nobody checked that there is {request.flavor!r}'),
        'server_groups': (
            snapshot.server_groups if request.server_group is not None else (),
            f'nobody checked that there is {request.server_group!r}',
        ),
        'quotas': (snapshot.quotas, 'no server is refused for them'),
    }
    for part, (value, why) in lacking.items():
        if value is None and part not in told:
            yield f'{part.replace("_", " ")}: not in the snapshot ({why})'


def misspelt(names: Iterable[str], modelled: Collection[str]) -> Iterator[tuple[str, str]]:
    """Names of filters that nobody knows and that are nearly those of a known one, each with it.

    :param modelled: the filters that the loaded constraints name.
    """
    known = {name.lower(): name for name in sorted({*KNOWN, *modelled})}
    for name in names:
        near = typo_of(name.lower(), known)
        if near and name not in known.values():
            yield name, known[near]
