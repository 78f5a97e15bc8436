"""List the loaded constraints, and show their reason codes.

The order is that of the reasons in a decision. Only a code with advice rejects.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from senlin_affinity.cli import base
from senlin_affinity.conf.constraint_plugins import load_constraints
from senlin_affinity.constraints.base import Constraint, Option
from senlin_affinity.model import suggestion
from senlin_affinity.scenario.constraint import is_of_domains, is_of_hosts, is_of_requests

COLUMNS = ('name', 'order', 'level', 'rule', 'needs', 'filter', 'options')
_LEVELS = {'host': is_of_hosts, 'domain': is_of_domains, 'request': is_of_requests}
_OURS = 'senlin_affinity.constraints.'


class ListConstraints(base.Lister):
    """List the loaded constraints, and the data that each of them needs."""

    example = '--long'
    long_only = ('order', 'needs', 'filter', 'options')

    def _add_arguments(self, add: base.Add) -> None:
        add(
            '--long',
            action='store_true',
            help='add to the table what each constraint needs, the filters that enforce it, and '
            'its options (other formats always include them)',
        )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Return a row for each constraint."""
        return COLUMNS, [_row(constraint) for constraint in load_constraints()]


class ShowConstraint(base.ShowOne):
    """Show one constraint: what it needs, which filters enforce it, and its reason codes."""

    example = 'server_group'

    def _add_arguments(self, add: base.Add) -> None:
        add('name', metavar='NAME', help='a name of "constraint list"')

    def take_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Return the fields of one constraint."""
        known = {constraint.name: constraint for constraint in load_constraints()}
        constraint = known.get(parsed_args.name)
        if constraint is None:
            hint = suggestion.meant(parsed_args.name, known)
            raise base.UsageError(f'there is no constraint {parsed_args.name!r}: {hint}')
        is_ours = type(constraint).__module__.startswith(_OURS)
        page = f'reference/constraints/{constraint.name}' if is_ours else ''
        *row, _names = _row(constraint)
        shown = (*row, _in_full(constraint.options), _codes(constraint), page)
        return (*COLUMNS, 'codes', 'page'), shown


def _row(constraint: Constraint) -> tuple[Any, ...]:
    names = [option.dest for option in constraint.options]
    return (
        constraint.name,
        constraint.order,
        ' and '.join(level for level, applies in _LEVELS.items() if applies(constraint)),
        constraint.summary,
        ', '.join(constraint.needs),
        ' or '.join(constraint.filters) or '(always)',
        base.Cell(', '.join(names), '\n'.join(names)),
    )


def _in_full(options: Iterable[Option]) -> base.Cell:
    """Return the options as objects, and as lines of a configuration file for human readers."""
    found, lines = [], []
    for item in options:
        default = list(item.default) if isinstance(item.default, tuple) else item.default
        shown = {'name': item.dest, 'group': item.group, 'default': default, 'help': item.help}
        found.append(shown)
        lines.append(f'[{item.group}] {item.dest} = {_in_a_file(default)}\n  {item.help}')
    return base.Cell(found, '\n'.join(lines))


def _in_a_file(default: Any) -> str:
    if isinstance(default, list):
        return ','.join(default) or '(empty)'
    return '(none)' if default is None else str(default)


def _codes(constraint: Constraint) -> base.Cell:
    """Return the codes as objects, and with their sentences and advice for human readers."""
    lines, found = [], []
    for code, reason in constraint.reasons.items():
        sentence, advice = reason.sentence, reason.advice
        lines += [code, f'  {sentence}', *([f'  -> {advice}'] if advice else [])]
        shown = {'is_refusal': bool(advice), 'sentence': sentence, 'advice': advice}
        found.append({'code': code, **shown})
    return base.Cell(found, '\n'.join(lines))
