"""Let requests fail on clouds with several kinds of hosts, and write what a reader compares.

Run: ``python -m tests.accuracy.failure_pages FOLDER --number 60``. For each failure, one page has
the cloud file, what is on the hosts, the request, and Nova's answer; the other one has what
``server explain`` and ``plan`` say to the same user. A reader names the decisive cause and the
cheapest change from the first page, and then compares them with the second one.

A request is an administrator's, or a tenant's who sees no hosts. nova-api rejects some requests
without a server, so only ``plan`` can explain them.
"""

from __future__ import annotations

import argparse
import itertools
import random
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.sandbox import config_files
from senlin_affinity.sandbox.blueprint import DEFAULT_FLAVORS
from tests.accuracy.case import HOSTS, Ask, Case, Server, Stale
from tests.accuracy.kinds.mixed import FLAVORS, METAL, node
from tests.accuracy.kinds.parts import flavor
from tests.accuracy.run import BATCH
from tests.accuracy.stage import Stage, options_of
from tests.support import command
from tests.support.values import replace

GIB = 1024
#: The cloud that each role's commands use.
CLOUDS = {'admin': 'sandbox', 'demo': 'sandbox-demo'}
_NVME, _NODE = 'CUSTOM_NVME', 'CUSTOM_BAREMETAL_GOLD'
_SSD = 'aggregate_instance_extra_specs:ssd'
_NOTES = (True, 'firmware, do not enable', 'waits for a new disk')
_FILTERS = (
    *DEFAULT_FILTERS,
    *('AggregateInstanceExtraSpecsFilter', 'AggregateMultiTenancyIsolation'),
    *('SameHostFilter', 'DifferentHostFilter', 'NUMATopologyFilter'),
)
_OF_CASE = {
    'm1.small': flavor(2 * GIB, 1, 10),
    'm1.medium': flavor(4 * GIB, 2, 20),
    'm1.large': flavor(8 * GIB, 4, 40),
    'm1.xlarge': flavor(16 * GIB, 8, 40),
    'm1.giant': flavor(32 * GIB, 16, 40),
    'c1.small': flavor(2 * GIB, 6, 10),
    'c1.wide': flavor(2 * GIB, 12, 10),
    'd1.deep': flavor(2 * GIB, 1, 150),
    'nvme.small': flavor(2 * GIB, 1, 10, **{f'trait:{_NVME}': 'required'}),
    'ssd.small': flavor(2 * GIB, 1, 10, **{_SSD: 'true'}),
    'gpu.small': flavor(2 * GIB, 1, 10, **{'resources:VGPU': '1'}),
    'bm.gold': FLAVORS[METAL],
    'pages.small': flavor(2 * GIB, 1, 10, **{'hw:mem_page_size': '1GB'}),
    'pinned.small': flavor(2 * GIB, 1, 10, **{'hw:cpu_thread_policy': 'require'}),
    # What fills hosts.
    'r1.fill': flavor(15 * GIB, 1, 10),
    'c1.fill': flavor(4 * GIB, 8, 20),
    'd1.fill': flavor(4 * GIB, 2, 180),
}


@dataclass
class Draft:
    """A cloud and a request, which a family of failures changes; two hosts are of each zone."""

    dice: random.Random
    user: str
    hosts: dict[str, dict[str, Any]]
    asked: Ask
    servers: list[Server] = field(default_factory=list)
    orphans: dict[str, dict[str, int]] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)

    #: The hosts for virtual machines, without those of other kinds.
    virtual = HOSTS[:3]
    gpu, ssd, metal = HOSTS[3:]

    def ask(self, flavor: str, **more: Any) -> None:
        """Set the request."""
        self.asked = replace(self.asked, flavor=flavor, **more)

    def fill(self, names: Sequence[str], what: str = 'r1.fill', **more: Any) -> None:
        """Put a server of this flavor on each of these hosts."""
        self.servers += [Server(name, what, **more) for name in names]

    def disable(self, names: Sequence[str]) -> None:
        """Disable hosts, with or without a reason."""
        for name in names:
            self.hosts[name]['disabled'] = self.dice.choice(_NOTES)

    def some(self, names: Sequence[str]) -> list[str]:
        """Return some of the names, at least one."""
        return sorted(self.dice.sample([*names], self.dice.randint(1, len(names))))


def draft(seed: int, user: str) -> Draft:
    """Return a cloud with room on every host: three for any server, and three of other kinds."""
    dice = random.Random(f'failure {seed}')
    size = {'vcpus': 16, 'memory_mb': 16 * GIB, 'disk_gb': 200}
    hosts = {name: {**size, 'availability_zone': 'az-1'} for name in HOSTS}
    for name in dice.sample(Draft.virtual, dice.randint(1, 2)):
        hosts[name]['availability_zone'] = 'az-2'
    hosts[Draft.gpu]['inventory'] = {'VGPU': {'total': dice.randint(1, 2)}}
    hosts[Draft.metal] = {**node(is_available=True), 'availability_zone': 'az-1'}
    return Draft(dice, user, hosts, Ask(1, user=user))


def _memory(draft: Draft) -> None:
    draft.fill([*draft.virtual, draft.gpu, draft.ssd])
    draft.ask('m1.large')


def _memory_but_disabled(draft: Draft) -> None:
    names = [*draft.virtual, draft.gpu, draft.ssd]
    spared = draft.some(draft.virtual)[:1]
    draft.fill([name for name in names if name not in spared])
    draft.disable(spared)
    draft.ask('m1.small', zone=None)


def _cpus(draft: Draft) -> None:
    draft.fill([*draft.virtual, draft.gpu, draft.ssd], 'c1.fill')
    for name in (*draft.virtual, draft.gpu, draft.ssd):
        own = draft.hosts[name].setdefault('inventory', {})
        own['VCPU'] = {'total': 16, 'allocation_ratio': 1.0}
    draft.ask('c1.wide')


def _disk(draft: Draft) -> None:
    draft.fill([*draft.virtual, draft.gpu, draft.ssd], 'd1.fill')
    draft.ask('d1.deep')


def _gpus(draft: Draft) -> None:
    draft.fill([draft.gpu] * draft.hosts[draft.gpu]['inventory']['VGPU']['total'], 'gpu.small')
    draft.ask('gpu.small')


def _gpu_host_full(draft: Draft) -> None:
    draft.fill([draft.gpu])
    draft.ask('gpu.small')


def _metal_reserved(draft: Draft) -> None:
    draft.hosts[draft.metal]['inventory'] = node(is_available=False)['inventory']
    draft.ask('bm.gold')


def _metal_disabled(draft: Draft) -> None:
    draft.disable([draft.metal])
    draft.ask('bm.gold')


def _zone_full(draft: Draft) -> None:
    names = [name for name in HOSTS[:5] if draft.hosts[name]['availability_zone'] == 'az-2']
    draft.fill(names)
    draft.ask('m1.small', zone='az-2')


def _zone_disabled(draft: Draft) -> None:
    names = [name for name in HOSTS[:5] if draft.hosts[name]['availability_zone'] == 'az-2']
    draft.disable(names)
    draft.disable([draft.ssd])
    draft.ask('m1.small', zone='az-2')


def _anti_affinity(draft: Draft) -> None:
    draft.more['groups'] = {'web': {'policy': 'anti-affinity', 'rules': {}}}
    draft.fill([*draft.virtual, draft.gpu, draft.ssd], 'm1.small', group='web')
    draft.ask('m1.small', group='web')


def _affinity(draft: Draft) -> None:
    draft.more['groups'] = {'db': {'policy': 'affinity', 'rules': {}}}
    name = draft.dice.choice(draft.virtual)
    draft.fill([name], 'm1.small', group='db')
    draft.hosts[name]['memory_mb'] = 3 * GIB
    draft.ask('m1.small', group='db')


def _too_large(draft: Draft) -> None:
    draft.ask('m1.giant')


def _trait_full(draft: Draft) -> None:
    names = draft.some(draft.virtual)
    draft.more['traits'] = dict.fromkeys(names, (_NVME,))
    draft.fill(names)
    draft.ask('nvme.small')


def _trait_missing(draft: Draft) -> None:
    draft.more['traits'] = {draft.metal: (_NVME,)}
    draft.ask('nvme.small')


def _ssd_full(draft: Draft) -> None:
    draft.fill([draft.ssd])
    draft.ask('ssd.small')


def _ssd_disabled(draft: Draft) -> None:
    draft.disable([draft.ssd])
    draft.ask('ssd.small')


def _leftovers(draft: Draft) -> None:
    names = [*draft.virtual, draft.gpu, draft.ssd]
    left = draft.some(draft.virtual)
    draft.fill([name for name in names if name not in left])
    draft.fill(left[1:], 'm1.small')
    for name in left:
        draft.orphans[name] = {'MEMORY_MB': 12 * GIB + 512, 'VCPU': 4}
    draft.ask('m1.large')


def _named(draft: Draft) -> None:
    name = draft.dice.choice(draft.virtual)
    zone = draft.hosts[name]['availability_zone']
    draft.fill([name])
    named: dict[str, Any] = draft.dice.choice([{'host': name}, {'zone': f'{zone}:{name}'}])
    if draft.user != 'admin':  # only an administrator may name a host
        named = {'hints': {'same_host': ['server 0']}}
    draft.ask('m1.small', **named)


def _architecture(draft: Draft) -> None:
    draft.more['images'] = {'arm': {'hw_architecture': 'aarch64'}}
    draft.ask('m1.small', image='arm')


def _isolated(draft: Draft) -> None:
    other = 'demo' if draft.user == 'admin' else 'admin'
    spared = draft.some(draft.virtual)
    names = [*draft.virtual, draft.gpu, draft.ssd]
    draft.fill([name for name in names if name not in spared])
    metadata = {'filter_tenant_id': f'{{{other}}}'}
    draft.more['aggregates'] = {'tenant': {'hosts': spared, 'metadata': metadata}}
    draft.ask('m1.small')


def _down(draft: Draft) -> None:
    spared = draft.some(draft.virtual)[:1]
    names = [*draft.virtual, draft.gpu, draft.ssd]
    draft.fill([name for name in names if name not in spared])
    draft.hosts[spared[0]]['down'] = True
    draft.ask('m1.small')


def _quota(draft: Draft) -> None:
    draft.fill(draft.some(draft.virtual), 'm1.small', user=_owner(draft))
    limits = draft.dice.choice([{'instances': len(draft.servers)}, {'ram': 6 * GIB}])
    draft.more['quotas'] = {draft.user: limits}
    draft.ask('m1.large')


def _pages(draft: Draft) -> None:
    draft.ask('pages.small')


def _thread_policy(draft: Draft) -> None:
    draft.ask('pinned.small')


def _image_too_large(draft: Draft) -> None:
    draft.more['images'] = {'windows': {'min_ram': 4 * GIB}}
    draft.ask('m1.small', image='windows')


FAMILIES: tuple[Callable[[Draft], None], ...] = (
    *(_memory, _memory_but_disabled, _cpus, _disk, _gpus, _gpu_host_full, _metal_reserved),
    *(_metal_disabled, _zone_full, _zone_disabled, _anti_affinity, _affinity, _too_large),
    *(_trait_full, _trait_missing, _ssd_full, _ssd_disabled, _leftovers, _named, _architecture),
    *(_isolated, _down, _quota, _pages, _thread_policy, _image_too_large),
)


def _owner(draft: Draft) -> str:
    """Return an administrator in the project of the request, who may choose hosts."""
    return 'admin' if draft.user == 'admin' else 'guest'


def case(seed: int) -> Case:
    """Return a cloud with one request that fails, of an administrator or a tenant in turn."""
    number = len(FAMILIES)
    made = draft(seed, ('admin', 'demo')[(seed + seed // number) % 2])
    FAMILIES[seed % number](made)
    owner = _owner(made)
    groups = {name: {**body, 'user': owner} for name, body in made.more.pop('groups', {}).items()}
    aggregates = {
        'ssd': {'hosts': [made.ssd], 'metadata': {'ssd': 'true'}},
        **made.more.pop('aggregates', {}),
    }
    return Case(
        FAMILIES[seed % number].__name__.strip('_').replace('_', ' '),
        seed,
        made.hosts,
        _OF_CASE,
        (made.asked,),
        aggregates,
        groups=groups,
        servers=tuple(replace(each, user=owner) for each in made.servers),
        stale=Stale(orphans=made.orphans),
        filters=_FILTERS,
        **made.more,
    )


def cloud_file(case: Case) -> dict[str, Any]:
    """Return the content of a cloud file of the sandbox."""
    hosts = {
        name: {key: value for key, value in host.items() if key not in ('down', 'disabled')}
        | ({'disabled': True} if host.get('disabled') else {})
        for name, host in case.hosts.items()
    }
    images = {
        name: {key: body[key] for key in body if key.startswith('min_')}
        | {'properties': {key: body[key] for key in body if not key.startswith('min_')}}
        for name, body in case.images.items()
    }
    # The sandbox has its default flavors beside those of the case.
    listed = {
        each.name: flavor(each.ram, each.vcpus, each.disk, **each.extra_specs)
        for each in DEFAULT_FLAVORS
    }
    flavors = {**listed, **case.flavors}
    sections = {'hosts': hosts, 'aggregates': case.aggregates, 'flavors': flavors}
    return {**sections, **({'images': images} if images else {}), 'filters': [*case.filters]}


def state(case: Case) -> list[str]:
    """Return what is on the hosts, and what the cloud file does not have."""
    groups = {server.group for server in case.servers if server.group}
    lines = [f'server group {name}: {case.groups[name]["policy"]}' for name in sorted(groups)]
    for number, server in enumerate(case.servers):
        member = f', in server group {server.group}' if server.group else ''
        lines.append(f'server {number} on {server.host}: flavor {server.flavor}{member}')
    for name, host in case.hosts.items():
        if isinstance(host.get('disabled'), str):
            lines.append(f'{name} is disabled, with the reason "{host["disabled"]}"')
        if host.get('down'):
            lines.append(f'the compute service of {name} is down')
    lines += [f'{name} has the trait {", ".join(each)}' for name, each in case.traits.items()]
    for limits in case.quotas.values():
        lines += [f'the quota {name} of the project is {limit}' for name, limit in limits.items()]
    for name, amounts in case.stale.orphans.items():
        listed = ', '.join(f'{amount} {kind}' for kind, amount in amounts.items())
        lines.append(
            f'Placement has an allocation of {listed} on {name}, of a consumer that no longer '
            'exists in Nova'
        )
    return lines


def request_line(case: Case) -> str:
    """Return the request as a command."""
    (asked,) = case.asks
    parts = ['openstack', '--os-cloud', CLOUDS[asked.user], 'server', 'create']
    parts += ['--flavor', asked.flavor, '--image', asked.image or 'cirros', '--network', 'none']
    parts += ['--availability-zone', asked.zone] if asked.zone else []
    parts += ['--host', asked.host] if asked.host else []
    parts += ['--hint', f'group={asked.group}'] if asked.group else []
    for key, value in asked.hints.items():
        parts += ['--hint', f'{key}={" ".join(value)}']
    return shlex.join([*parts, 'web-1'])


def lines_of(content: dict[str, Any]) -> list[str]:
    """Return YAML with one line for each object."""
    lines = []
    for section, objects in content.items():
        if isinstance(objects, list):
            lines.append(f'{section}: {_flow(objects)}')
            continue
        lines.append(f'{section}:')
        for name, body in objects.items():
            lines.append(f'  {name}: {_flow({key: body[key] for key in body if body[key] != {}})}')
    return lines


def _flow(value: Any) -> str:
    return yaml.safe_dump(value, sort_keys=False, default_flow_style=True, width=1000).strip()


@dataclass(frozen=True)
class Pages:
    """The two pages about a failure."""

    question: str
    answer: str


def pages(stage: Stage, case: Case) -> Pages | None:
    """Let the request of a case fail, and return its pages; None if it does not fail."""
    stage.set_up(case)
    (asked,) = case.asks
    server, status, said = _failed(stage, asked)
    if status == 'ACTIVE':
        stage.delete([server or ''])
        stage.clear()
        return None
    role = 'an administrator' if asked.user == 'admin' else 'a tenant (project demo)'
    question = '\n'.join(
        [
            f'# Who asks: {role}',
            f'# The request:\n{request_line(case)}',
            f"# Nova's answer:\n{said}",
            '# On the hosts:',
            *state(case),
            '# The cloud file:',
            *lines_of(cloud_file(case)),
            '',
        ]
    )
    answers = []
    if server is not None:
        answers.append(_run(stage, case, ['server', 'explain', server]))
        stage.delete([server])
    answers.append(_run(stage, case, _plan(stage, asked)))
    stage.clear()
    return Pages(question, '\n'.join(answers))


def _failed(stage: Stage, asked: Ask) -> tuple[str | None, str, str]:
    """Send the request; return the server, its status, and what Nova says."""
    server, status = stage.boot(asked)
    if server is None:
        return None, status, stage.novas[asked.user].refusal
    return server, status, f'status {status}: {stage.novas[asked.user].refusal}'


def _plan(stage: Stage, asked: Ask) -> list[str]:
    image = stage.cloud.image_id if asked.image is None else stage.images[asked.image]
    line = ['plan', '--flavor', asked.flavor, '--count', '1', '--image', image]
    line += ['--availability-zone', asked.zone] if asked.zone else []
    line += ['--host', asked.host] if asked.host else []
    line += ['--server-group', stage.groups[asked.group]] if asked.group else []
    for key, value in stage.hints(asked.hints).items():
        line += ['--hint', f'{key}={value if isinstance(value, str) else value[0]}']
    return line


def _run(stage: Stage, case: Case, line: list[str]) -> str:
    """Run a command as the user of the request; an administrator has nova.conf."""
    (asked,) = case.asks
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / 'clouds.yaml').write_text(stage.cloud.clouds_yaml(), encoding='utf-8')
        if asked.user == 'admin':
            config_files.write(Path(folder) / 'nova.conf', options_of(case))
            line = [*line, '--nova-conf', f'{folder}/nova.conf']
        if asked.host and line[0] == 'server':
            line = [*line, '--host', asked.host]
        if ':' in (asked.zone or '') and line[0] == 'server':
            line = [*line, '--availability-zone', asked.zone or '']
        done = command.run('--os-cloud', CLOUDS[asked.user], *line, folder=folder, COLUMNS='100')
    return f'$ senlin-affinity {shlex.join(line)}\n{done.stdout}{done.stderr}[{done.returncode}]\n'


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages of this number of failures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('folder', type=Path)
    parser.add_argument('--number', type=int, default=60)
    parser.add_argument('--first', type=int, default=1, help='the seed of the first cloud')
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    seeds, done = itertools.count(given.first), 0
    while done < given.number:
        with Stage() as stage:
            for seed in itertools.islice(seeds, min(BATCH, given.number - done)):
                made = case(seed)
                found = pages(stage, made)
                sys.stdout.write(f'{seed} {made}{"" if found else " did not fail"}\n')
                sys.stdout.flush()
                if found is not None:
                    done += 1
                    (given.folder / f'{seed:02}-input.txt').write_text(found.question, 'utf-8')
                    (given.folder / f'{seed:02}-answer.txt').write_text(found.answer, 'utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
