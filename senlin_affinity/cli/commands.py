"""List the commands for ``--help`` without importing them.

The line of a command is the first line of its class docstring, read from the source. If the source
has none, the command is loaded, as cliff does with every command.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import textwrap
from collections.abc import Sequence
from typing import Any

import autopage.argparse

from senlin_affinity.model.suggestion import typo_of
from senlin_affinity.model.terminal_text import escaped

_DOCSTRING = r'^class {}\b.*:\n    """(.+?)\.?(?:"""|$)'


def show(app: Any, first: str | None = None) -> None:
    """Print the help of the application, through a pager on a terminal.

    :param first: list only the commands that begin with this word.
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
                wrapped = textwrap.wrap(line(app, entry_point), max(20, room - len(indent)))
                lines = f'\n{indent}'.join(wrapped)
                out.write(f'  {colored.format(name)}{" " * (width - len(name))}  {lines}\n')


def near(app: Any, words: Sequence[str]) -> list[str]:
    """Return the commands that resemble an unknown one: one, or all that share a word."""
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
    """Return the first line of a command's docstring, or why the command cannot be loaded."""
    module, _, attribute = entry_point.value.partition(':')
    try:
        loader = getattr(importlib.util.find_spec(module), 'loader', None)
        source = getattr(loader, 'get_source', lambda _module: None)(module) or ''
        found = re.search(_DOCSTRING.format(re.escape(attribute)), source, re.MULTILINE)
        if found:
            return found[1]
        command = entry_point.load()(app, None)
    except Exception as error:
        return f'(cannot be loaded: {escaped(str(error))})'
    return str(command.get_description()).partition('\n')[0].rstrip('.')
