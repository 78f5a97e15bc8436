"""Where ``senlin-affinity`` begins: it is quiet about Ctrl-C while the rest is being loaded."""

from __future__ import annotations

#: As in the module that is not loaded yet.
_INTERRUPTED = 130


def main() -> int:
    """Run the command, and return its exit status."""
    try:
        from senlin_affinity.cli import main as command

        return command.main()
    except KeyboardInterrupt:
        return _INTERRUPTED
