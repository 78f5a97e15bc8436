r"""Write the shell script that carries out the plan of a drain with ``openstack``.

The script disables the hosts, starts the moves of a wave, waits for their end, confirms cold
migrations, and checks each server before and after its move. It stops at the first difference.

Example::

    # Wave 1 of 2
    before 0f3d... cmp-1 ACTIVE web-1
    openstack --os-compute-api-version 2.30 server migrate --live-migration --host cmp-2 0f3d...
    after 0f3d... cmp-2 ACTIVE web-1

Source: the reference of python-openstackclient.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from operator import attrgetter

from senlin_affinity.engine.commands import migration
from senlin_affinity.engine.drain import DrainPlan, Move
from senlin_affinity.engine.drain_batches import RollingPlan
from senlin_affinity.model.server import Server
from senlin_affinity.model.terminal_text import signed
from senlin_affinity.nova.moves import LIVE

_REASON = 'drained with senlin-affinity'

_HEAD = r"""#!/bin/bash
# {title}
# Planned by senlin-affinity from the cloud {taken_at}. Run it as an administrator. Plan again if
# it stops, or if the cloud has changed.
set -euo pipefail
{cloud}
# The longest time for one move, and the time between two looks at a server, in seconds.
TIMEOUT=${{TIMEOUT:-3600}} INTERVAL=${{INTERVAL:-2}}
trap 'echo "stopped: line $LINENO failed" >&2' ERR

fail() {{
    trap - ERR
    echo "stopped: $*" >&2
    exit 1
}}

# look ID: set $status, $task and $host of a server.
look() {{
    local shown
    shown=$(openstack server show -f shell -c status -c OS-EXT-STS:task_state \
        -c OS-EXT-SRV-ATTR:host "$1") || fail "server $1 cannot be read"
    status=$(sed -n 's/^status="\(.*\)"$/\1/p' <<<"$shown")
    task=$(sed -n 's/^os_ext_sts_task_state="\(.*\)"$/\1/p' <<<"$shown")
    host=$(sed -n 's/^os_ext_srv_attr_host="\(.*\)"$/\1/p' <<<"$shown")
}}

# expect ID HOST STATUS NAME: stop if the server is not in this state on this host.
expect() {{
    [[ $host == "$2" && $status == "$3" ]] || fail "$4 ($1) is $status on $host, not $3 on $2"
}}

# before ID HOST STATUS NAME: check that the server is as it was planned.
before() {{
    look "$1"
    expect "$@"
}}

# after ID HOST STATUS NAME: wait for the end of the move, confirm it, and check the server.
after() {{
    local begin=$SECONDS is_confirmed=
    while look "$1"; [[ $task != None || $status =~ ^(MIGRATING|RESIZE|VERIFY_RESIZE)$ ]]; do
        if [[ $task == None && $status == VERIFY_RESIZE && -z $is_confirmed ]]; then
            [[ $host == "$2" ]] || fail "$4 ($1) is on $host, not on $2"
            openstack server migration confirm "$1" || fail "the move of $4 ($1) was not confirmed"
            is_confirmed=yes
        fi
        ((SECONDS - begin < TIMEOUT)) || fail "$4 ($1) is $status on $host after $TIMEOUT seconds"
        sleep "$INTERVAL"
    done
    expect "$@"
    echo "  $4 is $status on $host"
}}

# left HOST [ID...]: check that no other servers than these are on the host.
left() {{
    local host=$1 found each
    shift
    found=$(openstack server list --all-projects --host "$host" -f value -c ID) ||
        fail "the servers of $host cannot be read"
    for each in $found; do
        [[ " $* " == *" $each "* ]] || fail "server $each is on $host, which is not in the plan"
    done
}}
"""
_MAINTAIN = r"""
# maintain HOST...: run the command of the variable MAINTENANCE for the empty hosts, or wait.
maintain() {
    if [[ -n ${MAINTENANCE:-} ]]; then
        $MAINTENANCE "$@" || fail "the maintenance of $* failed"
    else
        echo "maintain $* now, and press Enter when they may take servers again"
        read -r || fail "nobody has confirmed the maintenance of $*: they stay disabled"
    fi
}

# settle: nova-scheduler sees live migrations only after scheduler_instance_sync_interval, which
# begins anew if nova-compute restarts. Until then, it counts members of groups on former hosts.
SETTLE=${SETTLE:-150}
settle() {
    echo "waiting $SETTLE seconds until nova-scheduler sees the servers on their new hosts"
    sleep "$SETTLE"
}
"""


def lines(
    plan: DrainPlan | RollingPlan,
    disabled: Collection[str],
    cloud: str = '',
    taken_at: str | None = None,
) -> Iterator[str]:
    """Yield the lines of the script; for batches, with a pause after each of them.

    :param disabled: the hosts whose services are disabled already, which keep their reason.
    :param cloud: the name of the cloud in clouds.yaml; ''.
    """
    what = 'Maintain' if isinstance(plan, RollingPlan) else 'Drain'
    yield from _head(f'{what} {", ".join(plan.hosts)}: {plan.line()}.', cloud, taken_at)
    if isinstance(plan, RollingPlan):
        yield from _batches(plan, disabled)
    else:
        yield from _moves(plan, disabled)


def _batches(plan: RollingPlan, disabled: Collection[str]) -> Iterator[str]:
    """Yield the lines of each batch, with its maintenance, and the hosts that are not emptied."""
    yield from _MAINTAIN.splitlines()
    number = len(plan.batches)
    for place, batch in enumerate(plan.batches, 1):
        names = ', '.join(batch.hosts)
        yield ''
        yield f'echo {shlex.quote(signed(f"batch {place} of {number}: {names}"))}'
        yield from _moves(batch, disabled)
        yield ' '.join(('maintain', *map(shlex.quote, batch.hosts)))
        for host in batch.hosts:
            if host not in disabled:
                yield _openstack('compute', 'service', 'set', '--enable', host, 'nova-compute')
        if place < number and any(each.kind == LIVE for each in batch.moves):
            yield 'settle'
    if not plan.left:
        return
    yield ''
    for each in plan.left:
        words = f'{each.hosts[0]} is not emptied: {"; ".join(each.stays())}'
        yield f'echo {shlex.quote(signed(words))} >&2'
    yield 'exit 3'


def _head(title: str, cloud: str, taken_at: str | None) -> Iterator[str]:
    export = f'export OS_CLOUD=${{OS_CLOUD:-{shlex.quote(cloud)}}}\n' if cloud else ''
    when = f'at {signed(taken_at)}' if taken_at else 'at an unknown time'
    yield from _HEAD.format(title=signed(title), taken_at=when, cloud=export).splitlines()


def _moves(plan: DrainPlan, disabled: Collection[str]) -> Iterator[str]:
    """Yield the lines that disable the hosts, carry out the waves, and check the end."""
    for host in plan.hosts:
        if host not in disabled:
            options = ('--disable', '--disable-reason', _REASON, host, 'nova-compute')
            yield ''
            yield f'# No server starts on {signed(host)} from now on.'
            yield _openstack('compute', 'service', 'set', *options)
    number = plan.waves
    for wave, moves in groupby(plan.moves, key=attrgetter('wave')):
        yield ''
        yield f'echo {shlex.quote(f"wave {wave} of {number}")}'
        yield from _wave([*moves])
    yield ''
    yield from _end(plan)


def _wave(moves: Iterable[Move]) -> Iterator[str]:
    """Yield the lines of the moves that run at the same time."""
    for each in moves:
        yield _step('before', each.server, each.server.host or '')
        yield _openstack(*migration(each.kind, each.server.id, each.target))
    for each in moves:
        yield _step('after', each.server, each.target)


def _step(name: str, server: Server, host: str) -> str:
    words = (server.id, host, server.status, signed(server.name))
    return ' '.join((name, *map(shlex.quote, words)))


def _end(plan: DrainPlan) -> Iterator[str]:
    """Yield the check that the hosts have no other servers than those that do not move."""
    stay = (*(each.server for each in plan.stuck), *plan.not_found)
    for host in plan.hosts:
        ids = (each.id for each in stay if each.host == host)
        yield ' '.join(('left', *map(shlex.quote, (host, *ids))))
    names = ', '.join(plan.hosts)
    if not stay:
        yield f'echo {shlex.quote(signed(f"no servers are left on {names}"))}'
        return
    for each in stay:
        yield f'echo {shlex.quote(signed(f"{each.name} ({each.id}) is still on {each.host}"))} >&2'
    yield 'exit 3'


def _openstack(*words: str) -> str:
    return ' '.join(('openstack', *map(shlex.quote, words)))
