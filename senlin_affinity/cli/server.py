"""Explain with ``server explain`` why a server failed, and whether the same request would fit now.

Of a server that ran, the last action for which Nova chose a host is explained, if it failed.

Options give the parts of the request that Nova does not return, named as in ``openstack server
create``. Exit statuses are those of ``plan``, about the same request today; 4 also if the request
would probably fail again, 2 also for a server that did not fail.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from senlin_affinity import api
from senlin_affinity.answers.explanation import Explanation
from senlin_affinity.answers.repetition import explain
from senlin_affinity.cli import base, request_options, view_notes
from senlin_affinity.cli.view import show_explanation
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.preflight.failed_server import FailedServer, question_of


class ExplainServer(base.ShowOne):
    """Explain why a server or its last action failed, and whether it would work now."""

    example = 'web-4'

    _explained: Explanation
    _view: Cloud
    _options: Mapping[str, Sequence[str]]

    def _add_arguments(self, add: base.Add) -> None:
        add(
            'server',
            metavar='SERVER',
            help='the server that failed, or whose last action failed, by name or id',
        )
        add(
            '--max',
            metavar='N',
            type=request_options.count,
            default=0,
            help='the number of servers that were requested together (default: the number that '
            'Nova shows; one for non-admins)',
        )
        add('--flavor', metavar='F', help='the name or id of the flavor, of a resize the new one')
        add(
            '--image',
            metavar='I',
            help='the name or id of the image, or "none"; of a rebuild the new one',
        )
        request_options.add_image_properties(add)
        add('--availability-zone', metavar='Z', help='the requested zone, or zone:host')
        add('--host', metavar='HOST', help='the requested host')
        add('--server-group', metavar='G', help='the name or id of the server group')
        request_options.add_hint(add)
        self._add_common(add)

    def _add_common(self, add: base.Add) -> None:
        add('--long', action='store_true', help='list all hosts, with their reason codes')
        request_options.add_settings(add)
        request_options.add_outcome(add)
        base.add_timeout(add)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Fetch the server and the cloud, and explain the failure."""
        self.check_has_cloud()
        constraints, settings, self._options = request_options.read_settings(parsed_args)
        connection = self.connection(parsed_args.timeout)
        failed, given = self._find(api.clients_of(connection), settings, parsed_args)
        question = question_of(failed, given)
        host = getattr(parsed_args, 'host', None) or failed.host
        self._view = api.fetch(connection, question)
        explained = explain(failed, question, self._view, constraints, host)
        view = api.with_leftovers(connection, self._view, explained.decision)
        if view is not self._view:
            self._view = view
            explained = explain(failed, question, view, constraints, host)
        self._explained = explained
        self.exit_status = request_options.status(
            explained.decision, parsed_args, is_doubtful=explained.would_fail_again
        )
        answer = explained.as_dict(skipped=not parsed_args.no_skipped)
        return tuple(answer), tuple(answer.values())

    def _find(
        self, clients: Any, settings: api.Question, parsed_args: argparse.Namespace
    ) -> tuple[FailedServer, api.Question]:
        """Fetch the server; return it with the parts of its request that options specify."""
        from senlin_affinity.cloud import failed_servers

        failed = failed_servers.find(clients, parsed_args.server)
        values = {f'--{key.replace("_", "-")}': value for key, value in vars(parsed_args).items()}
        unset = {key: each for key, each in failed.hidden.items() if not values[key]}
        given = request_options.question(parsed_args, settings)
        given = dataclasses.replace(given, count=parsed_args.max)
        return dataclasses.replace(failed, hidden=unset), given

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Any, data: Any) -> Any:
        """Print sentences, or one of cliff's other formats."""
        if parsed_args.formatter != 'table' or parsed_args.columns:
            request_options.log_files(self._options)
            return super().produce_output(parsed_args, column_names, data)
        answer = view_notes.of_explanation(self._explained, self._view, self._options)
        show_explanation(self._explained, answer, self.app.stdout, is_long=parsed_args.long)
        return 0
