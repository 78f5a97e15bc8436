"""What the rules by figures say about every host.

A rule that has ``check_hosts`` is asked about all of them at once; any other is asked about each
that differs in its ``shape``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from senlin_affinity.core.constraint import HostConstraint
from senlin_affinity.core.objects import Host, ResolvedRequest
from senlin_affinity.core.planning import blame
from senlin_affinity.core.planning.table import Columns
from senlin_affinity.core.verdict import Verdict


def ask(
    resolved: ResolvedRequest, constraints: Iterable[HostConstraint], hosts: Sequence[Host]
) -> Columns:
    """The verdicts of each rule, by its name, host by host."""
    return {item.name: _column(resolved, item, hosts) for item in constraints}


def _column(
    resolved: ResolvedRequest, constraint: HostConstraint, hosts: Sequence[Host]
) -> Sequence[Verdict]:
    if not hasattr(constraint, 'check_hosts'):
        return _one_by_one(resolved, constraint, hosts)
    with blame.blaming(constraint, 'check_hosts'):
        verdicts: Sequence[Verdict] = constraint.check_hosts(resolved, hosts)
        if len(verdicts) != len(hosts):
            raise ValueError(f'the answer has {len(verdicts)} verdicts for {len(hosts)} hosts')
        for verdict in dict(zip(map(id, verdicts), verdicts, strict=True)).values():
            blame.answered(verdict)
        return verdicts


def _one_by_one(
    resolved: ResolvedRequest, constraint: HostConstraint, hosts: Sequence[Host]
) -> list[Verdict]:
    known: dict[Hashable, Verdict] = {}
    verdicts = []
    for host in hosts:
        method = 'shape'
        try:
            shape = constraint.shape(resolved, host)
            verdict = known.get(shape)
            if verdict is None:
                method = 'check_host'
                verdict = known[shape] = blame.answered(constraint.check_host(resolved, host))
        except Exception as error:
            raise blame.blamed(constraint, method, error, f'host {host.host}') from error
        verdicts.append(verdict)
    return verdicts
