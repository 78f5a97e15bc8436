"""``sandbox demo``: the main job on the real services, told and checked.

Units: exit statuses are 0 (every check passed), 3 (one did not), 1 (it could not be run).
"""

from __future__ import annotations

import argparse

from senlin_affinity.cli import base


class Demo(base.Command):
    """Start the sandbox, show what the affinity policy does there, and end it again."""

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Tell the story."""
        # Imported here: openstacksdk and rich take a second to load.
        from senlin_affinity.sandbox.demo import story

        if not story.run():
            self.exit_status = 3
