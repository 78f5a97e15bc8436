"""Explain the last failed action of a cluster or node of Senlin.

A rejection of the policy is decided again for the same number of nodes. If the server of a node
failed in Nova, it is explained as by ``server explain``.

Exit statuses are those of ``server explain``; 2 also for an action that did not fail.
"""

from __future__ import annotations

import argparse
from typing import Any, ClassVar

from senlin_affinity import api
from senlin_affinity.cli import base, server
from senlin_affinity.preflight.failed_server import FailedServer


class ExplainCluster(server.ExplainServer):
    """Explain why the last action of a Senlin cluster failed, and whether it would succeed now."""

    example = 'web'
    kind: ClassVar[str] = 'cluster'

    def _add_arguments(self, add: base.Add) -> None:
        add('named', metavar=self.kind.upper(), help=f'the {self.kind}, by name or id')
        self._add_common(add)

    def _find(
        self, clients: Any, settings: api.Question, parsed_args: argparse.Namespace
    ) -> tuple[FailedServer, api.Question]:
        from senlin_affinity.cloud import connection, failed_actions

        senlin = connection.clustering(clients.owner)
        return failed_actions.find(senlin, clients, self.kind, parsed_args.named, settings)


class ExplainNode(ExplainCluster):
    """Explain why the last action of a Senlin node failed, and whether it would succeed now."""

    example = 'web-1'
    kind = 'node'
