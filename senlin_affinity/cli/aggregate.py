"""Compare extra specs with the metadata of aggregates: ``aggregate check``, ``aggregate diff``.

Example::

    aggregate check --extra-spec 'ssd=<or> true <or> ~' --metadata ssd=true
    aggregate check --extra-spec a=1 b=2 --aggregate fast --metadata a=1 --aggregate slow

A metadata key that is given twice for one aggregate has two values. Exit statuses of ``check`` are
0 (the host passes), 3 (it does not), 2 (usage).
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator, Sequence
from typing import Any

from senlin_affinity import api
from senlin_affinity.cli import base, given
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.verdict import Verdict, sentence
from senlin_affinity.nova import aggregate_metadata, instance_extra_specs
from senlin_affinity.nova.aggregate_metadata import (
    FORCE,
    NOVA_REASONS,
    REASONS,
    HostMetadata,
    compared_metadata,
)

LOG = logging.getLogger(__name__)

DIFFERENCES = ('Flavor', 'Hosts', 'AggregateInstanceTypeFilter', "Nova's filter")
COLUMNS = ('outcome', 'code', 'reason', 'advice', 'facts')


class CheckAggregate(base.ShowOne):
    """Show whether a host in these aggregates accepts a flavor with these extra specs, and why.

    Metadata before the first --aggregate belong to an aggregate without a name; each --aggregate
    starts another aggregate. Without --metadata and --aggregate, the host is in no aggregate.
    """

    example = '--extra-spec a=1 --metadata a=1'

    def _add_arguments(self, add: base.Add) -> None:
        add(
            '--extra-spec',
            metavar='K=V',
            nargs='+',
            action='extend',
            default=[],
            help='an extra spec of the flavor; everything after the first "=" is the value',
        )
        add(
            '--aggregate',
            metavar='NAME',
            dest='aggregates',
            action=_Aggregates,
            default=[],
            help='the name of an aggregate of the host; the --metadata options after it belong to '
            'this aggregate',
        )
        add(
            '--metadata',
            metavar='K=V',
            nargs='+',
            dest='aggregates',
            action=_Aggregates,
            default=[],
            help='metadata of an aggregate of the host; repeat a key to give it several values',
        )
        add(
            '--filter',
            choices=('ours', 'nova'),
            default='ours',
            help='the filter to apply: AggregateInstanceTypeFilter of this project (ours, the '
            "default), or Nova's AggregateInstanceExtraSpecsFilter (nova)",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Return the verdict and set the exit status."""
        extra_specs = _mapping(parsed_args.extra_spec, '--extra-spec')
        metadata = [
            _mapping(words, '--metadata', joined_by=',') for _, words in parsed_args.aggregates
        ]
        names = [name for name, _ in parsed_args.aggregates]
        if parsed_args.filter == 'nova':
            verdict = instance_extra_specs.check(extra_specs, metadata, names)
        else:
            verdict = aggregate_metadata.check(extra_specs, metadata, names)
            for words in HostMetadata(metadata, names).warnings():
                LOG.warning('%s', words)
        self.exit_status = 0 if verdict else 3
        reasons, facts = {**REASONS, **NOVA_REASONS}, dict(verdict.facts)
        return COLUMNS, (
            verdict.outcome.value,
            verdict.code,
            sentence(verdict, reasons),
            reasons[verdict.code].advice,
            base.Cell(facts, ', '.join(f"{key}='{facts[key]}'" for key in sorted(facts))),
        )


class DiffAggregates(base.Lister):
    """List the flavors and hosts for which this project's filter and Nova's have different results.

    Run it before AggregateInstanceTypeFilter replaces AggregateInstanceExtraSpecsFilter. The exit
    status is 3 if there are differences.
    """

    example = '--snapshot cloud.json'
    nothing = 'there are no differences'

    def _add_arguments(self, add: base.Add) -> None:
        base.add_snapshot(add, 'compare on a saved snapshot instead of a cloud')
        base.add_limits(add)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Return a row for each flavor and set of aggregates with different verdicts."""
        if parsed_args.snapshot is not None:
            view = given.view(parsed_args.snapshot, self.app.stdin, parsed_args.max_file_size)
        else:
            connection = self.cloud_in_place_of_file(parsed_args.timeout)
            view = api.fetch(connection)
        for part in ('hosts', 'aggregates', 'flavors'):
            if getattr(view, part) is None:
                reason = view.unavailable.get(part, 'the snapshot does not contain them')
                raise CloudError(f'the {part} are unknown: {reason}')
        rows = [*_differences(view)]
        self.exit_status = 3 if rows else 0
        return DIFFERENCES, rows


def _differences(snapshot: Cloud) -> Iterator[tuple[Any, ...]]:
    hosts: dict[frozenset[str], list[str]] = {}
    for host in snapshot.hosts or ():
        hosts.setdefault(host.aggregates, []).append(host.host)
    sets = []
    for uuids, names in hosts.items():
        here = [each for each in snapshot.aggregates or () if each.uuid in uuids]
        described = [*map(compared_metadata, here)], [each.name for each in here]
        sets.append((names, described))
    for flavor in snapshot.flavors or ():
        ours = aggregate_metadata.Requirements.parse(flavor.extra_specs)
        novas = instance_extra_specs.NovaRequirements.parse(flavor.extra_specs)
        for names, described in sets:
            our_verdict, novas_verdict = ours.check(*described), novas.check(*described)
            if bool(our_verdict) != bool(novas_verdict):
                verdicts = (our_verdict, novas_verdict)
                yield flavor.name, base.Cell(names, ', '.join(names)), *map(_words, verdicts)


def _words(verdict: Verdict) -> str:
    return 'passes' if verdict else sentence(verdict, {**REASONS, **NOVA_REASONS})


class _Aggregates(argparse.Action):
    """An argparse action that collects the metadata of each aggregate.

    A string begins an aggregate, as ``(name, [])``. A list of words belongs to the last aggregate,
    or without one to "the aggregate".
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        begun = getattr(namespace, self.dest)
        if isinstance(values, str):
            begun = [*begun, (values, [])]
        else:
            *others, (name, words) = begun or [('the aggregate', [])]
            begun = [*others, (name, [*words, *values])]
        setattr(namespace, self.dest, begun)


def _mapping(words: Sequence[str], option: str, joined_by: str = '') -> dict[str, str]:
    """Parse ``['a=1', 'b=2']``; join the values of a repeated key, or reject it."""
    mapping: dict[str, str] = {}
    for word in words:
        key, separator, value = word.partition('=')
        if not key or not separator:
            raise base.UsageError(f'{option}: must be KEY=VALUE, not {word!r}')
        if key not in mapping:
            mapping[key] = value
        elif not joined_by:
            raise base.UsageError(
                f'{option}: {key} is given twice: join its values with "<or>" in one extra spec'
            )
        elif key == FORCE:
            raise base.UsageError(f'{option}: {key} is given twice: give it once')
        else:
            mapping[key] += f'{joined_by}{value}'
    return mapping
