"""``sandbox up``, ``down`` and ``demo``: a real Nova, Placement and Senlin on this machine.

Units: exit statuses are 0 (done; also "down" when nothing was running), 1 (could not), 2 (usage), 3
(a check of the demo did not pass).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from senlin_affinity.cli import base
from senlin_affinity.core.errors import CloudError


class Up(base.Command):
    """Start a sandbox and leave it running; "sandbox down" ends it."""

    def _add_arguments(self, add: base.Add) -> None:
        add(
            '--cloud',
            metavar='<file>',
            type=Path,
            help='hosts, aggregates, flavors and quotas, in YAML (default: two hosts)',
        )
        add(
            '--senlin',
            action=argparse.BooleanOptionalAction,
            default=True,
            help='whether there is a Senlin beside Nova and Placement (default: there is)',
        )
        add(
            '--foreground',
            action='store_true',
            help='stay until Ctrl-C, instead of running in the background',
        )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Start it, and say how to use it."""
        # Imported here: it brings openstacksdk, which takes its time.
        from senlin_affinity.sandbox import supervisor

        given = (parsed_args.cloud, parsed_args.senlin, self._progress)
        if parsed_args.foreground:
            supervisor.hold(*given, self._say_how_to_use)
            self.app.stdout.write('the sandbox is gone\n')
        else:
            supervisor.start(*given)
            self._say_how_to_use()

    def _progress(self, stage: str) -> None:
        self.app.stderr.write(f'{stage}\n')
        self.app.stderr.flush()

    def _say_how_to_use(self) -> None:
        from senlin_affinity.sandbox import session

        running = session.read()
        if running is None:
            return
        self.app.stdout.write(
            f'the sandbox runs at {running.base_url}; use it with\n'
            f'    export OS_CLIENT_CONFIG_FILE={running.clouds_yaml} OS_CLOUD=sandbox\n'
            '(OS_CLOUD=sandbox-demo is a plain member), and end it with "sandbox down".\n'
            f'Its logs are in {running.directory}.\n'
        )
        self.app.stdout.flush()


class Down(base.Command):
    """End the sandbox of "sandbox up", and see that nothing of it is left."""

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """End it by its process id."""
        from senlin_affinity.sandbox import session

        running = session.read()
        if running is None:
            if session.is_held():
                raise CloudError('the sandbox is still starting: end "sandbox up" with Ctrl-C')
            session.forget()
            self.app.stdout.write('no sandbox is running\n')
            return
        session.end(running)
        self.app.stdout.write('the sandbox is gone\n')


class Demo(base.Command):
    """Start the sandbox, show what the affinity policy does there, and end it again."""

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Tell the story."""
        from senlin_affinity.sandbox.demo import story

        if not story.run():
            self.exit_status = 3
