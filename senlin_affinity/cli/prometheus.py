"""Print the rows of ``status`` and the numbers of ``capacity`` for a textfile collector.

Example::

    # HELP senlin_affinity_findings Number of findings of each check.
    # TYPE senlin_affinity_findings gauge
    senlin_affinity_findings{check="engines"} 2

A check that failed has the value NaN; a check that does not apply is left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from cliff.formatters.base import ListFormatter

from senlin_affinity.cli import metrics

#: The name of the format.
NAME = 'prometheus'
_VALUES = {'ok': 0, 'finding': 1, 'unknown': float('nan')}


class PrometheusFormatter(ListFormatter):
    """The formatter of ``-f prometheus``."""

    def add_argument_group(self, parser: argparse.ArgumentParser) -> None:
        """Add the option for the output file."""
        group = parser.add_argument_group('prometheus formatter')
        group.add_argument(
            '--output', metavar='FILE', help='write the metrics to this file (default: stdout)'
        )

    def emit_list(
        self,
        column_names: Sequence[str],
        data: Iterable[Sequence[Any]],
        stdout: TextIO,
        parsed_args: argparse.Namespace,
    ) -> None:
        """Print one gauge for each check."""
        write([metrics.of_findings(counts(data))], stdout, parsed_args.output)


def counts(rows: Iterable[Sequence[Any]]) -> Mapping[str, float]:
    """Return the number of findings of each check in the rows of ``status``; NaN if it failed."""
    found: dict[str, float] = {}
    for check, state, *_rest in rows:
        if state in _VALUES:
            found[check] = found.get(check, 0) + _VALUES[state]
    return found


def write(families: Iterable[metrics.Family], stdout: TextIO, path: str | None) -> None:
    """Write the metrics to stdout, or replace a file."""
    content = metrics.text(families)
    if path is None:
        stdout.write(content)
    else:
        metrics.replace_file(path, content)
