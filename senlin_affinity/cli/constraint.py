"""``constraint list``: the rules that are loaded, in the order in which reasons are told."""

from __future__ import annotations

import argparse

from senlin_affinity import preflight
from senlin_affinity.cli import base
from senlin_affinity.constraints.base import HostConstraint

COLUMNS = ('name', 'level', 'rule', 'needs', 'filter')


class ListConstraints(base.Lister):
    """List the constraints that are loaded, and what each of them needs to know."""

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """One row for each."""
        return COLUMNS, [
            (
                constraint.name,
                'host' if isinstance(constraint, HostConstraint) else 'request',
                constraint.summary,
                ', '.join(constraint.needs),
                ' or '.join(constraint.filters) or '(always)',
            )
            for constraint in preflight.load_constraints()
        ]
