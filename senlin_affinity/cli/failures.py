"""List what failed in a period by its cause, with ``failures``.

The cloud is read once; then each failure is explained as ``server explain`` explains one, without
remedies. Exit statuses: 0, 1 for a cloud that does not answer, 2 for a wrong option.
"""

from __future__ import annotations

import argparse
import datetime
import re
from typing import Any

from senlin_affinity import api
from senlin_affinity.answers.failure_groups import FailureGroup, cause_of_failure, grouped
from senlin_affinity.cli import base, request_options

_UNITS = {'m': 'minutes', 'h': 'hours', 'd': 'days', 'w': 'weeks'}
_TIME = '%Y-%m-%dT%H:%M:%SZ'
_NOT_LISTED = (
    'A failed unshelve leaves no record that can be listed (ask with "server explain SERVER"), and '
    'neither does a request that nova-api rejected, such as one beyond a quota.'
)


class Failures(base.ShowOne):
    """Explain all servers in ERROR and all failed migrations of a period, by their causes."""

    example = '--since 1d'

    _groups: tuple[FailureGroup, ...]

    def _add_arguments(self, add: base.Add) -> None:
        add(
            '--since',
            metavar='TIME',
            type=_since,
            default=_since('1d'),
            help='the begin of the period: 30m, 12h, 7d or 2w before now, or a time in UTC such as '
            '2026-11-24T09:00 (default: 1d)',
        )
        add(
            '--project',
            metavar='P',
            help='only the servers of this project, by name or id (default: those of all projects; '
            'for non-admins the own one)',
        )
        request_options.add_settings(add)
        base.add_timeout(add)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Fetch the failures and the cloud, and find the causes."""
        self.check_has_cloud()
        constraints, settings, _files = request_options.read_settings(parsed_args)
        clients = api.clients_of(self.connection(parsed_args.timeout))
        from senlin_affinity.cloud import failures, projects, whole_cloud

        project = parsed_args.project
        if project is not None:
            project = projects.find(clients.owner, project)
        period = failures.listed(clients, parsed_args.since, project)
        found = []
        if period.failures:
            view = whole_cloud.fetch(clients, servers=period.hinted)
            read = failures.read(clients, period, view)
            found = [cause_of_failure(each, settings, view, constraints) for each in read]
        self._groups = grouped(found)
        answer = {
            'since': parsed_args.since,
            'number': len(period.failures),
            'not_explained': len(period.failures) - len(found),
            'groups': [each.as_dict() for each in self._groups],
            'not_listed': [_NOT_LISTED],
        }
        return tuple(answer), tuple(answer.values())

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Any, data: Any) -> Any:
        """Print a sentence for each group, or one of cliff's other formats."""
        shown = dict(zip(column_names, data, strict=True))
        sentences = [each.sentence() for each in self._groups]
        if parsed_args.formatter != 'table' or parsed_args.columns:
            if parsed_args.formatter in ('table', 'value'):
                texts = {'groups': sentences, 'not_listed': shown['not_listed']}
                shown |= {name: '\n'.join(lines) for name, lines in texts.items()}
            return super().produce_output(parsed_args, column_names, tuple(shown.values()))
        if not shown['number']:
            sentences.append(f'Nothing has failed since {parsed_args.since}.')
        if shown['not_explained']:
            sentences.append(f'{shown["not_explained"]:,} older failures are not explained.')
        self.print_texts((*sentences, *shown['not_listed']))
        return 0


def _since(text: str) -> str:
    """Parse '12h' or a time; return the time in UTC."""
    if found := re.fullmatch(r'(\d{1,4})([mhdw])', text, re.ASCII):
        now = datetime.datetime.now(datetime.timezone.utc)
        before = datetime.timedelta(**{_UNITS[found[2]]: int(found[1])})
        return (now - before).strftime(_TIME)
    try:
        at = datetime.datetime.fromisoformat(text.replace('Z', '+00:00'))
    except ValueError:
        why = f'must be such as 12h, 7d or 2026-11-24T09:00, not {text!r}'
        raise argparse.ArgumentTypeError(why) from None
    if at.tzinfo is not None:
        at = at.astimezone(datetime.timezone.utc)
    return at.strftime(_TIME)
