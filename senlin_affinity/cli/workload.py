"""Answer with ``plan FILE`` whether the servers of a file fit together, and where.

Example::

    All 8 servers fit, in this order on these hosts.
    That holds whichever hosts Nova picks.
    +------+-------+------+-----------------------+--------+
    | name | count | fits | hosts                 | reason |
    +------+-------+------+-----------------------+--------+
    | web  |     6 | yes  | cmp-1 (3), cmp-2 (3)  |        |
    | db   |     2 | yes  | cmp-3 (2)             |        |
    +------+-------+------+-----------------------+--------+
"""

from __future__ import annotations

import argparse
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from senlin_affinity import api
from senlin_affinity.answers.headline import limiting_reason
from senlin_affinity.cli import base, given, request_options, view, view_notes
from senlin_affinity.cli.wrapping import fitted, lines
from senlin_affinity.engine.decision import Decision, PlacedServer
from senlin_affinity.engine.workload_plan import PlannedRequest, WorkloadPlan
from senlin_affinity.model import terminal_text
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.numbers import counted
from senlin_affinity.preflight import stack_file
from senlin_affinity.preflight.workload import Workload, resolve_workload

#: The options about a single request, which a file replaces.
_OF_REQUEST = """
    count flavor profile policy server_group availability_zone host member_of spread hint image
    image_property boot_from_volume server action
"""
COLUMNS = ('name', 'count', 'fits', 'hosts', 'reason')
_MOST_HOSTS = 3
_UNSURE, _STATUS = 4, {True: 0, False: 3, None: 4}


def read(parsed_args: argparse.Namespace, settings: api.Question) -> Workload:
    """Return the requests of the file, with the settings of the cloud.

    Raise UsageError if an option is about a single request.
    """
    for name in _OF_REQUEST.split():
        if getattr(parsed_args, name) not in (None, False, []):
            option = name.replace('_', '-')
            raise base.UsageError(f'--{option} is not allowed with a file of requests')
    parameters = request_options.each_once(parsed_args.parameter, '--parameter')
    workload = given.stack(parsed_args.file, lambda document: stack_file.read(document, parameters))
    return workload.but(
        enabled_filters=settings.enabled_filters,
        options=settings.options,
        explicit_options=settings.explicit_options,
        project_id=parsed_args.project,
        user_id=parsed_args.user,
        are_quotas_ignored=parsed_args.ignore_quotas,
    )


def status(plan: WorkloadPlan, parsed_args: argparse.Namespace) -> int:
    """Return the exit status: 4 if it fits by an upper bound or a file that was read in part."""
    if plan.fits is None:
        return 1 if plan.is_unknown else _UNSURE
    of_each = {request_options.status(each.decision, parsed_args) for each in plan.requests}
    is_bounded = plan.fits_by_upper_bound and not parsed_args.accept_upper_bound
    is_unsure = plan.fits and (_UNSURE in of_each or is_bounded or plan.not_read)
    return _UNSURE if is_unsure else _STATUS[plan.fits]


class Shown:
    """A plan, and what a table shows of it."""

    def __init__(
        self,
        plan: WorkloadPlan,
        workload: Workload,
        cloud_view: Cloud,
        options: Mapping[str, Sequence[str]],
        *,
        is_file: bool,
    ) -> None:
        self.plan = plan
        explained = plan.explained
        requests = dict(resolve_workload(workload, cloud_view)[0])
        questions = {each.name: each for each in workload.questions}
        shown = explained or next(iter(plan.requests), None)
        self._answer: view_notes.Answer | None = None
        if shown is not None:
            self._answer = view_notes.Answer(
                shown.decision,
                requests[shown.name],
                cloud_view,
                cloud_view,
                questions[shown.name],
                options,
                is_file,
            )

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield a row for each request."""
        for each in self.plan.requests:
            decision = each.decision
            where = base.Cell(_hosts(decision.placements), _in_words(decision.placements))
            yield each.name, decision.wanted, _fits(decision), where, _reason(each)

    def sentences(self) -> Iterator[str]:
        """Yield whether the servers fit, and how sure that is; first what was not read, if any."""
        not_read = len(self.plan.not_read)
        if not_read:
            parts = f'{counted(not_read, "part")} of the file {"was" if not_read == 1 else "were"}'
            yield f'{parts} not read (see below), and may change the answer. Without:'
        plan, wanted = self.plan, self.plan.wanted
        they = {1: 'the server', 2: 'both servers'}.get(wanted, f'all {wanted:,} servers')
        servers = 'the server' if wanted == 1 else f'the {wanted:,} servers'
        fit, do = ('fits', 'does') if wanted == 1 else ('fit', 'do')
        if not (wanted or not_read):
            yield 'The file creates no servers.'
        elif plan.fits:
            verb = f'probably {fit}' if plan.fits_by_upper_bound else fit
            yield f'{they.capitalize()} {verb}, in this order on these hosts.'
            if plan.is_any_host:
                yield 'That holds whichever hosts Nova picks.'
            elif wanted:
                yield 'Nova may pick other hosts: it is not proven that all fit then.'
        elif plan.fits is False:
            first, *others = (each.text for each in plan.obstacles)
            yield f'{servers.capitalize()} {do} not fit: {first}.'
            yield from (f'Also: {each}.' for each in others)
        elif plan.is_unknown:
            yield f'It is not known whether {servers} {fit}.'
        else:
            yield f'No order was found in which {they} {fit}, which proves nothing.'
            yield f'{plan.placed} fit in the best of {counted(plan.tried, "order")}.'
            yield from (
                f'As long as the deleted servers exist: {each.text}.' for each in plan.obstacles
            )

    def notes(self) -> Iterator[tuple[str, Iterable[str]]]:
        """Yield the sections below the table."""
        plan, answer = self.plan, self._answer
        names = tuple(each.name for each in plan.requests)
        if plan.fits and plan.order != names:
            yield 'The order in which they fit', [', '.join(plan.order)]
        yield 'Not read', plan.not_read
        yield 'Deleted servers, which still count here', plan.removed
        if answer is not None:
            assumed = [f'assuming {each.text}' for each in plan.assumptions]
            basis = (each for each in view_notes.basis(answer) if not each.startswith('assuming'))
            yield 'Based on', [*basis, *assumed]
            yield 'What is not known', view_notes.unknown(answer)

    def show(self, stream: TextIO, formatter: Any, parsed_args: argparse.Namespace) -> None:
        """Print the sentences, the table and the notes."""
        width = shutil.get_terminal_size().columns
        for text in self.sentences():
            stream.writelines(f'{line}\n' for line in lines(terminal_text.signed(text), width))
        rows = [*self.rows()]
        if rows:
            formatter.emit_list(COLUMNS, fitted(COLUMNS, rows, width), stream, parsed_args)
        explained = self.plan.explained
        if explained is not None and self._answer is not None:
            for line in view.explained(
                explained.name, self._answer, width, is_one_of_several=len(self.plan.requests) > 1
            ):
                stream.write(f'{terminal_text.signed(line).rstrip()}\n')
        for title, items in self.notes():
            for line in view.section(title, items, width):
                stream.write(f'{terminal_text.signed(line).rstrip()}\n')


def _fits(decision: Decision) -> str:
    if decision.fits_by_upper_bound:
        return 'probably'
    return {True: 'yes', False: 'no', None: 'not known'}[decision.fits]


def _reason(planned: PlannedRequest) -> str:
    """Return what limits the number of servers, or what is not known; '' if they fit.

    "alone 2 of 3: ..." if fewer are placed beside the servers of other requests.
    """
    decision = planned.decision
    if decision.fits is False:
        placed = len(decision.placements)
        number = (decision.capacity or 0) if planned.is_alone else placed
        alone = 'alone ' if number != placed else ''
        few = f'{alone}{number} of {decision.wanted}: ' if number else ''
        return f'{few}{limiting_reason(decision)}'
    if decision.fits_by_upper_bound or decision.fits is None:
        return '; '.join(decision.not_known) or 'the hosts are not known'
    return ''


def _hosts(placements: Iterable[PlacedServer]) -> dict[str, int]:
    """Return the number of servers on each host."""
    return dict(Counter(each.host for each in placements))


def _in_words(placements: Sequence[PlacedServer]) -> str:
    """Return "cmp-1 (2), cmp-2", or "az-1: 12 on 6 hosts, az-2: 11 on 6 hosts" for many hosts."""
    of_host = _hosts(placements)
    if len(of_host) <= _MOST_HOSTS:
        return ', '.join(
            f'{name} ({number})' if number > 1 else name for name, number in of_host.items()
        )
    by_zone: dict[str, list[str]] = {}
    for each in placements:
        by_zone.setdefault(each.zone or 'no zone', []).append(each.host)
    return ', '.join(
        f'{zone}: {len(names)} on {counted(len({*names}), "host")}'
        for zone, names in by_zone.items()
    )
