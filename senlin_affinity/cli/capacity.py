"""Show with ``capacity`` how many more servers of each flavor fit, and what runs out first.

Example::

    +-----------+----------+-------+------+------+--------------------------------+
    | flavor    | capacity | hosts | az-1 | az-2 | why                            |
    +-----------+----------+-------+------+------+--------------------------------+
    | m1.xlarge |        0 |     0 |    0 |    0 | 96 VCPU are free, but no host  |
    |           |          |       |      |      | has 32768 MEMORY_MB left       |
    +-----------+----------+-------+------+------+--------------------------------+

Exit statuses with ``--at-least N`` are 0 (every flavor has N), 3 (one has less), 1 (unknown), 4
(one has N by an upper bound only); otherwise 0. 2 is a usage error.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from senlin_affinity import api
from senlin_affinity.cli import base, given, metrics, prometheus, request_options, view_notes
from senlin_affinity.engine.flavor_capacity import FlavorCapacity
from senlin_affinity.engine.parts import NO_NAME
from senlin_affinity.engine.unspecified import ASSUMED
from senlin_affinity.model.bounds import NONE, Bounds
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.flavor import Flavor

_LESS, _UNKNOWN, _UNSURE = 3, 1, 4
#: The name and id of the flavor that options describe.
_NEW = '(new)'
#: The defaults of "openstack flavor create".
_SIZES = {'vcpus': 1, 'ram': 256, 'disk': 0}
_COLUMNS = ('flavor', 'id', 'capacity', 'capacity_certain', 'at_most', 'hosts')
_QUOTA, _SPARE = 'quota', 'spare'
_LAST = ('runs_out_first', 'stranded', 'why')


class Capacity(base.Lister):
    """Show how many more servers of each flavor fit, and what runs out first."""

    example = '--by zone --flavor "m1.*"'
    formatter_namespace = 'senlin_affinity.status_formatters'
    long_only = ('id', 'capacity_certain', 'at_most', 'runs_out_first', 'stranded')
    nothing = 'the cloud has no flavors'

    _found: api.Capacity
    _view_of_cloud: Cloud

    def _add_arguments(self, add: base.Add) -> None:
        add(
            '--by',
            metavar='KEY',
            help='add a column for each zone, aggregate or host ("zone", "aggregate", "host"), or '
            'for each value of a metadata key of aggregates',
        )
        add(
            '--flavor',
            metavar='F',
            **request_options.REPEATED,
            help='a flavor, by name or id, or a pattern of names such as "m1.*"; may be repeated '
            '(default: all)',
        )
        for name, what in (('vcpus', 'VCPUs'), ('ram', 'memory in MiB'), ('disk', 'disk in GB')):
            add(
                f'--{name}',
                metavar='N',
                type=request_options.count,
                help=f'the {what} of a flavor that does not exist yet (default: {_SIZES[name]})',
            )
        add(
            '--property',
            metavar='K=V',
            **request_options.REPEATED,
            type=request_options.pair,
            help='an extra spec of a flavor that does not exist yet; may be repeated',
        )
        add(
            '--project',
            metavar='P',
            help='the project of the servers, by name or id: count the private flavors and the '
            'aggregates that it may use, and add a column with what its quotas allow',
        )
        add('--server-group', metavar='G', help='the server group of the servers, by name or id')
        add('--availability-zone', metavar='Z', help='the availability zone of the servers')
        add(
            '--at-least',
            metavar='N',
            type=request_options.count,
            help='exit with status 3 if fewer servers of any of the flavors fit',
        )
        add(
            '--spare-host',
            action='store_true',
            help='add a column with what remains after the loss of the largest host of each zone '
            'and of all servers that it can hold; --at-least is about this number',
        )
        request_options.add_image_properties(add)
        request_options.add_settings(add)
        base.add_snapshot(add, 'count on a saved snapshot instead of a cloud')
        add(
            '--long',
            action='store_true',
            help='add to the table what is guaranteed, the codes of caveats, and what is stranded '
            '(other formats always include them)',
        )
        base.add_limits(add)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Return a row for each flavor."""
        constraints, settings, _files = request_options.read_settings(parsed_args)
        question = dataclasses.replace(
            settings,
            server_group=parsed_args.server_group,
            availability_zone=parsed_args.availability_zone,
            image_properties=request_options.image_properties(parsed_args),
            is_volume_booted=parsed_args.boot_from_volume,
            project_id=parsed_args.project,
        )
        new = _new_flavor(parsed_args)
        names = tuple(parsed_args.flavor) or (() if new else None)
        question, view = self._view(parsed_args, question, names)
        self._view_of_cloud = view
        flavors = None if names is None else (*names, *new)
        found = self._found = api.capacity(
            view,
            flavors,
            parsed_args.by,
            question.project_id,
            question=question,
            constraints=constraints,
        )
        least, is_spare = parsed_args.at_least, parsed_args.spare_host
        if least is not None:
            self.exit_status = _status(found.flavors, least, is_spare=is_spare)
        parts = _columns_of(found)
        more = [_QUOTA] * (parsed_args.project is not None) + [_SPARE] * is_spare
        are_known = view.hosts is not None
        rows = [_row(each, parts, more, are_hosts_known=are_known) for each in found.flavors]
        return (*_COLUMNS, *parts.values(), *more, *_LAST), rows

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Any, data: Any) -> Any:
        """Print the rows, or metrics; below a table, what the caveats mean."""
        if parsed_args.formatter == prometheus.NAME:
            base.check_columns(parsed_args.columns, ())
            cloud = base.cloud_name(self.app_args) if parsed_args.snapshot is None else ''
            families = metrics.of_capacity(self._found, cloud)
            families += metrics.of_snapshot(self._view_of_cloud, cloud)
            prometheus.write(families, self.app.stdout, parsed_args.output)
            return 0
        status = super().produce_output(parsed_args, column_names, data)
        if parsed_args.formatter == 'table':
            self.print_texts(_notes(self._found, self._view_of_cloud, is_long=parsed_args.long))
        return status

    def _view(
        self,
        parsed_args: argparse.Namespace,
        question: api.Question,
        names: Sequence[str] | None,
    ) -> tuple[api.Question, Cloud]:
        """Return the question with the id of its project, and the snapshot."""
        if parsed_args.snapshot is not None:
            view = given.view(parsed_args.snapshot, self.app.stdin, parsed_args.max_file_size)
            given.check_ids(question.project_id, None, view)
            return question, view
        connection = self.cloud_in_place_of_file(parsed_args.timeout)
        if question.project_id is not None:
            from senlin_affinity.cloud import projects

            owner = api.clients_of(connection).owner
            project = projects.find(owner, question.project_id)
            question = dataclasses.replace(question, project_id=project)
        wanted = ('*',) if names is None else names
        if parsed_args.formatter == prometheus.NAME and question.server_group is None:
            from senlin_affinity.cli import refresh

            clients = api.clients_of(connection)
            return question, refresh.view_of(clients, question, wanted)
        return question, api.fetch(connection, question, flavors=wanted)


def _new_flavor(parsed_args: argparse.Namespace) -> tuple[Flavor, ...]:
    """Return the flavor that the options describe; none without these options."""
    sizes = {name: getattr(parsed_args, name) for name in _SIZES}
    specs = request_options.each_once(parsed_args.property, '--property')
    if not specs and all(size is None for size in sizes.values()):
        return ()
    vcpus, ram, disk = (_SIZES[name] if size is None else size for name, size in sizes.items())
    return (Flavor(_NEW, _NEW, vcpus, ram, disk, extra_specs=specs),)


def _columns_of(found: api.Capacity) -> dict[str, str]:
    """Return the column of each part, by its name; the name of another column gets a prefix."""
    taken = {*_COLUMNS, *_LAST, _QUOTA, _SPARE, NO_NAME}
    names = dict.fromkeys(part.name for each in found.flavors for part in each.parts)
    return {name: f'{found.by} {name or "(none)"}' if name in taken else name for name in names}


def _row(
    each: FlavorCapacity, parts: Iterable[str], more: Iterable[str], *, are_hosts_known: bool
) -> tuple[Any, ...]:
    """Return the cells of a flavor; the parts of a flavor that Nova rejects take no server."""
    stranded, of_parts = dict(each.stranded), {part.name: part.bounds for part in each.parts}
    spare = _cell(each.spare, is_at_most=each.is_at_most)
    added = {_QUOTA: _cell(each.of_quotas), _SPARE: spare}
    codes = [caveat.code for caveat in each.caveats]
    return (
        each.flavor.name,
        each.flavor.id,
        _cell(each.bounds, is_at_most=each.is_at_most),
        each.bounds.lower,
        base.Cell(codes, ', '.join(dict.fromkeys(codes))),
        each.hosts if are_hosts_known else base.Cell(None, 'not known'),
        *(_cell(of_parts.get(name, NONE), is_at_most=each.is_at_most) for name in parts),
        *(added[name] for name in more),
        each.runs_out_first or '',
        base.Cell(stranded, _amounts(each.stranded)),
        limiting(each),
    )


def _cell(bounds: Bounds | None, *, is_at_most: bool = False) -> Any:
    """Return the upper bound, in a table with "at most"; None and a word if it is unknown."""
    if bounds is None:
        return base.Cell(None, 'not known')
    if bounds.upper is None:
        is_open = bounds.lower is None
        return base.Cell(None, 'no limit' if is_open else f'{bounds.expected} or more')
    if is_at_most and bounds.lower != bounds.upper:
        return base.Cell(bounds.upper, f'at most {bounds.upper}')
    return bounds.upper


def _amounts(amounts: Iterable[tuple[str, int]]) -> str:
    """Return "96 VCPU, 10 DISK_GB", without amounts of 0."""
    return ', '.join(f'{amount} {name}' for name, amount in amounts if amount)


def limiting(each: FlavorCapacity) -> str:
    """Return in words what limits the number of servers of a flavor, and what is stranded."""
    first = each.runs_out_first
    if each.rejection is not None:
        return f'{each.rejection.sentence} ({each.rejection.code})'
    others = _amounts((name, free) for name, free in each.stranded if name != first)
    if each.bounds.expected:
        words = '' if first is None else f'{first} runs out first'
        return f'{words}; {others} are left' if words and others else words
    if each.bounds.upper is None:
        return 'not known'
    if first is None:
        return (
            ', '.join(f'{code} on {number}' for code, number in each.rejected_hosts) or 'no hosts'
        )
    if each.lacking:
        words = f'no host has {each.lacking} {first} left'
        return f'{others} are free, but {words}' if others else words
    return f'no host has enough of everything at once ({first} is short on most)'


def _notes(found: api.Capacity, view: Cloud, *, is_long: bool) -> Iterator[str]:
    """Yield what is not known, each caveat once, with its code, and what the numbers assume."""
    for words in view_notes.unavailable(view, is_long=is_long):
        yield f'not known: {words}'
    caveats = dict.fromkeys(caveat for each in found.flavors for caveat in each.caveats)
    texts: dict[str, list[str]] = {}
    for caveat in caveats:
        texts.setdefault(caveat.code, []).append(caveat.text)
    for code, (first, *others) in texts.items():
        more = f', and {len(others)} more; --long shows the flavors' if others else ''
        advice = '; --nova-conf FILE tells which' if code == ASSUMED.code else ''
        yield f'at most ({code}): {first}{more}{advice}'
    if found.assumptions:
        yield f'Assuming {", ".join(item.text for item in found.assumptions)}.'


def _status(found: Iterable[FlavorCapacity], least: int, *, is_spare: bool) -> int:
    """Return the exit status of ``--at-least``: the worst of all flavors."""
    statuses = {_status_of(each.spare if is_spare else each.bounds, least) for each in found}
    return next((each for each in (_LESS, _UNKNOWN, _UNSURE) if each in statuses), 0)


def _status_of(bounds: Bounds, least: int) -> int:
    fits = bounds.fits(least)
    if fits is None:
        return _UNKNOWN
    is_sure = bounds.lower is None or least <= bounds.lower
    return _LESS if not fits else 0 if is_sure else _UNSURE
