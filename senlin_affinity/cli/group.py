"""``group list``, ``group delete`` and ``group audit``: whose server groups are, and what holds.

Data flow: Nova's groups and what Senlin's API shows of bindings and notes come in; ``policy.audit``
judges; rows go out.

Units: exit statuses are 0 (nothing is wrong, or it is done), 3 (a group is left behind, a rule is
violated), 1 (the cloud could not be asked, or refuses to delete), 2 (usage).
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from senlin_affinity.cli import base
from senlin_affinity.cli.servers_view import rule
from senlin_affinity.core.errors import CloudError
from senlin_affinity.core.group_places import Place
from senlin_affinity.core.member_of import spelt
from senlin_affinity.core.server_group import ServerGroup
from senlin_affinity.core.suggestion import meant
from senlin_affinity.core.terminal_text import escaped
from senlin_affinity.policy import audit
from senlin_affinity.policy.audit import Standing

_COLUMNS = ('ID', 'Name', 'Rule', 'Members', 'Made By', 'Used By', 'Orphan')
_NO_TIME = base.Cell(None, '')
_FINDINGS = ('Server Group', 'Rule', 'Host', 'Servers', 'State', 'Since')
_EVERYWHERE = 'of all projects (for administrators)'
_NOT_ASKED = 'not asked'
#: The states of what ``group audit`` shows.
_FINE, _VIOLATED, _NOWHERE, _OUTSIDE, _DOUBLED, _GONE = (
    'ok', 'violated', 'no host known', 'outside of the group', 'two policies', 'no such group',
)  # fmt: skip


@dataclass(frozen=True)
class _Look:
    """Nova's groups, and what Senlin shows; ``compute`` is Nova."""

    compute: Any
    groups: tuple[ServerGroup, ...]
    seen: Any
    is_everywhere: bool

    def standings(self) -> list[Standing]:
        seen = self.seen
        return list(audit.standings(self.groups, seen.ledger, seen.hints, seen.specs))

    def orphans(self) -> list[Standing]:
        """Those of which only a name is known come last."""
        found = [each for each in self.standings() if each.is_orphan]
        return sorted(found, key=lambda each: each.made_by == audit.PERHAPS)


class _OfGroups(base.Command):
    """A command that looks at Nova and at Senlin."""

    def _look(self, timeout: float | None, *, is_everywhere: bool = False) -> _Look:
        if not self.has_cloud():
            raise base.UsageError('name a cloud: --os-cloud, or OS_CLOUD')
        from senlin_affinity.cloud import connection, eyes, senlin
        from senlin_affinity.cloud.server_groups import NovaServerGroups

        owner = eyes.of(self.connection(timeout)).owner
        compute = connection.compute(owner, timeout)
        # Nova first: what is created and bound meanwhile is not taken for left behind.
        groups = NovaServerGroups(compute)
        known = groups.of_every_project() if is_everywhere else groups.own()
        project = None if is_everywhere else connection.ids(owner)[1]
        seen = senlin.see(connection.clustering(owner, timeout), project)
        return _Look(compute, known, seen, is_everywhere)


class ListGroups(_OfGroups, base.Lister):
    """Show server groups, which policy's clusters use them, and which of them are left behind."""

    def _add_arguments(self, add: base.Add) -> None:
        add(
            '--orphans',
            action='store_true',
            help='only those that a policy made and nobody uses; the exit status is 3 if there are '
            'any',
        )
        add('--all-projects', action='store_true', help=_EVERYWHERE)
        base.add_timeout(add)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Look, and show a row for each."""
        look = self._look(parsed_args.timeout, is_everywhere=parsed_args.all_projects)
        found = look.orphans() if parsed_args.orphans else look.standings()
        if parsed_args.orphans:
            self.exit_status = 3 if found else 0
        return _COLUMNS, [_row(each) for each in found]


class DeleteGroups(_OfGroups):
    """Delete the server groups of the project that policies made and nobody uses any more."""

    def _add_arguments(self, add: base.Add) -> None:
        add('--orphans', action='store_true', required=True, help='those of group list --orphans')
        add(
            '--by-name',
            action='store_true',
            help='also those of which a policy only noted a name: they may belong to others',
        )
        add('--yes', action='store_true', help='do not ask')
        add(
            '--dry-run',
            action='store_true',
            help='only say which; the exit status is 3 if there are any',
        )
        base.add_timeout(add)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Look, ask, look again, and delete what is still left behind."""
        say = self.app.stdout.write
        orphans = self._look(parsed_args.timeout).orphans()
        found = [each for each in orphans if _may_be_deleted(each, parsed_args)]
        for each in orphans:
            say(f'{escaped(each.group.name)} ({each.group.id}), made by: {each.made_by}\n')
        if not orphans:
            say('no server group is left behind\n')
        if left := len(orphans) - len(found):
            say(f'{left} of them known by name only, and kept: --by-name deletes them as well\n')
        self.exit_status = 3 if left or (found and parsed_args.dry_run) else 0
        if found and not parsed_args.dry_run:
            if parsed_args.yes or self._is_agreed(len(found)):
                self._delete({each.group.id for each in found}, parsed_args)
            else:
                say('nothing is deleted\n')
                self.exit_status = 3

    def _is_agreed(self, number: int) -> bool:
        self.app.stdout.write(f'Delete {number} server group(s)? [y/N] ')
        self.app.stdout.flush()
        said = self.app.stdin.readline() if self.app.stdin else ''  # None: it is closed
        if not said:
            self.app.stdout.write('\n')
            raise base.UsageError('nothing is deleted: no answer; --yes deletes without asking')
        return said.strip().lower() in ('y', 'yes')

    def _delete(self, agreed: set[str], parsed_args: argparse.Namespace) -> None:
        from senlin_affinity.cloud.server_groups import NovaServerGroups

        self.end_operation()  # a person may have thought for long
        look = self._look(parsed_args.timeout)  # it may be used by now
        for each in look.orphans():
            if each.group.id in agreed and _may_be_deleted(each, parsed_args):
                try:
                    NovaServerGroups(look.compute).delete(each.group.id)
                except CloudError as error:
                    self.app.stderr.write(f'{base.one_line(error)}\n')
                    self.exit_status = 1
                else:
                    self.app.stdout.write(f'deleted {escaped(each.group.name)} ({each.group.id})\n')


class AuditGroups(_OfGroups, base.Lister):
    """Show where the members of server groups are, and which rules do not hold.

    Without a name, of all groups that clusters of the project use. The exit status is 3 if a rule
    is violated, a server of a cluster is not in the group, a cluster has two affinity policies
    with different groups, or the group of a policy is gone.
    """

    def _add_arguments(self, add: base.Add) -> None:
        add('group', metavar='GROUP', nargs='?', help='its name or id')
        add('--cluster', metavar='C', help='the groups of this cluster; its name or id')
        add('--all-projects', action='store_true', help=_EVERYWHERE)
        base.add_timeout(add)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Look, and show a row for each host of each group, and for each finding."""
        if parsed_args.group is not None and parsed_args.cluster is not None:
            raise base.UsageError('name a server group, or a cluster with --cluster, not both')
        look = self._look(parsed_args.timeout, is_everywhere=parsed_args.all_projects)
        clusters = _clusters(parsed_args.cluster, look)
        bound = [each for each in look.seen.ledger.bound if each.cluster in clusters]
        wanted = {each.binding.servergroup_id for each in bound}
        if parsed_args.group is not None:
            named = _named(parsed_args.group, look.groups)
            wanted = {group.id for group in named}
        groups = self._located([each for each in look.groups if each.id in wanted], look)
        rows: list[tuple[Any, ...]] = []
        for group in groups:
            rows += self._findings(group, look)
            rows += _outside(group, bound, look)
        for group_id in sorted(wanted - {group.id for group in groups}):
            rows.append((_text(group_id), '', '', '', _GONE, _NO_TIME))
        if parsed_args.group is None:
            ledger = dataclasses.replace(look.seen.ledger, bound=tuple(bound))
            for name, policies in audit.doubled(ledger):
                rows.append((_text(policies), '', '', _text(name), _DOUBLED, _NO_TIME))
        is_wrong = any(row[4] not in (_FINE, _NOWHERE) for row in rows)
        self.exit_status = 3 if is_wrong else 0
        return _FINDINGS, rows

    def _located(self, groups: Sequence[ServerGroup], look: _Look) -> Sequence[ServerGroup]:
        if not any(group.members for group in groups):
            return groups
        from senlin_affinity.cloud import members

        known = members.listed(look.compute, groups, is_administrator=look.is_everywhere)
        return members.located(groups, known)

    def _findings(self, group: ServerGroup, look: _Look) -> Iterator[tuple[Any, ...]]:
        from senlin_affinity.cloud import arrivals

        found = audit.places(group)
        violated = [place for place in found if place.is_violated]
        asked = audit.fitting(violated, arrivals.MOST)
        servers = [each for place in asked for each in place.servers]
        times = arrivals.arrived(look.compute, servers)
        for place in found:
            since = audit.since(group, place, times) if place in asked else None
            is_cut = place.is_violated and place not in asked
            yield _finding(group, place, base.Cell(since, since or (_NOT_ASKED if is_cut else '')))


def _row(standing: Standing) -> tuple[Any, ...]:
    group = standing.group
    users = base.Cell(list(standing.users), escaped(', '.join(standing.users)) or '-')
    members = len(group.members)
    return (
        group.id, _text(group.name), rule(group), members, standing.made_by, users,
        standing.is_orphan,
    )  # fmt: skip


def _may_be_deleted(standing: Standing, parsed_args: argparse.Namespace) -> bool:
    return standing.made_by == audit.MADE or parsed_args.by_name


def _text(text: str) -> base.Cell:
    return base.Cell(text, escaped(text))


def _servers(servers: Sequence[str]) -> base.Cell:
    return base.Cell(list(servers), '\n'.join(servers))


def _finding(group: ServerGroup, place: Place, since: base.Cell) -> tuple[Any, ...]:
    state = _VIOLATED if place.is_violated else _FINE
    if place.host is None:
        state = _NOWHERE
    servers = _servers(place.servers)
    return _text(group.name), rule(group), _text(place.host or ''), servers, state, since


def _outside(group: ServerGroup, bound: Sequence[Any], look: _Look) -> Iterator[tuple[Any, ...]]:
    clusters = {each.cluster for each in bound if each.binding.servergroup_id == group.id}
    servers = [node.server for node in look.seen.nodes if node.cluster in clusters]
    found = audit.outside(group, servers)
    if found:
        yield _text(group.name), rule(group), '', _servers(found), _OUTSIDE, _NO_TIME


def _clusters(word: str | None, look: _Look) -> set[str]:
    known = look.seen.ledger.clusters
    found = {key for key, name in known.items() if word is None or word in (key, name)}
    if word is not None and not found:
        raise base.UsageError(f'there is no cluster {word!r}: {meant(word, known.values())}')
    return found


def _named(word: str, groups: Sequence[ServerGroup]) -> list[ServerGroup]:
    found = [group for group in groups if word == group.name or spelt(word) == group.id]
    if not found:
        names = [group.name for group in groups]
        raise base.UsageError(f'there is no server group {word!r}: {meant(word, names)}')
    return found
