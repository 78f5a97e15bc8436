"""What a rule says about hosts one by one, asked once for those of one shape."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from senlin_affinity.core.constraint import HostConstraint
from senlin_affinity.core.host import Host
from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.planning import blame
from senlin_affinity.core.planning.numbering import numbered
from senlin_affinity.core.verdict import Verdict


class Shapes:
    """A rule, one question, and what was answered to it so far."""

    def __init__(self, resolved: ResolvedRequest, constraint: HostConstraint) -> None:
        self._question, self._constraint = resolved, constraint
        self._known: dict[Hashable, Verdict] = {}

    def shape(self, host: Host) -> Hashable:
        """What counts for it of a host."""
        return self._constraint.shape(self._question, host)

    def ask_each(self, hosts: Sequence[Host]) -> list[Verdict]:
        """What it says about each of these hosts."""
        if not hasattr(self._constraint, 'shapes'):
            return [*map(self.ask, hosts)]
        with blame.blaming(self._constraint, 'shapes'):
            shapes = self._constraint.shapes(self._question, hosts)
            numbers, firsts = numbered(shapes)
            if len(numbers) != len(hosts):
                raise ValueError(f'the answer has {len(numbers)} shapes for {len(hosts)} hosts')
        verdicts = [self.ask(hosts[first]) for first in firsts]
        return [*map(verdicts.__getitem__, numbers)]

    def ask(self, host: Host) -> Verdict:
        """What it says about a host."""
        method = 'shape'
        try:
            shape = self._constraint.shape(self._question, host)
            verdict = self._known.get(shape)
            if verdict is None:
                method = 'check_host'
                verdict = blame.answered(self._constraint.check_host(self._question, host))
                self._known[shape] = verdict
        except Exception as error:
            raise blame.blamed(self._constraint, method, error, f'host {host.host}') from error
        return verdict
