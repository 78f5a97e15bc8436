"""Read the options of ``plan --server``, and the server.

Raises: UsageError for options that do not go together.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from senlin_affinity.cli import base
from senlin_affinity.nova.actions import Action, ServerAction

#: The options that only new servers have.
_OF_NEW = (
    *('count', 'profile', 'policy', 'server_group', 'project', 'user', 'ignore_quotas'),
    *('availability_zone', 'member_of', 'spread', 'hint', 'boot_from_volume', 'snapshot'),
)
#: The options that an action must have.
_NEEDED: Mapping[Action, str] = {Action.RESIZE: 'flavor', Action.REBUILD: 'image'}
_WITH_HOST = frozenset((Action.MIGRATE, Action.LIVE_MIGRATE, Action.EVACUATE, Action.UNSHELVE))


def add_options(add: base.Add) -> None:
    """Add the options of an action on a server."""
    names = [each.value for each in Action]
    add(
        '--server',
        metavar='S',
        help='ask about an action on this server, by name or id, instead of new servers',
    )
    add(
        '--action',
        metavar='A',
        choices=names,
        help=f'the action: {", ".join(names)}; a resize needs --flavor, a rebuild the new --image, '
        'and the others take --host',
    )


def check(parsed_args: argparse.Namespace) -> None:
    """Raise UsageError for options that do not go with the action."""
    given = {key for key, value in vars(parsed_args).items() if value not in (None, [], False)}
    if not {'server', 'action'} <= given:
        raise base.UsageError('--server and --action go together')
    action = Action(parsed_args.action)
    wrong = [name for name in _OF_NEW if name in given]
    wrong += [name for each, name in _NEEDED.items() if each is not action and name in given]
    if action is not Action.REBUILD:
        wrong += ['image_property'] if 'image_property' in given else []
    if action not in _WITH_HOST and 'host' in given:
        wrong.append('host')
    if wrong:
        options = ', '.join(f'--{name.replace("_", "-")}' for name in wrong)
        raise base.UsageError(f'{options}: not with --action {action.value}')
    if _NEEDED.get(action, 'server') not in given:
        raise base.UsageError(f'--action {action.value} needs --{_NEEDED[action]}')


def read(clients: Any, parsed_args: argparse.Namespace) -> ServerAction:
    """Fetch the server of the action; raise InvalidSpec for none or several."""
    from senlin_affinity.cloud import named_servers

    server = named_servers.find(clients, parsed_args.server, parsed_args.timeout)
    return ServerAction(Action(parsed_args.action), server)
