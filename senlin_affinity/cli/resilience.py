"""Show with ``resilience`` which hosts, racks or zones can be lost, and what the others lack.

Example::

    +--------+-------+---------+----------+------+---------------------------------+
    | domain | hosts | servers | verdict  | left | missing                         |
    +--------+-------+---------+----------+------+---------------------------------+
    | r1     |     2 |      12 | cannot   |    3 | at least 12 GiB of memory in    |
    |        |       |         |          |      | az-1; 1 more host like cmp-3    |
    | r2     |     2 |       9 | any_host |    0 |                                 |
    +--------+-------+---------+----------+------+---------------------------------+

Exit statuses are 0 (each domain can be lost), 3 (one cannot), 4 (no order was found, or it is not
certain), 1 (unknown), 2 (usage).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from senlin_affinity import api
from senlin_affinity.cli import base, given, progress, request_options, view_notes
from senlin_affinity.engine.resilience import Loss
from senlin_affinity.engine.resilience_report import OUTCOMES
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.numbers import listed

_STATUS = {True: 0, False: 3, None: 4}
_COLUMNS = ('domain', 'hosts', 'servers', 'verdict', 'left', 'missing', 'why')
_MOST_NAMED = 3


class Resilience(base.Lister):
    """Show which hosts, racks or zones can be lost with every server evacuated elsewhere."""

    example = '--by rack'
    long_only = ('first', 'left_servers', 'caveats')
    nothing = 'no host is in such a domain'

    _found: api.Resilience
    _view: Cloud

    def _add_arguments(self, add: base.Add) -> None:
        add(
            '--by',
            metavar='KEY',
            default='host',
            help='what is lost together: "host" (the default), "zone", "aggregate", or the hosts '
            'with the same value of a metadata key of aggregates, such as "rack"',
        )
        request_options.add_settings(add)
        base.add_snapshot(add, 'decide on a file of "snapshot save --servers" instead of a cloud')
        add(
            '--long',
            action='store_true',
            help='add to the table the servers that must be evacuated first, those that are left, '
            'and the caveats (other formats always include them)',
        )
        base.add_limits(add)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Return a row for each domain."""
        constraints, question, _files = request_options.read_settings(parsed_args)
        view = self._view = self._fetched(parsed_args, question)
        by_host = view.servers_by_host
        if any(name not in by_host for name in view.hosts_by_name):
            raise CloudError(
                'the servers of all hosts are not in the snapshot: save it with "snapshot save '
                '--servers"'
            )
        with progress.shown('Evacuating', self.app.stderr):
            found = self._found = api.resilience(
                view, parsed_args.by, question=question, constraints=constraints
            )
        self.exit_status = _STATUS[found.fits]
        return (*_COLUMNS, *self.long_only), [*map(_row, found.losses)]

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Any, data: Any) -> Any:
        """Print the rows; below a table, the sum, what the verdicts mean, and the assumptions."""
        status = super().produce_output(parsed_args, column_names, data)
        if parsed_args.formatter == 'table':
            self.print_texts(self._notes(is_long=parsed_args.long))
        return status

    def _fetched(self, parsed_args: argparse.Namespace, question: api.Question) -> Cloud:
        if parsed_args.snapshot is not None:
            return given.view(parsed_args.snapshot, self.app.stdin, parsed_args.max_file_size)
        connection = self.cloud_in_place_of_file(parsed_args.timeout)
        with progress.shown('Reading the cloud', self.app.stderr):
            return api.fetch(connection, question, servers_on=['*'])

    def _notes(self, *, is_long: bool) -> Iterator[str]:
        """Yield the sum, what each verdict means, the caveats, and what is assumed."""
        found = self._found
        if found.losses:
            yield found.line()
        counts = found.counts()
        for code, words in OUTCOMES.items():
            if counts[code]:
                yield f'{code}: {words}'
        for text in dict.fromkeys(text for each in found.losses for text in each.caveats):
            yield f'at most, because of {text}'
        if found.assumptions:
            yield f'assuming {", ".join(each.text for each in found.assumptions)}'
        for words in view_notes.unavailable(self._view, is_long=is_long):
            yield f'not known: {words}'


def _row(loss: Loss) -> tuple[Any, ...]:
    """Return the cells of a domain."""
    values = loss.as_dict()
    left = [*(each.server for each in loss.plan.stuck), *loss.plan.not_found]
    left_values = [{'server': each.id, 'name': each.name, 'host': each.host} for each in left]
    evacuated = [f'{each.server.name} to {each.target}' for each in loss.first]
    return (
        loss.name or '(unknown)',
        len(loss.hosts),
        loss.servers,
        loss.verdict,
        loss.left,
        base.Cell(values['missing'], loss.lacks()),
        loss.why(),
        base.Cell(values['moves'], listed(evacuated, _MOST_NAMED)),
        base.Cell(left_values, listed([each.name for each in left], _MOST_NAMED)),
        base.Cell(values['caveats'], '; '.join(loss.caveats)),
    )
