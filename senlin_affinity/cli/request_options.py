"""Define the options that ``plan`` and ``server explain`` share, and read their values.

Raises: UsageError and InvalidSpec for files of settings, as in
:mod:`~senlin_affinity.cli.config_file`.
"""

from __future__ import annotations

import argparse
import dataclasses
import logging
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

from senlin_affinity import api
from senlin_affinity.cli import base, config_file
from senlin_affinity.conf.constraint_plugins import load_constraints
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.model.image import NONE

LOG = logging.getLogger(__name__)

_STATUS = {True: 0, False: 3, None: 1}
_UNSURE = 4
_NO_IMAGE = 'none'
#: More would cost memory and not change the capacity.
_MOST = 1_000_000
REPEATED: Mapping[str, Any] = {'action': 'append', 'default': []}


def add_hint(add: base.Add) -> None:
    """Add the option for scheduler hints."""
    add(
        '--hint',
        metavar='KEY=VALUE',
        **REPEATED,
        type=pair,
        help='a scheduler hint, such as same_host=ID or group=ID, which overrides the hint of the '
        'profile; may be repeated, also with the same key',
    )


def add_image_properties(add: base.Add) -> None:
    """Add the options for the properties of the image, and for a volume in place of it."""
    add(
        '--image-property',
        metavar='K=V',
        **REPEATED,
        type=pair,
        help='an additional property of the image, such as trait:CUSTOM_X=required; may be '
        'repeated',
    )
    add(
        '--boot-from-volume',
        action='store_true',
        help='the root disk is a volume, which uses no disk of the host',
    )


def add_settings(add: base.Add) -> None:
    """Add the options for the settings of the cloud."""
    add(
        '--enabled-filters',
        metavar='LIST',
        type=str,
        help='enabled_filters of nova.conf, separated by commas (default: that of the file, or '
        "Nova's default)",
    )
    add(
        '--option',
        metavar='NAME=VALUE',
        **REPEATED,
        type=pair,
        help='the value of an option of a constraint, which overrides the file ("constraint show" '
        'lists the options); may be repeated',
    )
    add(
        '--config-file',
        metavar='FILE',
        help='senlin.conf, or another file with the options of this project or with '
        'enabled_filters of nova.conf',
    )
    add(
        '--nova-conf',
        metavar='FILE',
        **REPEATED,
        help="nova.conf, or a directory of .conf files, with Nova's options about scheduling "
        "(Nova's defaults replace missing options); may be repeated",
    )


def add_outcome(add: base.Add) -> None:
    """Add the options for the exit status and the length of the output."""
    add(
        '--strict',
        action='store_true',
        help='exit with status 4 if the servers fit only under the listed assumptions',
    )
    add(
        '--accept-upper-bound',
        action='store_true',
        help='exit with status 0, not 4, if the servers fit by an upper bound only ("at most")',
    )
    add(
        '--no-skipped',
        action='store_true',
        help='omit the verdicts with the outcome SKIP from -f json and similar formats; for '
        'many hosts, these verdicts are most of the output',
    )


def read_settings(
    parsed_args: argparse.Namespace,
) -> tuple[tuple[Constraint, ...], api.Question, Mapping[str, Sequence[str]]]:
    """Load the constraints, and read their options.

    Return the constraints, a question with the settings of the cloud, and the options that each
    file sets.
    """
    constraints = load_constraints()
    settings, found = config_file.settings(
        parsed_args.config_file,
        parsed_args.nova_conf,
        constraints,
        are_filters_given=parsed_args.enabled_filters is not None,
    )
    filters, values = settings.filters, settings.values
    if parsed_args.option:
        from senlin_affinity.conf import opts

        given = each_once(parsed_args.option, '--option')
        values = {**values, **opts.read(given, constraints, '--option ')}
    if parsed_args.enabled_filters is not None:
        names = (name.strip() for name in parsed_args.enabled_filters.split(','))
        filters = tuple(name for name in names if name)
    asked = api.Question(1, enabled_filters=filters, options=values, explicit_options=settings.keys)
    return constraints, asked, found


def log_files(found: Mapping[str, Sequence[str]]) -> None:
    """Log the options that each file sets, for formats without a place for them."""
    for file, options in found.items():
        if options:
            LOG.info('options read from %s: %s', file, ', '.join(options))


def question(parsed_args: argparse.Namespace, settings: api.Question) -> api.Question:
    """Return the question of the arguments, with the settings of the cloud, without the count.

    A hint that is given twice is a list, as ``openstack server create`` sends it.
    """
    values: dict[str, list[str]] = {}
    for key, value in parsed_args.hint:
        values.setdefault(key, []).append(value)
    return dataclasses.replace(
        settings,
        flavor=parsed_args.flavor,
        image=NONE if parsed_args.image == _NO_IMAGE else parsed_args.image,
        image_properties=image_properties(parsed_args),
        is_volume_booted=parsed_args.boot_from_volume,
        availability_zone=parsed_args.availability_zone,
        server_group=parsed_args.server_group,
        scheduler_hints={key: each if len(each) > 1 else each[0] for key, each in values.items()},
    )


def image_properties(parsed_args: argparse.Namespace) -> Mapping[str, str] | None:
    """Return the properties of :func:`add_image_properties`; None without any."""
    return each_once(parsed_args.image_property, '--image-property') or None


def each_once(pairs: Sequence[tuple[str, str]], option: str) -> dict[str, str]:
    """Return the pairs as a mapping; raise UsageError for a repeated key."""
    values = dict(pairs)
    if len(values) < len(pairs):
        raise base.UsageError(f'{option}: each name may be specified only once')
    return values


def status(
    decision: api.Decision, parsed_args: argparse.Namespace, *, is_doubtful: bool = False
) -> int:
    """Return the exit status: 4 if it fits by an upper bound or, if strict, by assumptions.

    :param is_doubtful: 4 in place of 0, whatever the user accepts.
    """
    is_assumed = parsed_args.strict and decision.wanted > 0 and bool(decision.assumptions)
    is_bounded = decision.fits_by_upper_bound and not parsed_args.accept_upper_bound
    is_unsure = is_assumed or is_bounded or is_doubtful
    return _UNSURE if decision.fits and is_unsure else _STATUS[decision.fits]


def pair(text: str) -> tuple[str, str]:
    """Parse ``K=V``."""
    key, equals, value = text.partition('=')
    if not key or not equals:
        raise argparse.ArgumentTypeError(f'must be K=V, not {text!r}')
    return key, value


def count(text: str) -> int:
    """Parse a number of servers."""
    digits = text.lstrip('0') or '0'
    is_number = text.isascii() and text.isdigit() and len(digits) <= len(str(_MOST))
    if not is_number or int(digits) > _MOST:
        shown = reprlib.repr(text)
        raise argparse.ArgumentTypeError(f'must be a number from 0 to {_MOST:,}, not {shown}')
    return int(digits)
