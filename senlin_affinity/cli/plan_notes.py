"""What is told beside a decision: what the look lacks, and what a remedy does not say."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from senlin_affinity import api
from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.planning.scheduler_filters import KNOWN
from senlin_affinity.core.spread import ZONE
from senlin_affinity.core.suggestion import typo_of

_NEW_GROUP_NEEDED = (
    'Nova changes no rule of a group that is there: it takes a new group, which counts only its '
    'own servers. With Senlin: another policy, or another cluster.'
)


@dataclass(frozen=True)
class Answer:
    """A decision, the question as it was looked up, and what was seen.

    ``options`` are those that count, by the file that has them.
    """

    decision: api.Decision
    resolved: ResolvedRequest
    look: api.Look
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def note_of_remedies(self) -> str:
        """What to know of the remedies that are shown; '' for nothing."""
        is_told = any('server_group' in remedy.data for remedy in self.decision.remedies)
        # Not one that an attach would create.
        is_there = self.resolved.server_group in (self.look.snapshot.server_groups or ())
        return _NEW_GROUP_NEEDED if is_told and is_there else ''


def missing(resolved: ResolvedRequest, look: api.Look) -> Iterator[str]:
    """In words, the parts that matter and are not in the snapshot, nobody says why."""
    request, snapshot = resolved.request, resolved.snapshot
    keys = ', '.join(item.by for item in request.spread if item.by != ZONE)
    of_keys = f'the domains by {keys} are not known'
    lacking = {
        'hosts': (look.snapshot.hosts, 'Nova shows them to administrators only'),
        'aggregates': (
            snapshot.aggregates if request.member_of or keys else (),
            'the names in member_of cannot be looked up' if request.member_of else of_keys,
        ),
        'flavors': (snapshot.flavors, f'nobody checked that there is {request.flavor!r}'),
        'server_groups': (
            snapshot.server_groups if request.server_group is not None else (),
            f'nobody checked that there is {request.server_group!r}',
        ),
        'quotas': (snapshot.quotas, 'no server is refused for them'),
    }
    for part, (value, why) in lacking.items():
        if value is None and part not in look.unknown:
            yield f'{part.replace("_", " ")}: not in the snapshot ({why})'


def misspelt(names: Iterable[str], modelled: Collection[str]) -> Iterator[tuple[str, str]]:
    """Unknown filters whose names are nearly a known or modelled one's, each with that name."""
    known = {name.lower(): name for name in sorted({*KNOWN, *modelled})}
    for name in names:
        near = typo_of(name.lower(), known)
        if near and name not in known.values():
            yield name, known[near]
