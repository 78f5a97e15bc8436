"""What a real nova-scheduler sends to Placement for a server, and our query for the same."""

from urllib.parse import parse_qsl

import pytest

from senlin_affinity import api
from senlin_affinity.core import candidate_query, nova_options
from senlin_affinity.core.image import Image
from senlin_affinity.core.objects import PlacementRequest, Rules
from senlin_affinity.core.planning.resolution import resolve
from senlin_affinity.policy.question import Question
from senlin_affinity.preflight import plan, take_snapshot
from senlin_affinity.sandbox.identities import DEMO
from tests.support.sandbox import SandboxCloud
from tests.support.waiting import until

pytestmark = pytest.mark.long

OWN = {'filter_tenant_id': DEMO.project.id}
AGGREGATES = {
    'tenants': {'hosts': ['cmp-1', 'cmp-2'], 'metadata': OWN},
    'windows': {'hosts': ['cmp-2'], 'metadata': {'trait:CUSTOM_WINDOWS': 'required'}},
}
FLAVORS = {
    'plain': {},
    'tpm': {'extra_specs': {'hw:tpm_version': '2.0', 'hw:tpm_model': 'tpm-crb'}},
    'functions': {
        'extra_specs': {
            'resources1:CUSTOM_VF': '1',
            'trait1:CUSTOM_FAST': 'required',
            'trait:HW_CPU_X86_AVX2': 'forbidden',
        }
    },
    'two groups': {'extra_specs': {'resources1:VCPU': '1', 'resources2:MEMORY_MB': '64'}},
    'pinned': {'vcpus': 2, 'extra_specs': {'hw:cpu_policy': 'dedicated'}},
}
#: Of a TPM, which our query leaves out where no host has it.
SECRET = 'COMPUTE_SECURITY_TPM_SECRET_SECURITY_USER%2C'
END = {'ACTIVE': 'placed', 'ERROR': 'refused'}
FLAT = {name: {'id': name.replace(' ', '-'), **given} for name, given in FLAVORS.items()}
ON = (
    nova_options.ISOLATION,
    nova_options.TENANTS,
    nova_options.IMAGE_TYPES,
    nova_options.IMAGE_METADATA,
)
#: The flavor, the zone, and the properties of the image.
SERVERS = {
    'plain': ('plain', None, {}),
    'a zone': ('plain', 'az1', {}),
    'the image': ('plain', None, {'trait:CUSTOM_WINDOWS': 'required', 'hw_disk_bus': 'virtio'}),
    'a TPM': ('tpm', 'az1', {'hw_firmware_type': 'uefi'}),
    'a numbered group': ('functions', None, {}),
    'pinned CPUs': ('pinned', None, {}),
}


@pytest.fixture(scope='module', params=[(), ON], ids=['by default', 'with all options'])
def options(request):
    return request.param


@pytest.fixture(scope='module')
def cloud(options):
    """Placement knows the classes and the traits, and no host has them."""
    hosts = {'cmp-1': {'availability_zone': 'az1'}, 'cmp-2': {}}
    given = {'scheduler': {option.name: True for option in options}}
    more = {'aggregates': AGGREGATES, 'flavors': FLAT, 'nova_options': given}
    with SandboxCloud(hosts, **more) as running:
        placement = running.connection().placement
        placement.default_microversion = '1.36'
        for path in ('traits/CUSTOM_WINDOWS', 'traits/CUSTOM_FAST', 'resource_classes/CUSTOM_VF'):
            placement.put(f'/{path}').raise_for_status()
        yield running


def sent(cloud, flavor, zone, properties):
    """What nova-scheduler asks for a server of demo, without limit and owner; was it placed?"""
    demo = cloud.connection('demo')
    named = {'name': 'other', 'disk_format': 'qcow2', **properties}
    image = demo.image.post('/images', json=named).json()['id']
    cloud.clear_requests()
    where = {'availability_zone': zone} if zone else {}
    server = demo.compute.create_server(
        name='s', flavor_id=flavor, image_id=image, networks='none', **where
    )
    state = until(lambda: END.get(demo.compute.get_server(server.id).status), what='it is done')
    asked = [each for each in cloud.requests('placement') if each['path'].endswith('_candidates')]
    assert {each['microversion'] for each in asked} == {candidate_query.MICROVERSION}
    return [bare(each['query']) for each in asked], state == 'placed'


def bare(query):
    """The parameters without those of Nova that change no answer here."""
    found = parse_qsl(query.replace('OWNER_NOVA%2C', '').replace(SECRET, ''))
    return sorted(item for item in found if item[0] != 'limit')


@pytest.mark.parametrize('name', SERVERS)
def test_the_query_that_is_sent(cloud, options, name):
    flavor, zone, properties = SERVERS[name]
    image = Image('i', disk_format='qcow2', properties=properties)
    request = PlacementRequest(
        1, flavor, availability_zone=zone, project_id=DEMO.project.id, image=image
    )
    rules = Rules.of(**{option.key: True for option in options})
    resolved = resolve(request, take_snapshot(cloud.connection()), rules)
    ours = [bare(each) for each in candidate_query.queries(resolved)]
    theirs, is_placed = sent(cloud, flavor, zone, properties)
    assert ours == theirs
    decision = plan(request, resolved.snapshot, rules=rules, remedies=False)
    assert decision.fits is is_placed or (decision.fits and decision.capacity_is_upper_bound)


def test_a_query_that_placement_refuses(cloud):
    """Two groups need a group_policy: Nova knows of no host then."""
    admin, flavor = cloud.connection(), 'two-groups'
    question = Question(1, flavor, image_properties={}, project_id=DEMO.project.id)
    decision = api.answer(question, api.look(admin, question), remedies=False)
    _asked, is_placed = sent(cloud, flavor, None, {})
    assert not is_placed
    assert decision.fits is False
    codes = {each['code'] for host in decision.as_dict()['hosts'] for each in host['verdicts']}
    assert 'resources.not_granted' in codes
