"""List, delete and audit server groups.

The commands read Nova's groups, and the clusters, bindings, policies and profiles that Senlin's API
shows. Exit status 3: a group is orphaned, or violates its policy.
"""

from __future__ import annotations

import argparse
import dataclasses
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from senlin_affinity.cli import base
from senlin_affinity.cli import group_view as view
from senlin_affinity.groups import audit, steps
from senlin_affinity.groups.attachment import GROUP_NAME_PREFIX
from senlin_affinity.groups.audit import DeleteOrphan, GroupReferences, GroupStatus
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.member_of import spelt
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.suggestion import meant
from senlin_affinity.model.terminal_text import escaped

_EVERYWHERE = 'include all projects (for administrators)'
#: Seconds between two lines of progress.
_BETWEEN = 5
_UNCHECKED = (
    'clusters of other projects may use these orphans: only an administrator can check this\n'
)


@dataclass(frozen=True)
class _Listing:
    """The groups of Nova, and their users in Senlin; ``compute`` and ``clustering`` are clients.

    ``clustering`` is None in a cloud without Senlin.
    """

    compute: Any
    clustering: Any
    groups: tuple[ServerGroup, ...]
    clustering_view: Any
    is_everywhere: bool
    prefix: str

    @cached_property
    def statuses(self) -> tuple[GroupStatus, ...]:
        return (*audit.statuses(self.groups, self.clustering_view.uses, self.prefix),)

    def warning(self) -> str:
        """Return a warning if an unreadable cluster may use an orphan; '' otherwise."""
        is_sure = self.clustering_view.is_complete or not self.orphans
        return '' if is_sure else _UNCHECKED

    @property
    def orphans(self) -> tuple[GroupStatus, ...]:
        return tuple(each for each in self.statuses if each.is_orphan)


class _OfGroups(base.Command):
    """A command that reads groups from Nova and bindings from Senlin."""

    _next_report = 0.0

    def _fetch(
        self,
        parsed_args: argparse.Namespace,
        *,
        is_everywhere: bool = False,
        is_senlin_needed: bool = True,
        with_foreign_users: bool = True,
    ) -> _Listing:
        self.check_has_cloud()
        from senlin_affinity.cloud import clients, connection, senlin
        from senlin_affinity.cloud.server_groups import NovaServerGroups

        prefix = parsed_args.prefix
        owner = clients.of(self.connection(parsed_args.timeout)).owner
        compute = connection.compute(owner)
        # Read Nova first, so that a group which is created and bound meanwhile is not an orphan.
        groups = NovaServerGroups(compute)
        known = groups.of_every_project() if is_everywhere else groups.own()
        project = None if is_everywhere else connection.ids(owner)[1]
        if not is_senlin_needed and not connection.has_clustering(owner):
            nothing = senlin.Clustering(GroupReferences({}))
            return _Listing(compute, None, known, nothing, is_everywhere, prefix)
        clustering = connection.clustering(owner)
        self._next_report = time.monotonic() + _BETWEEN
        clustering_view = senlin.fetch(
            clustering,
            project,
            with_foreign_users=with_foreign_users,
            progress=self._report_progress,
        )
        return _Listing(compute, clustering, known, clustering_view, is_everywhere, prefix)

    def _report_progress(self, done: int, number: int) -> None:
        """Write a line to stderr, at most every five seconds."""
        now = time.monotonic()
        if now >= self._next_report and done < number:
            self._next_report = now + _BETWEEN
            self.app.stderr.write(f'read the policies of {done:,} of {number:,} clusters\n')


class ListGroups(_OfGroups, base.Lister):
    """List server groups, the clusters that use them through a policy, and the orphans."""

    example = '--orphans'
    long_only = ('ID',)
    nothing = 'there are no server groups'

    def _add_arguments(self, add: base.Add) -> None:
        add(
            '--orphans',
            action='store_true',
            help='list only unused groups that are named after a nonexistent cluster; the exit '
            'status is 3 if there are any',
        )
        add('--all-projects', action='store_true', help=_EVERYWHERE)
        base.add_long(add)
        add_common(add)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Return a row for each group."""
        listing = self._fetch(
            parsed_args,
            is_everywhere=parsed_args.all_projects,
            is_senlin_needed=parsed_args.orphans,
        )
        found = listing.orphans if parsed_args.orphans else listing.statuses
        width = shutil.get_terminal_size().columns
        self.app.stderr.write(listing.warning() + view.advice(found, width))
        if parsed_args.orphans:
            self.nothing = 'there are no orphans'
            self.exit_status = 3 if found else 0
        return view.COLUMNS, [view.of_status(each) for each in found]


class DeleteGroups(_OfGroups):
    """Delete the unused server groups of the project that are named after a deleted cluster."""

    example = '--orphans --dry-run'

    def _add_arguments(self, add: base.Add) -> None:
        add(
            '--orphans',
            action='store_true',
            required=True,
            help='delete the orphans of "group list"',
        )
        add('--yes', action='store_true', help='do not ask for confirmation')
        add(
            '--dry-run',
            action='store_true',
            help='only list the groups; the exit status is 3 if there are any',
        )
        add_common(add)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Delete each orphaned group, and report those that are kept."""
        say = self.app.stdout.write
        listing = self._fetch(parsed_args)
        found = listing.orphans
        self.app.stderr.write(listing.warning())
        for each in found:
            say(f'{escaped(each.group.name)} ({each.group.id}), made by: {each.made_by}\n')
        if not found:
            say('there are no orphans\n')
        self.exit_status = 3 if found and parsed_args.dry_run else 0
        if found and not parsed_args.dry_run:
            if parsed_args.yes or self._is_agreed(len(found)):
                self._delete({each.group.id for each in found}, parsed_args)
            else:
                say('nothing was deleted\n')
                self.exit_status = 3

    def _is_agreed(self, number: int) -> bool:
        self.app.stdout.write(f'Delete {number} server group(s)? [y/N] ')
        self.app.stdout.flush()
        answer = self.app.stdin.readline() if self.app.stdin else ''  # None: stdin is closed
        if not answer:
            self.app.stdout.write('\n')
            raise base.UsageError('nothing was deleted: nobody answered; use --yes to confirm')
        return answer.strip().lower() in ('y', 'yes')

    def _delete(self, agreed: set[str], parsed_args: argparse.Namespace) -> None:
        deleted: set[str] = set()
        for group_id in sorted(agreed):
            self.end_operation()
            try:
                group = self._deleted(DeleteOrphan(group_id, parsed_args.prefix), parsed_args)
            except CloudError as error:
                self.app.stderr.write(f'{base.one_line(error)}\n')
                self.exit_status = 1
                continue
            if group is None:
                self.app.stderr.write(f'server group {group_id} is no longer an orphan: kept\n')
                self.exit_status = self.exit_status or 3
            else:
                deleted.add(group_id)
                self.app.stdout.write(f'deleted {escaped(group.name)} ({group_id})\n')
        if deleted:
            self._check(deleted, parsed_args)

    def _deleted(
        self, operation: DeleteOrphan, parsed_args: argparse.Namespace
    ) -> ServerGroup | None:
        """Delete one orphan; return it, or None if it is kept."""
        from senlin_affinity.cloud import senlin
        from senlin_affinity.cloud.server_groups import NovaServerGroups

        listing = self._fetch(parsed_args)

        def perform(effect: Any) -> Any:
            match effect:
                case steps.SearchGroups():
                    return listing.groups
                case audit.ReadUses():
                    return listing.clustering_view.uses
                case audit.HasCluster(cluster):
                    return senlin.has_cluster(listing.clustering, cluster)
            return steps.ask_nova(effect, NovaServerGroups(listing.compute))

        return steps.run(operation.step(), perform)

    def _check(self, deleted: set[str], parsed_args: argparse.Namespace) -> None:
        """Report the groups that a cluster uses all the same, for example after a restore."""
        self.end_operation()
        uses = self._fetch(parsed_args).clustering_view.uses
        for group_id in sorted(deleted):
            if users := uses.users_of(group_id):
                self.app.stderr.write(
                    f'server group {group_id} was deleted while a policy was attached to cluster '
                    f'{escaped(", ".join(users))}: detach the policy, and attach it again\n'
                )
                self.exit_status = 1


class AuditGroups(_OfGroups, base.Lister):
    """Show the hosts of the members of server groups, and the violated rules.

    Without a name, audit all groups of the project. The exit status is 3 if a rule is violated, a
    server of a cluster is not in the group, a cluster has two affinity policies with different
    groups, the group of a policy is gone or has two owners, or a group is left behind.
    """

    example = 'web'
    long_only = ('Servers',)
    nothing = 'there are no members and no findings'

    def _add_arguments(self, add: base.Add) -> None:
        add('group', metavar='GROUP', nargs='?', help='a server group, by name or id')
        add('--cluster', metavar='C', help='audit the groups of this cluster, by name or id')
        add('--all-projects', action='store_true', help=_EVERYWHERE)
        base.add_long(add)
        add_common(add)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Return a row for each host of each group, and for each finding."""
        if parsed_args.group is not None and parsed_args.cluster is not None:
            raise base.UsageError('specify a server group or --cluster, not both')
        listing = self._fetch(
            parsed_args,
            is_everywhere=parsed_args.all_projects,
            is_senlin_needed=parsed_args.cluster is not None,
            with_foreign_users=False,
        )
        clusters = _clusters(parsed_args.cluster, listing)
        bound = [each for each in listing.clustering_view.uses.bound if each.cluster in clusters]
        wanted = {each.binding.servergroup_id for each in bound}
        if parsed_args.group is not None:
            named = _named(parsed_args.group, listing.groups)
            wanted = {group.id for group in named}
        elif parsed_args.cluster is None:
            wanted |= {group.id for group in listing.groups}
        groups, names = view.located(
            [each for each in listing.groups if each.id in wanted],
            listing.compute,
            is_administrator=listing.is_everywhere,
        )
        rows: list[tuple[Any, ...]] = []
        for group in groups:
            rows += (view.finding(group, place, names) for place in audit.places(group))
            here = {each.cluster for each in bound if each.binding.servergroup_id == group.id}
            servers = [
                node.server for node in listing.clustering_view.nodes if node.cluster in here
            ]
            rows += view.outside(group, servers, names, listing.compute)
        missing = sorted(wanted - {group.id for group in groups})
        rows += [view.without_group(group_id, view.GONE) for group_id in missing]
        if parsed_args.group is None:
            uses = dataclasses.replace(listing.clustering_view.uses, bound=tuple(bound))
            for name, policies in audit.conflicting_policies(uses):
                rows.append(view.without_group(policies, view.DOUBLED, name))
            for name, owners in audit.shared_ownership(groups, listing.clustering_view.uses):
                rows.append(view.without_group(name, view.TWO_OWNERS, owners))
        if parsed_args.group is None and parsed_args.cluster is None:
            rows += view.unused(listing.statuses)
        is_wrong = any(row[view.STATE] not in view.HARMLESS for row in rows)
        self.exit_status = 3 if is_wrong else 0
        return view.FINDINGS, rows


def add_common(add: base.Add) -> None:
    """Add the options of all commands that read groups."""
    add(
        '--prefix',
        default=GROUP_NAME_PREFIX,
        help="the value of the engines' option group_name_prefix (default: %(default)s)",
    )
    base.add_timeout(add)


def _clusters(word: str | None, listing: _Listing) -> set[str]:
    known = listing.clustering_view.uses.clusters
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
