"""Provide the base classes of all commands: exit statuses, errors and the connection.

Exit statuses are 0 (success), 1 (unknown), 2 (usage), 3 (failure), 4 (success by an upper bound
only), 130 (interrupted).

Raises: nothing for an AffinityError or a parser's error; each becomes one line on stderr, and an
InvalidSpec one line for each mistake. The application handles other exceptions.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from typing import Any, ClassVar, NoReturn

from cliff import command, lister, show

from senlin_affinity.cli import wrapping
from senlin_affinity.cli.wrapping import Cell as Cell
from senlin_affinity.model import errors, suggestion, terminal_text

Add = Callable[..., Any]
#: The names of columns, and a row, or rows.
Shown = tuple[tuple[str, ...], Any]
#: A day, in seconds.
_LONGEST_TIMEOUT = 86_400
#: A tebibyte, in MiB.
_LARGEST = 1 << 20
_TABLE = 'table'


class UsageError(errors.AffinityError):
    """An error of options that contradict each other or name something that does not exist."""


class Command(command.Command):
    """A command that prints its own output and returns the exit statuses of this project."""

    example: ClassVar[str | None] = None
    """The arguments that ``--help`` shows; None for commands of other packages."""

    auth_required = False
    """Whether ``openstack`` logs in before the command runs."""

    invalid_spec_status: ClassVar[int] = 2
    """The exit status of an InvalidSpec: a usage error (2), or the answer "invalid" (3)."""

    _connection: Any = None

    exit_status: int = 0
    """Set by ``take_action`` unless the answer is positive and unconditional."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Create the strict parser of the command."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)

        def add(*names: str, **settings: Any) -> None:
            if settings.get('action', 'append') == 'append':
                settings.setdefault('type', _not_empty)
            parser.add_argument(*names, **settings)

        self._add_arguments(add)
        if self.example is not None:
            parser.add_argument_group('example', f'{parser.prog} {self.example}'.rstrip())
        return strict(parser)

    def get_epilog(self) -> str:
        """Return '' for a command of the application, or the note of another package.

        cliff would read the files of every installed package for it.
        """
        own, others = (type(each).__module__.partition('.')[0] for each in (self, self.app))
        return '' if own == others else super().get_epilog()

    def _add_arguments(self, add: Add) -> None:
        """Add the options with argparse's ``add_argument``; without a type, '' is an error."""

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Run the command and return its exit status."""
        try:
            self._largest = getattr(parsed_args, 'max_answer_size', None)
            with contextlib.ExitStack() as self._open:
                status: int = super().run(parsed_args)
        except errors.AffinityError as error:
            if getattr(self.app_args, 'debug', False):
                raise
            found = error.mistakes if isinstance(error, errors.InvalidSpec) else (error,)
            self.app.stderr.write(''.join(f'{one_line(each)}\n' for each in found))
            return status_of(error, self.invalid_spec_status)
        return status or self.exit_status

    def has_cloud(self) -> bool:
        """Check whether an option or the environment names a cloud."""
        options = ('os_cloud', 'cloud', 'auth_url')
        return any(getattr(self.app_args, option, None) for option in options) or any(
            os.environ.get(name) for name in ('OS_CLOUD', 'OS_AUTH_URL')
        )

    def check_has_cloud(self) -> None:
        """Raise UsageError if nothing names a cloud."""
        if not self.has_cloud():
            raise UsageError('name a cloud: --os-cloud, or OS_CLOUD')

    def cloud_in_place_of_file(self, timeout: float | None) -> Any:
        """Return the connection of a command without ``--snapshot``."""
        if not self.has_cloud():
            raise UsageError('name a cloud with --os-cloud, or a file with --snapshot')
        return self.connection(timeout)

    def connection(self, timeout: float | None = None) -> Any:
        """Return an ``openstack.connection.Connection``, and begin a deadline.

        Further calls return the same connection. Its requests have this timeout until the deadline
        ends.

        :param timeout: see :func:`add_timeout`.
        """
        # openstacksdk takes a second to load.
        from senlin_affinity.cloud import connection, transport

        if self._connection is None:
            client_manager = getattr(self.app, 'client_manager', None)
            if client_manager is not None:
                made = client_manager.affinity
            else:
                made = connection.connect(getattr(self.app_args, 'os_cloud', None) or None, timeout)
            if self._largest is not None:
                transport.bound(made.session, self._largest)
            self._connection = made
        session = self._connection.session
        if timeout is not None and session.timeout != timeout:  # "openstack" made the connection
            self._open.callback(setattr, session, 'timeout', session.timeout)
            session.timeout = timeout
        self._open.enter_context(transport.operation(session.timeout or transport.REQUEST_TIMEOUT))
        return self._connection

    def end_operation(self) -> None:
        """End the current deadline; the next :meth:`connection` begins another one."""
        self._open.close()


def cloud_name(app_args: Any) -> str:
    """Return the name of the cloud in clouds.yaml that the options name; '' if none does."""
    name = getattr(app_args, 'os_cloud', None) or getattr(app_args, 'cloud', None)
    return name if isinstance(name, str) else os.environ.get('OS_CLOUD', '')


class _Shown(Command):
    """A command that prints columns, which ``--column`` selects."""

    long_only: ClassVar[tuple[str, ...]] = ()
    """The columns that a table has only with ``--long``."""

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Any, data: Any) -> Any:
        """Print the selected columns; escape and wrap those of a table."""
        check_columns(parsed_args.columns, column_names)
        if parsed_args.formatter == _TABLE:
            if not (parsed_args.columns or getattr(parsed_args, 'long', True)):
                parsed_args.columns = [name for name in column_names if name not in self.long_only]
            width = _width(parsed_args, self.app.stdout)
            parsed_args.max_width = sys.maxsize  # the table is fitted here, not by cliff
            data = self._fitted(parsed_args, column_names, data, width)
        return super().produce_output(parsed_args, column_names, data)

    def _fitted(self, parsed_args: Any, names: Any, data: Any, width: int | None) -> Any:
        raise NotImplementedError

    def print_texts(self, texts: Iterable[str]) -> None:
        """Print each text as a paragraph, wrapped at the width of the terminal."""
        width = shutil.get_terminal_size().columns
        for text in texts:
            for line in wrapping.lines(terminal_text.signed(text), width, others='  '):
                self.app.stdout.write(f'{line}\n')


class Lister(_Shown, lister.Lister):
    """A command that prints columns and rows."""

    nothing: str = 'nothing was found'
    """What a table without rows says."""

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Any, data: Any) -> Any:
        """Print the rows, or that there are none."""
        rows = [*data]
        if rows or parsed_args.formatter != _TABLE or parsed_args.print_empty:
            return super().produce_output(parsed_args, column_names, rows)
        check_columns(parsed_args.columns, column_names)
        self.app.stdout.write(f'{self.nothing}\n')
        return 0

    def _fitted(self, parsed_args: Any, names: Any, data: Any, width: int | None) -> Any:
        chosen = {*map(_plain, parsed_args.columns or names)}
        shown = [_plain(name) in chosen for name in names]
        rows = [[*compress(row, shown)] for row in data]
        fitted = map(iter, wrapping.fitted([*compress(names, shown)], rows, width))
        return [
            [next(cells) if is_shown else value for value, is_shown in zip(row, shown, strict=True)]
            for row, cells in zip(data, fitted, strict=True)
        ]


class ShowOne(_Shown, show.ShowOne):
    """A command that prints the fields of one object."""

    def _fitted(self, parsed_args: Any, names: Any, data: Any, width: int | None) -> Any:
        field = max(map(len, ('Field', *names))) + 3
        rows = [[value] for value in data]
        left = None if width is None else width - field
        return [value for (value,) in wrapping.fitted(['Value'], rows, left)]


def add_long(add: Add) -> None:
    """Add the option for the columns with ids of a table."""
    add('--long', action='store_true', help='show the ids, too (other formats always have them)')


def add_snapshot(add: Add, purpose: str) -> None:
    """Add the option for a snapshot, which a command uses instead of a cloud."""
    add('--snapshot', metavar='FILE', help=f'{purpose} ("-": standard input)')


def add_limits(add: Add) -> None:
    """Add the maximum size of a snapshot (MiB, or None), and the options of :func:`add_timeout`."""
    add(
        '--max-file-size',
        metavar='MIB',
        type=_size,
        help='maximum size of the snapshot in MiB (default: 256)',
    )
    add_timeout(add)


def add_timeout(add: Add) -> None:
    """Add the options of commands that send requests to a cloud: seconds and MiB, or None."""
    add(
        '--timeout',
        metavar='SECONDS',
        type=seconds,
        help='maximum time without data from a service (default: api_timeout in clouds.yaml, or '
        '60); a login or a request fails after three times this value, a command after five times',
    )
    add(
        '--max-answer-size',
        metavar='MIB',
        type=_size,
        help='maximum size of one answer of a service in MiB (default: 128)',
    )


def _not_empty(text: str) -> str:
    """Return the text; raise ArgumentTypeError for '', such as an unset variable of a script."""
    if not text:
        raise argparse.ArgumentTypeError('must not be empty')
    return text


def seconds(text: str) -> float:
    """Parse a number of seconds, up to a day."""
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number <= _LONGEST_TIMEOUT:
        most = f'{_LONGEST_TIMEOUT:,}'
        raise argparse.ArgumentTypeError(f'must be a number above 0, up to {most}, not {text!r}')
    return number


def _size(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text[:9]) <= _LARGEST and text[9:] == ''):
        raise argparse.ArgumentTypeError(
            f'must be a number of MiB from 1 to {_LARGEST:,}, not {text!r}'
        )
    return int(text)


class _Once:
    """Reject an option of one value that is repeated, which argparse would replace silently."""

    _parsed: argparse.Namespace | None = None

    def __call__(self, parser: Any, namespace: argparse.Namespace, *values: Any) -> None:
        if self._parsed is namespace:
            raise argparse.ArgumentError(self, 'may be specified only once')  # type: ignore[arg-type]
        self._parsed = namespace
        super().__call__(parser, namespace, *values)  # type: ignore[misc]


class _StoreOnce(_Once, argparse._StoreAction):
    pass


class _BooleanOnce(_Once, argparse.BooleanOptionalAction):
    pass


_ONCE: Mapping[type, type] = {
    argparse._StoreAction: _StoreOnce,
    argparse.BooleanOptionalAction: _BooleanOnce,
}


def strict(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Let the parser report an error in one line, and reject a repeated option of one value."""
    for option in {*parser._option_string_actions.values()}:
        option.__class__ = _ONCE.get(type(option), type(option))

    def error(message: str) -> NoReturn:
        line = terminal_text.escaped(' '.join(message.split()))
        unknown = re.match(r'unrecognized arguments: (--[\w-]+)', line)
        near = suggestion.typo_of(unknown[1], parser._option_string_actions) if unknown else None
        advice = f'did you mean {near}?' if near else f'{parser.prog} --help shows the options'
        parser.exit(2, f'error: {line} ({advice})\n')

    def print_help(file: Any = None) -> None:
        out = file or sys.stdout
        try:
            out.write(parser.format_help())
            out.flush()
        except BrokenPipeError:
            raise
        except OSError as problem:  # argparse would ignore it
            parser.exit(1, f'{one_line(unwritten(problem))}\n')

    parser.error = error  # type: ignore[method-assign]
    parser.print_help = print_help  # type: ignore[method-assign]
    return parser


def _width(parsed_args: argparse.Namespace, stdout: Any) -> int | None:
    """Return the width of a table; None to wrap nothing, as in a pipe without COLUMNS."""
    if parsed_args.max_width > 0:
        return int(parsed_args.max_width)
    is_fitted = stdout.isatty() or (parsed_args.fit_width and os.environ.get('COLUMNS'))
    return shutil.get_terminal_size().columns if is_fitted else None


def unwritten(error: OSError) -> errors.AffinityError:
    """Return the error for output that cannot be written."""
    return errors.AffinityError(f'could not write the answer: {error.strerror}')


def check_columns(asked: Sequence[str], known: Sequence[str]) -> None:
    """Reject a ``--column`` that the command does not have."""
    names = {_plain(name) for name in known}
    unknown = [name for name in asked if _plain(name) not in names]
    if unknown:
        raise UsageError(f'unknown column: {", ".join(unknown)} (columns: {", ".join(known)})')


def _plain(column: str) -> str:
    """Convert a column name as cliff does: "Server Group" becomes server_group."""
    return column.strip().lower().replace(' ', '_')


def status_of(error: BaseException, invalid_spec_status: int = 2) -> int:
    """Return the exit status of an error."""
    if isinstance(error, UsageError):
        return 2
    if isinstance(error, errors.InvalidSpec):
        return invalid_spec_status
    return 1


def one_line(error: BaseException) -> str:
    """Format an error as one line; an unexpected error includes its type and a hint."""
    text = terminal_text.escaped(' '.join(str(error).split()))
    if isinstance(error, errors.AffinityError):
        return f'error: {text or type(error).__name__}'
    kind = type(error).__name__
    return f'unexpected error: {kind}{": " if text else ""}{text} (--debug shows the traceback)'
