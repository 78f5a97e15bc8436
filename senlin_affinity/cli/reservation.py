"""``reservation recipe``: the commands that keep aggregates free, with what Nova has of its own.

Units: exit statuses are 0 (printed), 1 (not known who is in the aggregates), 2 (usage: no such
aggregate, flavor or trait).

Source: Nova's request filter ``isolate_aggregates``; its manual, "Filtering hosts by isolating
aggregates".
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from senlin_affinity import api
from senlin_affinity.cli import base, given
from senlin_affinity.core.aggregates.isolation import REQUIRED, TRAIT
from senlin_affinity.core.errors import AffinityError
from senlin_affinity.core.member_of import spelt
from senlin_affinity.core.objects import Aggregate
from senlin_affinity.core.suggestion import meant

#: Of a trait that is not one of OpenStack's own.
_CUSTOM = re.compile(r'CUSTOM_[A-Z0-9_]{1,248}')

_FIRST = """\
# Keeps aggregates for servers that require {trait}, where nova.conf says so
# on all hosts of nova-scheduler: [scheduler] enable_isolated_aggregate_filtering = true
(
set -e
export OS_PLACEMENT_API_VERSION=1.6
openstack trait create {trait}"""
_HOSTS = """\
for host in {hosts}; do
    provider=$(openstack resource provider list --name "$host" -f value -c uuid)
    traits=$(openstack resource provider trait list "$provider" -f value)
    openstack resource provider trait set "$provider" --trait {trait} \\
        $(echo "$traits" | sed '/^{trait}$/d; s/^./--trait &/')
done"""


class Recipe(base.Command):
    """Print the commands that keep aggregates for servers with one trait (nothing is changed).

    Nova keeps to them where its option enable_isolated_aggregate_filtering is set.
    """

    def _add_arguments(self, add: base.Add) -> None:
        add('aggregates', metavar='AGGREGATE', nargs='+', help='kept; its name or UUID')
        add(
            '--trait',
            help='what a server must require to use them (default: CUSTOM_RESERVED_ and the name '
            'of the first aggregate)',
        )
        add('--flavor', metavar='NAME', help='servers of this flavor may use them')
        add('--image', metavar='NAME', help='servers of this image may use them')
        add(
            '--snapshot',
            metavar='FILE',
            help='look the hosts up in a saved snapshot ("-": from standard input)',
        )
        base.add_file_size(add)
        base.add_timeout(add)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Look the hosts up, and print the lines."""
        look = self._look(parsed_args)
        snapshot = look.snapshot
        for part, known in (('hosts', snapshot.hosts), ('aggregates', snapshot.aggregates)):
            if known is None:
                why = look.unknown.get(part, 'the snapshot does not have them')
                raise AffinityError(f'the {part} are not known: {why}')
        found = [_aggregate(name, snapshot.aggregates or ()) for name in parsed_args.aggregates]
        trait = parsed_args.trait or _trait(found[0].name)
        if not _CUSTOM.fullmatch(trait):
            raise base.UsageError(
                f'--trait: must be CUSTOM_ and capitals, digits or _, not {trait!r}'
            )
        names = [flavor.name for flavor in snapshot.flavors or ()]
        if parsed_args.flavor is not None and names and parsed_args.flavor not in names:
            raise base.UsageError(
                f'there is no flavor {parsed_args.flavor!r}: {meant(parsed_args.flavor, names)}'
            )
        uuids = {aggregate.uuid for aggregate in found}
        hosts = sorted(
            host.hypervisor_hostname for host in snapshot.hosts or () if uuids & host.aggregates
        )
        users = {'flavor': parsed_args.flavor, 'image': parsed_args.image}
        for line in recipe(trait, hosts, [aggregate.name for aggregate in found], users):
            self.app.stdout.write(f'{line}\n')

    def _look(self, parsed_args: argparse.Namespace) -> api.Look:
        if parsed_args.snapshot is not None:
            return given.look(parsed_args.snapshot, self.app.stdin, parsed_args.max_file_size)
        timeout = parsed_args.timeout
        connection = self.cloud_in_place_of_file(timeout)
        return api.see(api.eyes_of(connection), api.Needs(server_groups=()), timeout)


def recipe(
    trait: str, hosts: Sequence[str], aggregates: Sequence[str], users: Mapping[str, str | None]
) -> Iterator[str]:
    """The lines for a shell, of which none runs after one that failed.

    The traits that a provider has are read when the lines run, as setting them replaces all. The
    aggregates come after the hosts, so that nobody is kept off who requires the trait.

    :param hosts: the names of the hypervisors, which are those of the resource providers.
    :param users: the flavor and the image that may use the aggregates; None for none.
    """
    wanted = f'{TRAIT}{trait}={REQUIRED}'
    yield _FIRST.format(trait=trait)
    if hosts:
        yield _HOSTS.format(trait=trait, hosts=shlex.join(hosts))
    else:
        yield '# There is no host in it yet. Run these commands again when there is.'
    for name in aggregates:
        yield f'openstack aggregate set --property {wanted} {shlex.quote(name)}'
    for kind, user in users.items():
        if user is not None:
            yield f'openstack {kind} set --property {wanted} {shlex.quote(user)}'
    yield ')'


def _aggregate(word: str, aggregates: Sequence[Aggregate]) -> Aggregate:
    for aggregate in aggregates:
        if word == aggregate.name or spelt(word) == aggregate.uuid:
            return aggregate
    names = [aggregate.name for aggregate in aggregates]
    raise base.UsageError(f'there is no aggregate {word!r}: {meant(word, names)}')


def _trait(name: str) -> str:
    """A name as a part of a trait: ``gold (rack 1)`` is CUSTOM_RESERVED_GOLD_RACK_1."""
    part = re.sub('[^A-Z0-9]+', '_', name.upper()).strip('_')
    if not part:
        raise base.UsageError(f'--trait: give one, since {name!r} has no letters for it')
    return f'CUSTOM_RESERVED_{part}'
