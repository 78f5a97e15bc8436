"""What ``--help`` lists: the commands with a line about each, of which none is imported.

Shapes::

    show(app)    the usage, the options, and "  plan           Say whether more servers fit: ..."

The line is the first one of the docstring of the command's class, in the source of its module. A
command of which that is not found is loaded and asked, as cliff does with all of them.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import textwrap
from collections.abc import Sequence
from typing import Any

import autopage.argparse

from senlin_affinity.core.suggestion import typo_of

_DOCSTRING = r'^class {}\b.*:\n    """(.+?)\.?(?:"""|$)'


def show(app: Any, first: str | None = None) -> None:
    """Print the help of the application, through a pager if there is a terminal.

    :param first: list the commands that begin with this word, and no more.
    """
    pager = autopage.argparse.help_pager(app.stdout)
    is_colored = pager.to_terminal()
    autopage.argparse.use_color_for_parser(app.parser, is_colored)
    title, colored = ('\033[4m{}\033[0m', '\033[36m{}\033[39m') if is_colored else ('{}', '{}')
    found = sorted(app.command_manager)
    width = max(len(name) for name, _ in found)
    room, indent = shutil.get_terminal_size().columns - 2, ' ' * (width + 4)
    with pager as out:
        if first is None:
            out.write(app.parser.format_help())
            out.write('\n')
        out.write(f'{title.format("Commands")}:\n')
        for name, entry_point in found:
            if first in (None, name.split()[0]):
                told = textwrap.wrap(line(app, entry_point), max(20, room - len(indent)))
                lines = f'\n{indent}'.join(told)
                out.write(f'  {colored.format(name)}{" " * (width - len(name))}  {lines}\n')


def near(app: Any, words: Sequence[str]) -> list[str]:
    """The commands that were meant by words that are none: one, or all that have a word."""
    names = [name for name, _ in sorted(app.command_manager)]
    parts = {part for name in names for part in name.split()}
    part: str | None = words[0]
    if part not in parts or len(words) > 1:
        meant = typo_of(' '.join(words[:2]), names)
        if meant is not None:
            return [meant]
        part = part if part in parts else typo_of(words[0], parts)
    return [name for name in names if part in name.split()]


def line(app: Any, entry_point: Any) -> str:
    """What a command says of itself."""
    module, _, attribute = entry_point.value.partition(':')
    try:
        loader = getattr(importlib.util.find_spec(module), 'loader', None)
        source = getattr(loader, 'get_source', lambda _module: None)(module) or ''
        found = re.search(_DOCSTRING.format(re.escape(attribute)), source, re.MULTILINE)
        if found:
            return found[1]
        command = entry_point.load()(app, None)
    except Exception as error:
        return f'(cannot be loaded: {error})'
    return str(command.get_description()).partition('\n')[0].rstrip('.')
