"""Where ``senlin-affinity`` begins: it is quiet about Ctrl-C while the rest is being loaded."""

from __future__ import annotations


def main() -> int:
    """Run the command, and return its exit status."""
    try:
        from senlin_affinity.cli import main as command

        return command.main()
    except KeyboardInterrupt:
        return 130  # as INTERRUPTED of the module that is not loaded yet
