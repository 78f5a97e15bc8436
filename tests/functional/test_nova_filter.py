"""The aggregate filter in the real nova-scheduler, and its validators in the real nova-api.

One cloud for all: each worked example of the operator's page has its hosts, each in a zone of its
own, so that a server that asks for the zone either lands there or nowhere.
"""

import re
from types import SimpleNamespace

import pytest

from senlin_affinity.core import aggregate_metadata
from senlin_affinity.core.objects import DEFAULT_FILTERS
from senlin_affinity.plugins.nova_filter import AggregateInstanceTypeFilter
from senlin_affinity.sandbox.cloud import SandboxCloud
from tests.support import worked_examples
from tests.support.waiting import until

FILTER = AggregateInstanceTypeFilter.__name__
SCOPE = 'aggregate_instance_extra_specs:'


def odd(words, extra_specs, metadata, is_taken):
    """A cell that is not on the page."""
    return worked_examples.Cell('beside the page', words, 'a host', extra_specs, metadata, is_taken)


#: The name is also one that ComputeCapabilitiesFilter, which Nova enables by default, looks at.
OF_NOVA = ({'num_instances': 'few'},)
#: Stored as it is, since Nova checks no keys without a namespace.
ILLEGAL = {'key': '<or> ! <or> 1'}
CELLS = (
    *worked_examples.cells(),
    odd('illegal', ILLEGAL, ({'key': '1'},), False),
    odd('scoped', {f'{SCOPE}key': '<or> 1 <or> ~'}, ({'key': '1'},), True),
    odd("a name of Nova's, scoped", {f'{SCOPE}num_instances': '*'}, OF_NOVA, True),
)
#: What the rule takes, and another filter of Nova's does not.
REJECTED_ELSEWHERE = odd("a name of Nova's", {'num_instances': '*'}, OF_NOVA, False)


class World:
    """The hosts, aggregates and flavors that cells need; what is equal is there once."""

    def __init__(self, cells):
        self.hosts, self.aggregates, self.flavors = {}, {}, {}
        #: What a sandbox does not take in its description: metadata that are the empty text.
        self.blanks = {}
        self._hosts, self._flavors = {}, {}
        for cell in cells:
            self.host(cell)
            self.flavor(cell)

    def host(self, cell):
        """The name of the host of a cell, which is also that of its zone."""
        key = repr(cell.aggregates)
        if key not in self._hosts:
            name = self._hosts[key] = f'h{len(self._hosts)}'
            has_zone = False
            for number, metadata in enumerate(cell.aggregates):
                rest = dict(metadata)
                more = {}
                if rest.pop('availability_zone', None):
                    more, has_zone = {'availability_zone': name}, True
                label = f'{name}-{number}'
                filled = {key: value for key, value in rest.items() if value}
                self.aggregates[label] = {'hosts': [name], 'metadata': filled, **more}
                if filled != rest:
                    self.blanks[label] = rest
            self.hosts[name] = {} if has_zone else {'availability_zone': name}
        return self._hosts[key]

    def flavor(self, cell):
        """The name of the flavor of a cell."""
        key = repr(cell.extra_specs)
        if key not in self._flavors:
            name = self._flavors[key] = f'f{len(self._flavors)}'
            self.flavors[name] = {'extra_specs': cell.extra_specs}
        return self._flavors[key]


WORLD = World((*CELLS, REJECTED_ELSEWHERE))


@pytest.fixture(scope='module')
def cloud():
    with SandboxCloud(
        WORLD.hosts,
        filters=(*DEFAULT_FILTERS, FILTER),
        available_filters=(f'{AggregateInstanceTypeFilter.__module__}.{FILTER}',),
        aggregates=WORLD.aggregates,
        flavors=WORLD.flavors,
        nova_options={'DEFAULT': {'default_log_levels': 'senlin_affinity=DEBUG'}},
    ) as running:
        yield running


@pytest.fixture(scope='module')
def admin(cloud):
    connection = cloud.connection()
    for aggregate in connection.compute.aggregates():
        if aggregate.name in WORLD.blanks:
            connection.compute.set_aggregate_metadata(aggregate, WORLD.blanks[aggregate.name])
    return connection


@pytest.fixture(scope='module')
def servers(cloud, admin):
    """A server for each cell, all booted at once: (flavor, host) -> the server as it ended."""
    flavors = {flavor.name: flavor.id for flavor in admin.compute.flavors()}
    wanted = {(WORLD.flavor(cell), WORLD.host(cell)) for cell in (*CELLS, REJECTED_ELSEWHERE)}
    names = {
        f'{flavor}-on-{host}': admin.compute.create_server(
            name=f'{flavor}-on-{host}',
            flavor_id=flavors[flavor],
            image_id=cloud.image_id,
            networks='none',
            availability_zone=host,
        ).id
        for flavor, host in wanted
    }

    def are_built():
        return not list(admin.compute.servers(details=False, status='BUILD'))

    until(are_built, 90, what=f'the servers are built\n{cloud.logs()}')
    found = {server.name: server for server in admin.compute.servers()}
    assert len(found) == len(names)
    return {pair: found['-on-'.join(pair)] for pair in wanted}


@pytest.fixture(scope='module')
def known(admin):
    """What the cloud has: the extra specs of each flavor, and the metadata on each host."""
    aggregates = list(admin.compute.aggregates())
    flavors = admin.compute.flavors(get_extra_specs=True)
    return SimpleNamespace(
        flavors={each.name: each.extra_specs for each in flavors},
        hosts={
            host: [each.metadata for each in aggregates if host in each.hosts]
            for host in WORLD.hosts
        },
    )


@pytest.mark.parametrize('cell', CELLS, ids=str)
def test_a_server_lands_where_the_rule_says(servers, known, cell):
    flavor, host = WORLD.flavor(cell), WORLD.host(cell)
    verdict = aggregate_metadata.check(known.flavors[flavor], known.hosts[host])
    server = servers[flavor, host]
    if cell.is_taken:
        assert (server.status, server.compute_host) == ('ACTIVE', host)
    else:
        assert server.status == 'ERROR'
        assert 'No valid host was found' in server.fault['message']
    assert bool(verdict) is cell.is_taken, verdict


def test_every_host_has_its_zone_in_the_metadata(known):
    """Which only an aggregate that forces its keys minds (a zone of its own)."""
    assert all(
        any(metadata.get('availability_zone') == host for metadata in found)
        for host, found in known.hosts.items()
    )


def test_a_key_that_compute_capabilities_filter_takes_for_its_own(servers, known):
    """As the operator's page says: such a key needs the scope."""
    cell = REJECTED_ELSEWHERE
    flavor, host = WORLD.flavor(cell), WORLD.host(cell)
    assert servers[flavor, host].status == 'ERROR'
    assert aggregate_metadata.check(known.flavors[flavor], known.hosts[host])


def test_the_log_says_why(cloud, servers):
    """As on the operator's page: each refusal, an illegal combination once, and nothing failed."""
    text = (cloud.log_dir / 'nova.log').read_text(encoding='utf-8')
    lines = [line for line in text.splitlines() if ' senlin_affinity.plugins.nova_filter ' in line]
    said = r' DEBUG .*flavor (\S+), host (\S+): rejected \(aggregate_metadata\.\w+\): .'
    told = {found.groups() for found in map(re.compile(said).search, lines) if found}
    assert {(WORLD.flavor(c), WORLD.host(c)) for c in CELLS if not c.is_taken} <= told
    (warning,) = (line for line in lines if ' WARNING ' in line)
    assert 'key is "<or> ! <or> 1" in the flavor' in warning
    assert not [line for line in lines if ' ERROR ' in line]


@pytest.fixture(scope='module')
def flavor(admin):
    flavor = admin.compute.create_flavor(name='api', vcpus=1, ram=64, disk=1)
    yield flavor
    admin.compute.delete_flavor(flavor)


@pytest.mark.parametrize(
    ('name', 'value', 'microversion', 'says'),
    [
        (f'{SCOPE}key', '~', '2.86', None),
        (f'{SCOPE}key', '<or> 1 <or> ~', '2.86', None),
        (f'{SCOPE}key', 4, '2.86', None),
        (f'{SCOPE}key', '<or> ! <or> 1', '2.86', '"!" says that the key must be absent'),
        ('force_metadata_check', 'banana', '2.86', 'must be a boolean'),
        ('hw:cpu_policy', '*', '2.86', 'is not one of: dedicated, shared'),
        # What Nova does not check is stored.
        ('key', '<or> ! <or> 1', '2.86', None),
        (f'{SCOPE}key', '<or> ! <or> 1', '2.85', None),
    ],
)
def test_rx_04_rx_05_nova_api_takes_it_or_says_why(admin, flavor, name, value, microversion, says):
    """From the first microversion at which Nova checks extra specs."""
    url, body = f'/flavors/{flavor.id}/os-extra_specs', {'extra_specs': {name: value}}
    answer = admin.compute.post(url, json=body, microversion=microversion)
    assert answer.status_code == (400 if says else 200), answer.text
    assert not says or says in answer.json()['badRequest']['message']
