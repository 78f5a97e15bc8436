"""Save a snapshot of the cloud in a file for the commands with ``--snapshot``.

Exit status 2: no cloud is named, or the path is not writable. 1: a request failed.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
from collections.abc import Iterator
from typing import Any

from senlin_affinity import api
from senlin_affinity.cli import base
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import AffinityError
from senlin_affinity.model.request import Request
from senlin_affinity.nova import candidate_query
from senlin_affinity.preflight.question import resolve_question

_WRONG_PLACES = (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError)
_WRONG_KINDS = (errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP, errno.EOPNOTSUPP)


class SaveSnapshot(base.ShowOne):
    """Save a snapshot of the cloud, for "plan --snapshot"."""

    example = 'cloud.json'

    def _add_arguments(self, add: base.Add) -> None:
        add('file', metavar='FILE', help='the file to write (JSON)')
        add('--flavor', metavar='F', help='add the allocation candidates for this flavor')
        add(
            '--availability-zone',
            metavar='Z',
            help='limit the allocation candidates to this zone',
        )
        add(
            '--servers',
            action='store_true',
            help='add all servers of all projects, for "host drain" and "resilience"',
        )
        base.add_timeout(add)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Take the snapshot, save it, and return a summary."""
        if parsed_args.file == '-':
            raise base.UsageError('specify a file, not "-": a snapshot cannot be written to stdout')
        self.check_has_cloud()
        from senlin_affinity.cloud import drained, snapshot_file, whole_cloud

        path = parsed_args.file
        flavor, zone = parsed_args.flavor, parsed_args.availability_zone
        if zone is not None and flavor is None:
            raise base.UsageError('--availability-zone requires --flavor')
        if flavor is not None and parsed_args.servers:
            raise base.UsageError('--servers and --flavor exclude each other')
        question = None if flavor is None else api.Question(1, flavor, availability_zone=zone)
        with _writing(path):
            snapshot_file.check_place(path)  # fail before any request is sent
        clients = api.clients_of(self.connection(parsed_args.timeout))
        taken = whole_cloud.fetch(clients)
        if parsed_args.servers:
            taken = drained.with_every_server(clients, taken)
        if question is not None:
            taken = whole_cloud.with_answer(clients, taken, question)
        # This fails if the flavor does not exist.
        resolved = None if question is None else resolve_question(question, taken)
        with _writing(path):
            snapshot_file.save(taken, path)
        if taken.hosts is None:
            words = 'the snapshot has no hosts: "plan" cannot determine whether servers fit'
            self.app.stderr.write(f'warning: {words}\n')
        facts = {'file': path, **_counts(taken)}
        if parsed_args.servers:
            facts['servers'] = sum(map(len, taken.servers_by_host.values()))
        if resolved is not None:
            facts['answer for the flavor'] = _answer(*resolved)
        facts['not known'] = '; '.join(f'{part}: {why}' for part, why in taken.unavailable.items())
        facts['not known'] = facts['not known'] or '(nothing)'
        return tuple(facts), tuple(facts.values())


@contextlib.contextmanager
def _writing(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        is_wrong = isinstance(error, _WRONG_PLACES) or error.errno in _WRONG_KINDS
        kind = base.UsageError if is_wrong else AffinityError
        raise kind(f'{path} cannot be written: {error.strerror}') from error


def _answer(request: Request, cloud: Cloud) -> str:
    """Return how many hosts Placement's allocation candidates contain, or that it answers 400."""
    if candidate_query.rejection(request, cloud) is not None:
        return 'rejected: Placement answers 400'
    number = sum(bool(host.grants) for host in cloud.hosts or ())
    if not cloud.answered:
        return f'{number} hosts have room, perhaps more' if number else 'not known'
    return f'{number} of {len(cloud.hosts or ())} hosts have room'


def _counts(snapshot: Cloud) -> dict[str, Any]:
    hosts, groups = snapshot.hosts, snapshot.server_groups
    parts = {
        'hosts': hosts,
        'aggregates': snapshot.aggregates,
        'flavors': snapshot.flavors,
        'server groups': groups,
    }
    counts: dict[str, Any] = {'taken at': snapshot.taken_at}
    counts |= {part: 'not known' if it is None else len(it) for part, it in parts.items()}
    if hosts is not None:
        usable = sum(host.enabled and host.up for host in hosts)
        counts['hosts'] = f'{len(hosts)} ({usable} enabled and up)'
    if groups is not None:
        members = sum(len(group.members) for group in groups)
        counts['server groups'] = f'{len(groups)} ({members} servers)'
    return counts | {'quotas': ', '.join(sorted(snapshot.quotas or ())) or 'not known'}
