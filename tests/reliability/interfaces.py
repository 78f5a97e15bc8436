"""List the interfaces that read foreign input, each with a strategy that generates input.

Most of the input is valid except in one place. An interface accepts it, or rejects it with one of
our errors. Any other exception is a bug.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from hypothesis import strategies as st

from senlin_affinity import api
from senlin_affinity.cli import given
from senlin_affinity.cloud import snapshot_file
from senlin_affinity.extra_specs import MODES, validate_all
from senlin_affinity.model.cloud import Aggregate, Flavor
from senlin_affinity.model.errors import AffinityError
from senlin_affinity.nova import aggregates, reservations
from senlin_affinity.nova.demand import demand
from senlin_affinity.plugins.nova.api_middleware import ExtraSpecValidation
from senlin_affinity.plugins.senlin import engine
from senlin_affinity.policy import properties
from tests.property.strategies import JSON, nearly
from tests.recordings.exchanges import Reply
from tests.reliability import hostile_yaml
from tests.reliability.operations import AGGREGATES, HOSTS
from tests.support.edge import Edge
from tests.support.fake_glance import FakeGlance, FakeImage
from tests.support.fake_placement import FakePlacement
from tests.unit.cloud.test_snapshot_file import DOCUMENT

_UUID = '5bbcc3c4-1da2-4437-a48a-66f15b1b13f9'
_GROUP = {'name': 'web', 'policies': 'anti-affinity', 'rules': {'max_server_per_host': 3}}
_SPREAD = [{'by': 'availability_zone', 'max_skew': 1, 'mode': 'hard', 'max_per_domain': 2}]
SPECS = [
    {'type': properties.TYPE, 'version': '1.1', 'properties': each}
    for each in (
        {'servergroup': {**_GROUP, 'on_detach': 'keep'}, 'spread': _SPREAD, 'preflight': 'warn'},
        {'servergroup': _GROUP, 'pin_hosts': True, 'extra_specs': 'strict'},
        {'member_of': [f'in:{_UUID},ssd', '!licensed'], 'availability_zone': 'nova'},
        {'enable_drs_extension': True, 'availability_zone': 'nova', 'preflight': 'off'},
    )
]
_DISKS = [{'source_type': 'image', 'boot_index': 0, 'uuid': 'i', 'destination_type': 'volume'}]
PROFILES = [
    {'type': 'os.nova.server', 'version': '1.0', 'properties': {'flavor': 'small', **each}}
    for each in (
        {'image': 'i', 'scheduler_hints': {'group': 'web'}, 'availability_zone': 'nova'},
        {'block_device_mapping_v2': _DISKS, 'scheduler_hints': {'group': ['web']}},
    )
]
_RESIZE = {
    'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': 1, 'min_size': 0, 'max_size': 5,
    'min_step': 1, 'strict': True,
}  # fmt: skip
ACTIONS = [
    {'inputs': _RESIZE, 'data': {'creation': {'count': 2}}},
    {'inputs': {**_RESIZE, 'adjustment_type': 'CHANGE_IN_PERCENTAGE'}, 'data': {}},
    {'inputs': {'count': '2'}, 'data': {'deletion': {'count': 1}}},
    {'inputs': {'count': 2}, 'data': {}},
]
_EXTRA = {
    'hw:cpu_policy': 'dedicated', 'hw:numa_nodes': '2', 'hw:numa_cpus.0': '0,1',
    'resources:VCPU': '2', 'trait:HW_CPU_X86_AVX2': 'required', 'resources1:SRIOV_NET_VF': '1',
    'group_policy': 'isolate', 'aggregate_instance_extra_specs:ssd': '<or> true <or> 1',
    'capabilities:cpu_info:features': '<in> aes', 'quota:cpu_shares': '1024',
    'hw:mem_page_size': 'large', 'hw:cpu_thread_policy': 'isolate', 'trait1:A': 'forbidden',
}  # fmt: skip
_OPERATORS = ('=', '==', '!=', '>=', '<=', 's==', 's<', '<in>', '<all-in>', '<or>', '<range-in>')
#: Texts of operators and characters with a special meaning.
_WORDS = st.lists(
    st.sampled_from((*_OPERATORS, '1', '-0', '1e400', 'nan', 'x', '!', 'in:', ',', '[', '(', ':',
                     '\n', '\u202e', '٣', '\x00', '\ud800', '9' * 400, _UUID, ''))
    | st.text(max_size=6),
    max_size=8,
).map(' '.join)  # fmt: skip
_TEXTS = st.dictionaries(st.sampled_from([*_EXTRA]) | _WORDS, _WORDS, max_size=4)
_SPECS = st.builds(lambda right, odd: {**right, **odd}, st.just(_EXTRA), _TEXTS) | _TEXTS
_KNOWN = tuple(Aggregate(each.id, each.name, None, each.metadata) for each in AGGREGATES)


@dataclass(frozen=True)
class Interface:
    """An interface: a strategy, and a function of ours that reads the generated input."""

    name: str
    generated: Any
    call: Callable[[Any], object]

    def __str__(self) -> str:
        return self.name

    def accepts(self, value: Any) -> bool:
        """Return whether the interface accepts the value."""
        try:
            self.call(value)
        except AffinityError:
            return False
        return True


def _count(value: Any) -> object:
    """Return what the hook reads of an action; the engine ensures that both mappings exist."""
    if not isinstance(value, dict) or not all(isinstance(value.get(key), dict) for key in
                                              ('inputs', 'data')):  # fmt: skip
        return None
    sizes = {'min_size': 0, 'max_size': -1, 'desired_capacity': 2}
    cluster = SimpleNamespace(nodes=[1, 2], **sizes)
    for name in ('CLUSTER_SCALE_OUT', 'CLUSTER_RESIZE'):
        engine.count(SimpleNamespace(action=name, entity=cluster, **value))
    return None


def _plan(value: tuple[Any, Any]) -> object:
    spec, profile = value
    if not isinstance(profile, dict) or not isinstance(profile.get('properties'), dict):
        profile = PROFILES[0]  # Senlin's schema ensures both
    view = snapshot_file.parse(json.dumps(DOCUMENT))
    asked = api.Question(1, policy=properties.load(spec), profile=profile)
    return api.answer(asked, view)


#: A number with more digits than Python converts.
_LONG = ('9' * 5000, f'{{"format": {"9" * 5000}}}', f'{{"format": 1, "hosts": [{"9" * 5000}]}}')


def _numbers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of the numbers in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in inner:
        if isinstance(each, dict | list):
            yield from _numbers(each, (*path, key))
        elif isinstance(each, int) and not isinstance(each, bool):
            yield (*path, key)


_LONG_AT = [*_numbers(DOCUMENT)]


def _count_long(value: tuple[tuple[Any, ...], int]) -> object:
    """Plan with a snapshot that has a very large number in one place."""
    path, number = value
    document = place = json.loads(json.dumps(DOCUMENT))
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = number
    view = snapshot_file.parse(json.dumps(document))
    flavors, groups = view.flavors or (), view.server_groups or (None,)
    group = groups[0] and groups[0].id
    for each in flavors:
        str(api.answer(api.Question(1, flavor=each.id, server_group=group), view).as_dict())
    return view


class _OddEdge(Edge):
    """A cloud that returns one malformed response."""

    def __init__(self, data: Any) -> None:
        super().__init__(
            hosts=HOSTS,
            aggregates=AGGREGATES,
            placement=FakePlacement(),
            glance=FakeGlance(FakeImage('i')),
        )
        self.placement.nova = self.nova
        self.placement.providers = FakePlacement.of(self.nova).providers
        self._data, self._left = data, data.draw(st.integers(0, 16))

    def _reply(self, request: Any, url: str) -> tuple[Reply, dict[str, str]]:
        reply, headers = super()._reply(request, url)
        self._left -= 1
        if self._left == -1 and reply.body is not None:
            return Reply(reply.status, self._data.draw(JSON | nearly([reply.body]))), headers
        return reply, headers


def _ask_cloud(data: Any) -> object:
    with _OddEdge(data) as edge:
        edge.nova.add_flavor('small')
        made = edge.nova.add_group('web')
        edge.nova.boot(made, 'cmp-1')
        found = edge.ports
        groups, connection = found.server_groups, edge.connection()
        asked = api.Question(
            1, server_group=made, policy=properties.load(SPECS[1]), profile=PROFILES[0]
        )
        steps: tuple[Callable[[], object], ...] = (
            lambda: api.answer(asked, api.fetch(connection, asked, 5.0)),
            lambda: groups.delete(groups.create('new', 'anti-affinity', {}).id),
            lambda: (groups.named('web'), groups.get(made), groups.own()),
            lambda: found.inventory.hosts_named_like('drs'),
            lambda: found.inventory.flavor('small'),
        )
        return data.draw(st.sampled_from(steps))()


def _write_extra_specs(body: bytes) -> object:
    statuses: list[str] = []
    middleware = ExtraSpecValidation(
        lambda _environ, start: start('200 OK', []) or [b''], lambda: '2.96'
    )
    environ = {
        'REQUEST_METHOD': 'POST',
        'PATH_INFO': '/flavors/1/os-extra_specs',
        'QUERY_STRING': 'validation=strict',
        'CONTENT_LENGTH': str(len(body)),
        'wsgi.input': io.BytesIO(body),
        'HTTP_OPENSTACK_API_VERSION': 'compute 2.86',
    }
    list(middleware(environ, lambda status, *_rest: statuses.append(status)))
    if not statuses[0].startswith('200'):
        raise AffinityError(statuses[0])
    return statuses


def _read_file(text: str) -> object:
    with tempfile.NamedTemporaryFile('w', encoding='utf-8', errors='surrogatepass') as file:
        file.write(text)
        file.flush()
        return given.spec(file.name, properties.load)


def _body(value: object) -> bytes:
    return json.dumps(value).encode()


INTERFACES = (
    Interface('spec, as a file', st.sampled_from([*hostile_yaml.TEXTS.values()]) | _WORDS | nearly(
        SPECS).map(json.dumps), _read_file),
    Interface('spec and profile', st.tuples(nearly(SPECS), nearly(PROFILES)), _plan),
    Interface('action inputs', nearly(ACTIONS), _count),
    Interface('answers of the cloud', st.data(), _ask_cloud),
    Interface('snapshot', nearly([DOCUMENT]).map(json.dumps), snapshot_file.parse),
    Interface('snapshot, as text', st.text() | _WORDS | st.sampled_from(_LONG),
              snapshot_file.parse),
    Interface('snapshot with large numbers', st.tuples(st.sampled_from(_LONG_AT), st.sampled_from(
        (10**400, -10**400, 10**4000))), _count_long),
    Interface('snapshot, as bytes', st.binary(), snapshot_file.decoded),
    Interface('member_of', st.lists(_WORDS, max_size=3),
         lambda value: aggregates.resolve(value, _KNOWN)),
    Interface('reservations', st.lists(_WORDS, max_size=3), lambda value: reservations.constrain(
        value, _KNOWN, required_prefix='rack', forbidden_prefixes=('!', ''))),
    Interface('extra specs', st.tuples(_SPECS, st.sampled_from(MODES)), lambda value:
         validate_all(*value)),
    Interface('flavor', _SPECS, lambda value: demand(Flavor('1', 'f', 1, 1, 1, 0, 0, value))),
    Interface('nova-api', nearly([{'extra_specs': _EXTRA}]).map(_body) | st.binary() | _SPECS.map(
        lambda specs: _body({'extra_specs': specs})) | st.just(
        b'{"extra_specs": {"hw:numa_nodes": ' + b'9' * 5000 + b'}}'), _write_extra_specs),
)  # fmt: skip
