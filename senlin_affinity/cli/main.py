"""Run the command ``senlin-affinity`` and return its exit status.

A command's module is imported when the command runs, and openstacksdk when the first request is
sent, so that ``--help`` is fast.

Raises: nothing. Every error is one line on stderr, with the traceback under ``--debug``.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import itertools
import logging
import os
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from typing import Any

from cliff import app, commandmanager, display

from senlin_affinity.cli import base, commands
from senlin_affinity.model import errors
from senlin_affinity.model.terminal_text import escaped, escaped_lines

DISTRIBUTION = 'senlin-affinity'
USAGE = 2
NO = 3
INTERRUPTED = 130
BROKEN_PIPE = 141
#: The level of --quiet, below the default.
_QUIET = -1
#: Loggers that warn about errors which this command reports itself.
_CHATTY = ('keystoneauth', 'openstack', 'stevedore')

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class Commands(commandmanager.CommandManager):
    """The commands by entry point, imported when they run.

    Those of other packages are loaded if a name is unknown, or to list all commands, because this
    reads the files of every installed package.
    """

    def load_commands(self, namespace: str) -> None:
        """Read this distribution's commands of an entry-point group."""
        self.group_list.append(namespace)
        self._learn(metadata.distribution(DISTRIBUTION).entry_points.select(group=namespace))

    def _learn(self, entry_points: Iterable[metadata.EntryPoint]) -> None:
        for entry_point in entry_points:
            self.commands[entry_point.name.replace('_', ' ')] = entry_point

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Iterate over all commands with their entry points."""
        for namespace in self.group_list:
            self._learn(metadata.entry_points(group=namespace))
        return iter(self.commands.items())

    def find_command(self, argv: list[str]) -> Any:
        """Find and import a command; raise PluginError if the import fails."""
        if not any(' '.join(argv[:number]) in self.commands for number in range(1, 4)):
            iter(self)
        try:
            return super().find_command(argv)
        except (ImportError, AttributeError) as error:
            message = f'the command {" ".join(argv[:2])} cannot be loaded: {error}'
            raise errors.PluginError(message) from error


class _Formatter(logging.Formatter):
    """A formatter that escapes terminal control characters and keeps the lines of a traceback."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return escaped(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        return escaped_lines(super().formatException(ei))


class SenlinAffinity(app.App):
    """The application: global options, logging and exit statuses."""

    NAME = 'senlin-affinity'
    DEFAULT_VERBOSE_LEVEL = 0

    def __init__(self, **streams: Any) -> None:
        # cliff's --version prints the name of the base class.
        app.App.NAME = self.NAME
        super().__init__(
            description='Decides which hosts new servers can use, and explains the decision.',
            version=metadata.version(DISTRIBUTION),
            command_manager=Commands('senlin_affinity.cli'),
            deferred_help=True,
            **streams,
        )

    def build_option_parser(self, *args: Any, **kwargs: Any) -> Any:
        """Add the option that names the cloud to cliff's global options."""
        kwargs['argparse_kwargs'] = {'prog': self.NAME} | (kwargs.get('argparse_kwargs') or {})
        parser = super().build_option_parser(*args, **kwargs)
        parser.add_argument(
            '--os-cloud',
            metavar='<cloud>',
            default=os.environ.get('OS_CLOUD') or None,  # '' as openstack does
            help='the name of a cloud in clouds.yaml (default: the variable OS_CLOUD)',
        )
        # cliff gives --quiet the level of our default.
        quiet = parser._option_string_actions['--quiet']
        quiet.const, quiet.help = _QUIET, 'print no answer: the exit status is the answer'
        return base.strict(parser)

    def print_help_if_requested(self) -> None:
        """Print the list of commands without importing them."""
        if self.options.deferred_help:
            raise SystemExit(self._help())

    def _help(self, first: str | None = None) -> int:
        try:
            commands.show(self, first)
        except BrokenPipeError:
            raise
        except OSError as error:
            return self._failed(base.unwritten(error))
        return 0

    def configure_logging(self) -> None:
        """Log to stderr: warnings; with -v actions; with -vv or --debug everything."""
        if self.options.debug:
            self.options.verbose_level = max(2, self.options.verbose_level)
        self.CONSOLE_MESSAGE_FORMAT = '%(levelname)s %(name)s: %(message)s'
        try:
            super().configure_logging()
        except OSError as error:
            path = self.options.log_file
            self.parser.error(f'argument --log-file: {path} cannot be written: {error.strerror}')
        if self.options.verbose_level < 1:
            for name in _CHATTY:
                logging.getLogger(name).setLevel(logging.ERROR)
        number = min(2, max(0, self.options.verbose_level))
        level = (logging.WARNING, logging.INFO, logging.DEBUG)[number]
        for handler in logging.getLogger().handlers:
            if isinstance(handler, logging.FileHandler):
                handler.setFormatter(_Formatter(self.LOG_FILE_MESSAGE_FORMAT))
            else:
                handler.setFormatter(_Formatter(self.CONSOLE_MESSAGE_FORMAT))
                handler.setLevel(level)

    def interact(self) -> None:
        """Report a usage error: cliff's interactive mode is disabled."""
        self.stderr.write(f'{self.NAME}: specify a command; --help lists the commands\n')
        raise SystemExit(USAGE)

    def run_subcommand(self, argv: list[str]) -> int:
        """Run one command, and report the errors that it does not handle."""
        is_help = argv[0] == 'help'
        words = [*itertools.takewhile(lambda word: word[:1] != '-', argv[is_help:])]
        if argv == ['help']:
            return self._help()
        if not words:
            self.parser.error(f'unrecognized arguments: {argv[is_help]}')
        try:
            self.command_manager.find_command(argv[is_help:])
        except ValueError:
            return self._unknown(words, is_help=is_help)
        except errors.PluginError as error:
            return self._failed(error)
        # cliff turns "plan --count 3 --help" into "help plan --count 3".
        return super().run_subcommand(['help', *words] if is_help else argv)

    def _unknown(self, words: list[str], *, is_help: bool) -> int:
        near = commands.near(self, words)
        if is_help and len(words) == 1 and any(name.startswith(f'{words[0]} ') for name in near):
            return self._help(words[0])
        hint = f'; did you mean: {", ".join(near)}?' if near else '; --help lists them'
        self.stderr.write(f'{self.NAME}: there is no command {escaped(" ".join(words))}{hint}\n')
        return USAGE

    def prepare_to_run_command(self, cmd: Any) -> None:
        """Wrap the command so that this application, not cliff's logger, handles its exceptions."""
        gc.freeze()
        gc.enable()
        run = cmd.run
        if self.options.verbose_level == _QUIET and isinstance(cmd, display.DisplayCommandBase):
            cmd.produce_output = lambda *_answer: 0

        def run_and_answer(parsed_args: Any) -> int:
            try:
                return run(parsed_args)  # type: ignore[no-any-return]
            except BrokenPipeError:
                raise
            except OSError as error:
                is_full = error.errno in _FULL and error.filename is None
                return self._failed(base.unwritten(error) if is_full else error)
            except Exception as error:
                return self._failed(error, getattr(cmd, 'invalid_spec_status', USAGE))

        cmd.run = run_and_answer

    def _failed(self, error: Exception, invalid_spec_status: int = USAGE) -> int:
        if self.options.debug:
            self.stderr.write(escaped_lines(''.join(traceback.format_exception(error))))
        self.stderr.write(f'{base.one_line(error)}\n')
        return base.status_of(error, invalid_spec_status)


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``senlin-affinity`` with these arguments, and return the exit status."""
    if sys.stderr is None:  # closed by the parent process
        sys.stderr = open(os.devnull, 'w')  # noqa: SIM115 - open until the process ends
    if sys.stdout is None:
        sys.stderr.write('error: could not write the answer: standard output is closed\n')
        return 1
    if isinstance(sys.stdout, io.TextIOWrapper):  # as Python does for stderr
        sys.stdout.reconfigure(errors='backslashreplace')
    os.environ.setdefault('CLIFF_FIT_WIDTH', '1')  # fit tables to the width of the terminal
    try:
        status: int = SenlinAffinity().run(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:
        status = INTERRUPTED
    except SystemExit as ended:
        status = int(ended.code or 0)
    except OSError:  # stderr cannot be written
        status = 1
    if status == INTERRUPTED:  # cliff returns this status, too
        with contextlib.suppress(OSError):
            sys.stderr.write('error: interrupted\n')
    return _flushed(status)


def _flushed(status: int) -> int:
    """Write buffered output and return the status."""
    try:
        sys.stderr.flush()
    except OSError:
        _discard(sys.stderr)
    if sys.stdout.closed:  # by the pager, if its reader exits
        return BROKEN_PIPE
    try:
        sys.stdout.flush()
    except OSError as error:
        _discard(sys.stdout)
        if isinstance(error, BrokenPipeError):
            return BROKEN_PIPE
        if status in (0, NO):  # other statuses already reported an error
            sys.stderr.write(f'{base.one_line(base.unwritten(error))}\n')
        return 1
    return status


def _discard(stream: Any) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == '__main__':
    sys.exit(main())
