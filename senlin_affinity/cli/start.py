"""Where ``senlin-affinity`` begins: it is quiet about Ctrl-C while the rest is being loaded.

What is loaded is no garbage. Nobody looks for any until a command runs, which saves a tenth of the
time of a short one.
"""

from __future__ import annotations

import gc


def main() -> int:
    """Run the command, and return its exit status."""
    gc.disable()
    try:
        from senlin_affinity.cli import main as command

        return command.main()
    except KeyboardInterrupt:
        return 130  # as INTERRUPTED of the module that is not loaded yet
