"""Start, stop and demonstrate a real Nova, Placement and Senlin on this machine.

Exit status 3: a check of the demo failed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from senlin_affinity.cli import base
from senlin_affinity.model.errors import CloudError


class Up(base.Command):
    """Start a sandbox and leave it running; "sandbox down" ends it."""

    example = '--cloud cloud.yaml'

    def _add_arguments(self, add: base.Add) -> None:
        add(
            '--cloud',
            metavar='<file>',
            type=Path,
            help='a YAML file with hosts, aggregates, flavors, images, quotas, filters and options '
            'of the services (default: two hosts)',
        )
        add(
            '--senlin',
            action=argparse.BooleanOptionalAction,
            default=True,
            help='run Senlin in addition to Nova and Placement (default)',
        )
        add(
            '--operator-credentials',
            action=argparse.BooleanOptionalAction,
            default=True,
            help='give the policy operator credentials, with which it lists the hosts for the '
            'clusters of tenants (default)',
        )
        add(
            '--foreground',
            action='store_true',
            help='run in the foreground until Ctrl-C, not in the background',
        )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Start the sandbox, and print how to use it."""
        from senlin_affinity.sandbox import supervisor

        file = parsed_args.cloud
        wanted = supervisor.Wanted(
            file and str(file.absolute()), parsed_args.senlin, parsed_args.operator_credentials
        )
        if parsed_args.foreground:
            supervisor.hold(wanted, self._progress, self._say_how_to_use)
            self.app.stdout.write('the sandbox is gone\n')
        else:
            supervisor.start(wanted, self._progress)
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
            '(as a non-admin user: OS_CLOUD=sandbox-demo), and end it with "sandbox down".\n'
            f'Its logs are in {running.directory}.\n'
        )
        self.app.stdout.flush()


class Down(base.Command):
    """End the sandbox that "sandbox up" started, and remove its files."""

    example = ''

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """End the sandbox by its process id."""
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
    """Start the sandbox, show what the policy and the plugins for Nova do, and end it again."""

    example = ''

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Run the steps of the demo."""
        from senlin_affinity.sandbox.demo import story

        if not story.run():
            self.exit_status = 3
