"""What is said of clouds whose providers are no plain hosts, and what nova-scheduler then does.

Parts of hosts, disk that hosts share, and amounts in steps: the servers are booted one by one,
until the first one finds no host.
"""

import uuid

import pytest

from senlin_affinity import api
from tests.support.sandbox import SandboxCloud
from tests.support.waiting import until

pytestmark = pytest.mark.long

HOSTS = ('cmp-1', 'cmp-2')
CPUS = 3
WANTED = 14
SHARING = 'MISC_SHARES_VIA_AGGREGATE'
FAST = 'CUSTOM_FAST'
TPM = {'hw:tpm_version': '2.0', 'hw:tpm_model': 'tpm-crb'}
FLAVORS = {
    name: {'vcpus': 1, 'ram': 64, 'disk': disk, 'extra_specs': specs}
    for name, disk, specs in (
        ('plain', 0, {}),
        ('vf', 0, {'resources1:CUSTOM_VF': '1', f'trait1:{FAST}': 'required'}),
        ('step', 0, {'resources:CUSTOM_STEP': '1'}),
        ('least', 0, {'resources:CUSTOM_LEAST': '1'}),
        ('tpm', 0, TPM),
        ('disk', 2, {}),
    )
}


class Placement:
    """The sandbox's Placement, whose providers a test changes."""

    def __init__(self, connection):
        self._send = connection.placement.request

    def root(self, host):
        (found,) = self._get(f'/resource_providers?name={host}')['resource_providers']
        return found['uuid']

    def add(self, name, parent=None, *, traits=(), **totals):
        """A provider with so much of each class."""
        identity = str(uuid.uuid4())
        more = {} if parent is None else {'parent_provider_uuid': parent}
        self._change('POST', '/resource_providers', {'name': name, 'uuid': identity, **more})
        self.give(identity, **{name: {'total': total} for name, total in totals.items()})
        for trait in {FAST}.intersection(traits):
            self._change('PUT', f'/traits/{trait}', None)
        if traits:
            self._replace(f'/resource_providers/{identity}/traits', 'traits', list(traits))
        return identity

    def give(self, identity, *without, **inventories):
        """Add inventories to a provider, and take some away."""
        for name in inventories:
            if name.startswith('CUSTOM_'):
                self._change('PUT', f'/resource_classes/{name}', None)
        path = f'/resource_providers/{identity}/inventories'
        has = self._get(path)['inventories'] | inventories
        kept = {name: each for name, each in has.items() if name not in without}
        self._replace(path, 'inventories', kept)

    def put_together(self, *identities):
        """Put providers into an aggregate."""
        aggregate = str(uuid.uuid4())
        for identity in identities:
            path = f'/resource_providers/{identity}/aggregates'
            self._replace(path, 'aggregates', [*self._get(path)['aggregates'], aggregate])

    def _replace(self, path, part, content):
        generation = self._get(path)['resource_provider_generation']
        self._change('PUT', path, {part: content, 'resource_provider_generation': generation})

    def _get(self, path):
        return self._send(path, 'GET', microversion='1.36').json()

    def _change(self, method, path, body):
        answer = self._send(path, method, json=body, microversion='1.36')
        assert answer.status_code < 300, (path, answer.text)


@pytest.fixture(scope='module')
def cloud():
    hosts = {name: {'vcpus': CPUS, 'memory_mb': 4096, 'disk_gb': 100} for name in HOSTS}
    options = {'DEFAULT': {'initial_cpu_allocation_ratio': 1.0}}
    with SandboxCloud(hosts, flavors=FLAVORS, nova_options=options) as running:
        placement = Placement(running.connection())
        for name in HOSTS:
            root = placement.root(name)
            placement.add(f'agent-{name}', root, NET_BW_EGR_KILOBIT_PER_SEC=1000)
            for number, traits in enumerate(((FAST,), (FAST,), ())):
                placement.add(f'vf-{name}-{number}', root, traits=traits, CUSTOM_VF=1)
            placement.give(root, CUSTOM_STEP={'total': 6, 'step_size': 2})
            placement.give(root, CUSTOM_LEAST={'total': 6, 'min_unit': 2})
        yield running


@pytest.fixture(scope='module')
def admin(cloud):
    return cloud.connection()


def boot_all(cloud, admin, flavor):
    """How many servers find a host; they are gone in the end."""
    made = []
    flavor_id = admin.compute.find_flavor(flavor).id
    while len(made) < WANTED:
        server = admin.compute.create_server(
            name='s', flavor_id=flavor_id, image_id=cloud.image_id, networks='none'
        )
        made.append(server.id)
        until(lambda: status(admin, made[-1]) in ('ACTIVE', 'ERROR'), what='the server is there')
        if status(admin, server.id) == 'ERROR':
            break
    for server in made:
        admin.compute.delete_server(server)
    until(lambda: not list(admin.compute.servers(details=False)), what='the servers are gone')
    return len(made) - 1


def status(admin, server):
    return admin.compute.get_server(server).status


@pytest.mark.parametrize(
    ('flavor', 'number'),
    [('plain', CPUS * 2), ('vf', 4), ('step', 0), ('least', 0), ('tpm', 0)],
    ids=['parts that give nothing', 'granular', 'step_size', 'min_unit', 'traits of a TPM'],
)
def test_as_many_fit_as_is_said(cloud, admin, flavor, number):
    said = ask(admin, flavor)
    assert (said.capacity, said.capacity_is_upper_bound) == (number, False), said.line()
    assert boot_all(cloud, admin, flavor) == number


def test_a_file_with_the_answer_says_what_the_cloud_says(admin, tmp_path):
    question = api.Question(WANTED, 'vf', image_properties={})
    look = api.look(admin, question)
    path = tmp_path / 'cloud.json'
    api.save(look, path)
    assert api.answer(question, api.read(path)) == api.answer(question, look)
    other = api.Question(WANTED, 'vf', image_properties={f'trait:{FAST}': 'required'})
    assert api.answer(other, api.read(path)).capacity_is_upper_bound


def test_a_trait_that_only_the_image_requires(admin):
    question = {'image_properties': {'trait:HW_CPU_X86_AVX2': 'required'}}
    said = ask(admin, 'plain', **question)
    assert (said.capacity, said.capacity_is_upper_bound) == (0, False)


def test_disk_that_two_hosts_share(cloud, admin):
    """The disk is 11 GB, each server takes 2, and there are CPUs for six."""
    placement = Placement(admin)
    roots = [placement.root(name) for name in HOSTS]
    for root in roots:
        placement.give(root, 'DISK_GB')
    placement.put_together(*roots, placement.add('nfs', traits=[SHARING], DISK_GB=11))
    said = ask(admin, 'disk')
    assert (said.capacity, said.capacity_is_upper_bound) == (5, False), said.line()
    assert boot_all(cloud, admin, 'disk') == 5


def ask(admin, flavor, **more):
    question = api.Question(WANTED, flavor, **{'image_properties': {}, **more})
    return api.answer(question, api.look(admin, question))
