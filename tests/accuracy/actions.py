"""Carry out random actions on servers in a real Nova, and compare the answers about them.

The clouds are those of :mod:`drains`, with aggregates, GPUs, images and more filters. Before each
action, hosts are disabled, filled, or lose a trait. Then:

* Nova must carry out an action for which ``plan --server`` finds a host, and choose one that is not
  rejected; it must reject an action without one. An answer "at most" is counted apart.
* ``server explain`` must reject each host for the reason that nova-scheduler's log and Placement's
  answer show.

Run: ``python -m tests.accuracy.actions 20`` for 15 actions each of 20 clouds. The exit status is 1
if an answer was wrong.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from senlin_affinity import api
from senlin_affinity.answers import headline
from senlin_affinity.answers.explanation import Explanation
from senlin_affinity.answers.repetition import explain
from senlin_affinity.cloud import failed_servers, named_servers
from senlin_affinity.conf.constraint_plugins import load_constraints
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.nova.actions import Action, ServerAction
from senlin_affinity.preflight.failed_server import Cause, question_of
from senlin_affinity.preflight.server_action import OBSTACLE, ActionRequest, asking
from senlin_affinity.preflight.server_action import question_of as question_of_action
from tests.accuracy import drains, failures, loop
from tests.accuracy.asking import optional_input
from tests.accuracy.case import Ask, Provider
from tests.accuracy.drains import Drain, Guest
from tests.accuracy.moving import FAILED, REFUSED, SUCCEEDED, act, let_up, set_service
from tests.accuracy.stage import Stage
from tests.support import scheduler_log
from tests.support.values import replace

_HOST = 'OS-EXT-SRV-ATTR:host'
#: Actions on the servers of one cloud.
ROUNDS = 15
_FAST = 'CUSTOM_FAST'
_FILTERS = (
    *DEFAULT_FILTERS,
    *('AggregateInstanceExtraSpecsFilter', 'AggregateImagePropertiesIsolation'),
    *('DifferentHostFilter', 'SameHostFilter', 'AggregateMultiTenancyIsolation'),
)
_FLAVORS: dict[str, dict[str, Any]] = {
    'ssd': {'extra_specs': {'aggregate_instance_extra_specs:ssd': 'true'}},
    'gpu': {'extra_specs': {'resources:VGPU': '1'}},
    'slow': {'extra_specs': {f'trait:{_FAST}': 'forbidden'}},
    'huge': {'ram': 4096},
}
_IMAGES: dict[str, dict[str, Any]] = {
    'plain': {},
    'xen': {'img_hv_type': 'xen'},
    'fast': {f'trait:{_FAST}': 'required'},
    'fedora': {'os_distro': 'fedora'},
    'wide': {'min_ram': 128},
    'deep': {'min_disk': 3},
}
#: The actions, the more frequent ones several times.
_ACTIONS = (*Action, *Action, Action.RESIZE, Action.UNSHELVE, Action.LIVE_MIGRATE, Action.MIGRATE)
_WITH_HOST = (Action.MIGRATE, Action.LIVE_MIGRATE, Action.EVACUATE, Action.UNSHELVE)
_NAMES: dict[Action, str] = {
    Action.LIVE_MIGRATE: 'os-migrateLive',
    **{each: each.value for each in Action if each is not Action.LIVE_MIGRATE},
}
#: After these, no API shows what Nova still has of the server: its allocation on the former host,
#: which the restart of nova-compute would free; and the image of the rebuild.
_REPLACED = (('evacuate', SUCCEEDED), ('rebuild', FAILED))
#: Nova's fake driver keeps a server that has moved live.
_ALREADY = 'already exists'
#: What only a real hypervisor checks.
_NOT_OF_FAKE = '(CPU model and hypervisor version)'
_LATE = 'move.smaller_disk'
FITS, REJECTED, AT_MOST = 'fits', 'rejected', 'at most'


@dataclass(frozen=True)
class Asked:
    """A random action on a server, with the names of its flavor, image and host."""

    action: Action
    server: str
    flavor: str | None = None
    image: str | None = None
    host: str | None = None

    def __str__(self) -> str:
        more = (each for each in (self.flavor, self.image, self.host) if each is not None)
        return ' '.join((self.action.value, self.server[:4], *more))


@dataclass(frozen=True)
class Outcome:
    """The answer, what Nova did, the number of compared hosts, and what was wrong."""

    seed: int
    action: str
    asked: str
    answer: str
    nova: str
    causes: tuple[str, ...]
    by_filter: int
    by_placement: int
    is_open: bool
    wrong: tuple[str, ...]

    def title(self) -> str:
        """Return the outcome as a line."""
        what = f'{self.seed} {self.asked}: {self.answer}, {self.nova}'
        return f'{what} ({", ".join(self.causes)})' if self.causes else what


def generate(seed: int) -> Drain:
    """Return the cloud of a seed."""
    drain, rng = drains.generate(seed), random.Random(f'actions {seed}')
    case = drain.case
    names = sorted(case.hosts)
    flavors = {
        name: {'vcpus': 1, 'ram': 64, 'disk': 1, **body}
        for name, body in {**case.flavors, **_FLAVORS}.items()
    }
    some = [name for name in names if rng.random() < 0.5]
    theirs = [name for name in names if rng.random() < 0.08]
    gpus = [name for name in names if rng.random() < 0.4]
    groups = case.groups or {'g0': {'policy': rng.choice(('anti-affinity', 'affinity'))}}
    options: dict[str, dict[str, Any]] = {}
    if rng.random() < 0.3:
        options = {'DEFAULT': {'allow_resize_to_same_host': True}}
    case = replace(
        case,
        kind='actions',
        flavors=flavors,
        aggregates={
            'ssd': {'hosts': some, 'metadata': {'ssd': 'true', 'os_distro': 'debian'}},
            'vip': {'hosts': theirs, 'metadata': {'filter_tenant_id': '{demo}'}},
        },
        images=_IMAGES,
        groups=groups,
        providers=(*(Provider(name, {'VGPU': {'total': rng.randint(1, 2)}}) for name in gpus),),
        quotas={'admin': {'cores': rng.randint(8, 14)}} if rng.random() < 0.2 else {},
        filters=_FILTERS,
        nova_options=options,
    )
    return replace(
        drain, case=case, guests=(*(_varied(rng, each, groups) for each in drain.guests),)
    )


def _varied(rng: random.Random, guest: Guest, groups: Iterable[str]) -> Guest:
    """Return the server, perhaps with another flavor, image or group."""
    if guest.group is None and rng.random() < 0.5:
        guest = replace(guest, group=rng.choice((*groups,)))
    if rng.random() < 0.4:
        guest = replace(guest, flavor=rng.choice(('ssd', 'gpu', 'slow')))
    if rng.random() < 0.2:
        guest = replace(guest, image=rng.choice(('fast', 'fedora', 'wide')))
    return guest


class Cloud:
    """The cloud of a stage, for actions on its servers."""

    def __init__(self, stage: Stage, drain: Drain) -> None:
        self._stage, self._drain, self._nova = stage, drain, stage.admin
        self._rng = random.Random(f'actions on {drain.case.seed}')
        self._constraints = load_constraints()
        known = optional_input(stage, drain.case, Ask(1))
        known.pop('image')
        self._settings = api.Question(0, **known)

    def outcome(self) -> Outcome | None:
        """Change the cloud, ask, act, compare, and restore the cloud; None without a server."""
        enabled = {name for name, host in self._hosts.items() if not host.get('disabled')}
        chosen = self._chosen()
        if chosen is None:
            return None
        self._down, self._tally = list[str](), failures.Tally()
        with self._stage.changes():
            asked = self._prepared(*chosen, enabled)
            found = self._compared(asked)
        self._restore(asked, found)
        self._stage.enable(enabled)
        self._stage.put('servers', {})
        return found

    @property
    def _hosts(self) -> dict[str, dict[str, Any]]:
        return self._drain.case.hosts

    def _chosen(self) -> tuple[dict[str, Any], Action] | None:
        """Return a random server and an action, which rarely does not go with its state."""
        servers = self._nova.call('GET', '/servers/detail?all_tenants=1')['servers']
        if not servers:
            return None
        servers.sort(key=lambda each: each['OS-EXT-SRV-ATTR:instance_name'])  # by age
        server, action = self._rng.choice(servers), self._rng.choice(_ACTIONS)
        if server['status'] == 'SHELVED_OFFLOADED' and self._rng.random() < 0.8:
            action = Action.UNSHELVE
        return server, action

    def _prepared(self, server: dict[str, Any], action: Action, enabled: set[str]) -> Asked:
        """Bring the server into a state for the action, change the hosts; return the action."""
        rng, nova, given = self._rng, self._nova, str(server['id'])
        source = server[_HOST]
        if action is Action.UNSHELVE and server['status'] in ('ACTIVE', 'SHUTOFF', 'PAUSED'):
            nova.act(given, 'shelve')
            nova.ended(given, 'SHELVED_OFFLOADED')
        if action is Action.EVACUATE and source is not None and rng.random() < 0.9:
            self._down = [source]
            set_service(nova, source, forced_down=True)
        self._change_hosts(enabled)
        asked = Asked(action, given)
        if action is Action.RESIZE:
            return replace(asked, flavor=rng.choice((*self._drain.case.flavors,)))
        if action is Action.REBUILD:
            return replace(asked, image=rng.choice((*_IMAGES,)))
        if action in _WITH_HOST and rng.random() < 0.3:
            return replace(asked, host=rng.choice((*self._hosts,)))
        return asked

    def _change_hosts(self, enabled: set[str]) -> None:
        """Disable hosts, take a trait from some, and fill some."""
        rng, stage = self._rng, self._stage
        if rng.random() < 0.4:
            stage.enable({each for each in sorted(enabled) if rng.random() < 0.6})
        for name in self._drain.case.traits:
            if rng.random() < 0.2:
                stage.lose_trait(name, _FAST)
        for name in self._hosts:
            if rng.random() < 0.45 and name not in self._down:
                self._fill(name)
        stage.put('hosts', stage.sizes)  # else, nova-conductor reads traits every five minutes

    def _fill(self, host: str) -> None:
        """Use the memory or the disk that a host has left, or most of it."""
        stage, name = self._stage, self._rng.choice(('MEMORY_MB', 'MEMORY_MB', 'DISK_GB'))
        path = f'/resource_providers/{stage.uuids[host]}'
        own = stage.place('GET', f'{path}/inventories')['inventories'][name]
        used = stage.place('GET', f'{path}/usages')['usages'][name]
        total = int((own['total'] - own['reserved']) * own['allocation_ratio'])
        free = total - used - self._rng.choice((0, 0, own['total'] // 8))
        while free > 0:
            part = min(free, own['max_unit'])
            stage.use(host, {name: part})
            free -= part

    def _compared(self, asked: Asked) -> Outcome:
        """Ask, act, and compare."""
        request = self._request(asked)
        decision = request.decide(self._constraints, remedies=False)
        fits = self._answer(decision, asked.server)
        before = self._shown(asked.server)
        failures.clear_requests(self._stage)
        self._since = scheduler_log.size(self._stage.cloud)
        done, words = act(self._nova, asked.server, *self._body(asked))
        wrong: list[str] = []
        is_of_fake = done == FAILED and _ALREADY in words
        is_open = fits == AT_MOST or is_of_fake
        if not is_open and (fits == FITS) is not (done == SUCCEEDED):
            wrong.append(f'{self._said(decision)}, but it {done}: {words}; {self._log(asked)}')
        causes = (*decision.not_known, *(each.code for each in decision.assumptions))
        if done == SUCCEEDED:
            wrong += self._of_target(asked, before, request)
        elif fits == REJECTED:
            causes = (*(each.code for each in headline.limits(decision)),) or ('?',)
        if done == FAILED and not is_of_fake:
            found = self._explained(asked)
            is_open = self._answer(found.decision, asked.server) == AT_MOST
            wrong += () if is_open else self._of_hosts(asked, found, str(before[_HOST]))
        tally, case = self._tally, self._drain.case
        return Outcome(
            case.seed,
            asked.action.value,
            str(asked),
            fits,
            done,
            causes,
            tally.by_filter[case.kind],
            tally.by_placement[case.kind],
            is_open,
            (*wrong,),
        )

    def _request(self, asked: Asked) -> ActionRequest:
        """Return the request of ``plan --server``."""
        connection = self._nova.connection
        server = named_servers.find(api.clients_of(connection), asked.server)
        named = ServerAction(asked.action, server)
        given = replace(self._settings, **self._given(asked), host=asked.host)
        question = question_of_action(named, given)
        view = api.fetch(connection, question)
        return asking(named, question, view)

    def _said(self, decision: api.Decision) -> str:
        """Return the rejections of a decision."""
        codes = {name: each.code for name, each in decision.request.items() if not each}
        hosts = {each.host: each.code for each in decision.hosts}
        return f'{decision.line()} {codes} {hosts}'

    def _log(self, asked: Asked) -> str:
        """Return the hosts of Placement, and the filter that removed each."""
        offered = failures.offered(self._stage)
        removed = scheduler_log.removed(self._stage.cloud, asked.server, offered, self._since)
        return f'offered: {sorted(offered)}, removed: {removed}'

    def _answer(self, decision: api.Decision, server: str) -> str:
        """Return the answer, without what only a real hypervisor rejects."""
        if decision.fits is False:
            found = decision.request.get(OBSTACLE)
            is_late = found is not None and found.code == _LATE and self._was_resized(server)
            return AT_MOST if is_late else REJECTED
        left = [each for each in decision.at_most if not each.endswith(_NOT_OF_FAKE)]
        return AT_MOST if left or decision.fits is None or decision.assumptions else FITS

    def _was_resized(self, server: str) -> bool:
        """Check whether the disk of a server may be larger than at its creation."""
        actions = self._nova.call('GET', f'/servers/{server}/os-instance-actions')
        return any(each['action'] == 'resize' for each in actions['instanceActions'])

    def _given(self, asked: Asked) -> dict[str, Any]:
        """Return the flavor and the image of the action."""
        stage, given = self._stage, dict[str, Any]()
        if asked.flavor is not None:
            given['flavor'] = stage.flavors[asked.flavor]
        if asked.image is not None:
            given['image'] = stage.images[asked.image]
        return given

    def _body(self, asked: Asked) -> tuple[str, Any]:
        """Return the name and the body of the request to Nova."""
        stage, host = self._stage, asked.host
        named = {} if host is None else {'host': host}
        bodies: dict[Action, Any] = {
            Action.RESIZE: {'flavorRef': stage.flavors.get(asked.flavor or '')},
            Action.REBUILD: {'imageRef': stage.images.get(asked.image or '')},
            Action.LIVE_MIGRATE: {'host': host, 'block_migration': 'auto'},
            Action.EVACUATE: named,
        }
        return _NAMES[asked.action], bodies.get(asked.action, named or None)

    def _shown(self, server: str) -> dict[str, Any]:
        found: dict[str, Any] = self._nova.call('GET', f'/servers/{server}')['server']
        return found

    def _of_target(
        self, asked: Asked, before: dict[str, Any], request: ActionRequest
    ) -> Iterator[str]:
        """Yield that Nova chose a host that is rejected for the server."""
        none = replace(request, request=replace(request.request, count=0))
        hosts = none.decide(self._constraints, remedies=False).hosts
        rejected = {each.host: each.code for each in hosts if each.code is not None}
        after = self._shown(asked.server)[_HOST]
        if after in rejected and after != before[_HOST]:
            yield f'Nova chose {after}, which is rejected by {rejected[after]}'

    def _explained(self, asked: Asked) -> Explanation:
        """Return the explanation of ``server explain``, with what Nova does not show."""
        connection = self._nova.connection
        failed = failed_servers.find(api.clients_of(connection), asked.server)
        question = question_of(failed, replace(self._settings, **self._given(asked)))
        host = failed.host or asked.host
        view = api.fetch(connection, question)
        return explain(failed, question, view, self._constraints, host, remedies=False)

    def _of_hosts(self, asked: Asked, found: Explanation, source: str) -> Iterator[str]:
        """Yield the hosts that Nova and the explanation reject for different reasons."""
        if found.failed.failure.cause is not Cause.NO_HOST:
            yield f'it failed: {found.failed.failure.message}'
            return
        if found.decision.fits is not False:
            yield f'explained as {self._said(found.decision)}'
            return
        own = source if asked.action is Action.REBUILD else None
        case = self._drain.case
        yield from map(
            str, failures.differences(self._stage, case, found, self._tally, self._since, own)
        )

    def _restore(self, asked: Asked, found: Outcome) -> None:
        """Let hosts be up again, and the server be as an administrator would leave it."""
        nova, server = self._nova, asked.server
        if self._down:
            let_up(self._stage.cloud.log_dir, nova, self._down)
        status = self._shown(server)['status']
        if status == 'VERIFY_RESIZE' and found.nova == SUCCEEDED:
            nova.act(server, 'confirmResize')
            nova.ended(server, 'ACTIVE', 'SHUTOFF')
        elif (asked.action.value, found.nova) in _REPLACED:
            nova.delete([server])
            drains.boot(self._stage, self._rng.choice(self._drain.guests))
        elif status == 'ERROR' and found.nova == FAILED:
            nova.act(server, 'os-resetState', {'state': 'active'})


def outcomes(seeds: Sequence[int]) -> Iterator[Outcome]:
    """Yield the outcomes of the actions on the clouds of these seeds."""
    options = {**scheduler_log.DEBUG['DEFAULT'], 'shelved_offload_time': 0}
    for stage, drain in drains.clouds(seeds, generate, **options):
        cloud = Cloud(stage, drain)
        for _number in range(ROUNDS):
            found = cloud.outcome()
            if found is not None:
                yield found


def sums(known: Sequence[loop.Row]) -> Iterator[str]:
    """Yield the sums of all actions, then those of each action, and the causes of failures."""
    yield f'{len({each["seed"] for each in known})} clouds: {_sums(known)}'
    for action in Action:
        own = [each for each in known if each['action'] == action.value]
        yield f'  {action.value}: {_sums(own)}'
    causes = Counter((each['nova'], cause) for each in known for cause in each['causes'][:1])
    for (nova, cause), number in causes.most_common():
        yield f'  {nova}, {cause}: {number}'


def _sums(known: Sequence[loop.Row]) -> str:
    """Return the number of actions by what Nova did."""
    done = Counter(each['nova'] for each in known)
    most = sum(each['is_open'] for each in known)
    hosts = (sum(each[name] for each in known) for name in ('by_filter', 'by_placement'))
    words = ', '.join(f'{done[name]} {name}' for name in (SUCCEEDED, FAILED, REFUSED))
    filtered, compared = hosts
    return (
        f'{len(known)} actions ({words}), {most} of them "at most"; hosts of failures: {compared} '
        f'compared with Placement, {filtered} removed by filters'
    )


if __name__ == '__main__':
    sys.exit(loop.run('actions', outcomes, sums))
