"""What ``--help`` lists: the commands with a line about each, of which none is imported.

Shapes::

    show(app)    the usage, the options, and "  plan           Say whether more servers fit: ..."

The line is the first one of the docstring of the command's class, in the source of its module. A
command of which that is not found is loaded and asked, as cliff does with all of them.
"""

from __future__ import annotations

import importlib.util
import re
from typing import Any

import autopage.argparse

_DOCSTRING = r'^class {}\b.*:\n    """(.+?)\.?(?:"""|$)'


def show(app: Any) -> None:
    """Print the help of the application, through a pager if there is a terminal."""
    pager = autopage.argparse.help_pager(app.stdout)
    is_colored = pager.to_terminal()
    autopage.argparse.use_color_for_parser(app.parser, is_colored)
    title, names = ('\033[4m{}\033[0m', '\033[36m{:13}\033[39m') if is_colored else ('{}', '{:13}')
    with pager as out:
        app.parser.print_help(out)
        out.write(f'\n{title.format("Commands")}:\n')
        for name, entry_point in sorted(app.command_manager):
            out.write(f'  {names.format(name)}  {line(app, entry_point)}\n')


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
