"""Print the rows of ``status`` as gauges for the textfile collector of Prometheus.

Example::

    # HELP senlin_affinity_findings Number of findings of each check.
    # TYPE senlin_affinity_findings gauge
    senlin_affinity_findings{check="engines"} 2

A check that failed has the value NaN; a check that does not apply is left out.

Source: Prometheus' text format 0.0.4, without timestamps.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from cliff.formatters.base import ListFormatter

from senlin_affinity.model.errors import AffinityError

_GAUGE = 'senlin_affinity_findings'
_HEAD = f'# HELP {_GAUGE} Number of findings of each check.\n# TYPE {_GAUGE} gauge\n'
_VALUES = {'ok': 0, 'finding': 1, 'unknown': float('nan')}


class PrometheusFormatter(ListFormatter):
    """The formatter of ``-f prometheus``."""

    def add_argument_group(self, parser: argparse.ArgumentParser) -> None:
        """Add the option for the output file."""
        group = parser.add_argument_group('prometheus formatter')
        group.add_argument(
            '--output', metavar='FILE', help='write the gauges to this file (default: stdout)'
        )

    def emit_list(
        self,
        column_names: Sequence[str],
        data: Iterable[Sequence[Any]],
        stdout: TextIO,
        parsed_args: argparse.Namespace,
    ) -> None:
        """Print one gauge for each check."""
        counts: dict[str, float] = {}
        for check, state, *_rest in data:
            if state in _VALUES:
                counts[check] = counts.get(check, 0) + _VALUES[state]
        gauges = (f'{_GAUGE}{{check="{name}"}} {value:g}\n' for name, value in counts.items())
        text = (_HEAD + ''.join(gauges)).replace(' nan', ' NaN')
        if parsed_args.output is None:
            stdout.write(text)
        else:
            _replace(parsed_args.output, text)


def _replace(path: str, text: str) -> None:
    """Write a file under a temporary name, and rename it, so that nobody reads a part of it."""
    try:
        with tempfile.NamedTemporaryFile(
            'w', dir=os.path.dirname(path) or '.', prefix='.', delete=False
        ) as file:
            file.write(text)
        os.chmod(file.name, 0o644)
        os.replace(file.name, path)
    except OSError as error:
        raise AffinityError(f'{path} cannot be written: {error.strerror}') from error
