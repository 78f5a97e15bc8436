"""A project or a user is found by its name or id."""

import openstack
import pytest

from senlin_affinity.cloud import clients, projects
from senlin_affinity.cloud.connection import ids
from senlin_affinity.cloud.login import log_in
from senlin_affinity.model.errors import CloudError, InvalidSpec
from tests.support import edge as at_edge
from tests.support.edge import Edge, Failure

HEX = '0123456789abcdef0123456789abcdef'
KNOWN = {HEX: 'web', 'a1': 'twice', 'b2': 'twice', 'of-another-domain': 'admin'}
FAILURES = (
    *(failure for failure in at_edge.FAILURES if failure is not at_edge.FORBIDDEN),
    Failure('malformed', '', 200, {'projects': [{}]}),
    Failure('empty', '', 200, {}),
)


@pytest.fixture
def edge():
    with Edge(projects=KNOWN) as edge:
        yield edge


@pytest.mark.parametrize(
    ('name_or_id', 'found'),
    [
        ('admin', 'admin-project'),
        ('admin-project', 'admin-project'),
        (HEX, HEX),
        ('01234567-89ab-cdef-0123-456789abcdef', '01234567-89ab-cdef-0123-456789abcdef'),
    ],
    ids=['own name', 'own id', 'id', 'id with hyphens'],
)
def test_the_own_project_and_ids_need_no_lookup(edge, name_or_id, found):
    """The token contains the own project; Nova checks whether an id is that of a project."""
    assert projects.find(clients.OwnerClient(edge.connection()), name_or_id) == found
    assert edge.looked_up == []
    assert edge.nova.asked == []


@pytest.mark.parametrize('user', [HEX, 2 * HEX], ids=['id', 'id of LDAP'])
def test_the_id_of_a_user_needs_no_lookup(edge, user):
    assert projects.find_user(clients.OwnerClient(edge.connection()), user) == user
    assert edge.looked_up == []


def test_a_user_is_found_by_name(edge):
    owner = clients.OwnerClient(edge.connection())
    assert (projects.find_user(owner, 'web'), edge.tokens) == (HEX, 1)
    with pytest.raises(InvalidSpec, match="user: 2 users are called 'twice': use an id"):
        projects.find_user(owner, 'twice')
    assert edge.looked_up == ['web', 'twice']


def test_a_name_takes_one_lookup(edge):
    assert projects.find(clients.OwnerClient(edge.connection()), 'web') == HEX
    assert edge.looked_up == ['web']
    assert edge.tokens == 1


@pytest.mark.parametrize(
    ('name_or_id', 'message'),
    [
        ('nobody', "project: there is no project 'nobody'"),
        ('', "project: there is no project ''"),
        (HEX[:31], f'project: there is no project {HEX[:31]!r}'),
        ('twice', "project: 2 projects are called 'twice': use an id, such as a1, b2"),
    ],
)
def test_an_unknown_or_ambiguous_name_is_invalid(edge, name_or_id, message):
    with pytest.raises(InvalidSpec) as caught:
        projects.find(clients.OwnerClient(edge.connection()), name_or_id)
    assert str(caught.value) == message


def test_a_non_admin_must_use_the_id_of_another_project():
    with Edge(user='demo', projects=KNOWN) as edge:
        with pytest.raises(InvalidSpec) as caught:
            projects.find(clients.OwnerClient(edge.connection()), 'web')
        assert projects.find(clients.OwnerClient(edge.connection()), 'demo') == 'demo-project'
    assert str(caught.value) == (
        "project: could not look up the project 'web': Keystone answered 403: You are not "
        'authorized to perform the requested action: identity:list_projects. '
        '(use the id of the project)'
    )


@pytest.mark.parametrize('failure', FAILURES, ids=str)
def test_a_failed_lookup_is_an_error(edge, failure):
    edge.fail('GET', '/projects', failure)
    with pytest.raises(CloudError, match="could not look up the project 'web': "):
        projects.find(
            clients.OwnerClient(edge.connection(identity_connect_retry_delay=0.001)), 'web'
        )


def test_a_failed_authentication_is_an_error(edge):
    edge.fail('POST', '/auth/tokens', at_edge.SERVER_ERROR)
    with pytest.raises(CloudError, match='could not log in at'):
        projects.find(clients.OwnerClient(edge.connection()), 'web')


def test_a_token_that_cannot_be_renewed_is_an_error(edge):
    connection = edge.connection()
    log_in(connection, 5.0)
    connection.session.invalidate()
    edge.fail('POST', '/auth/tokens', at_edge.SERVER_ERROR)
    with pytest.raises(CloudError, match='could not find Keystone: ') as caught:
        ids(clients.OwnerClient(connection))
    assert caught.value.status == at_edge.SERVER_ERROR.status


def test_an_id_needs_no_keystone():
    auth = {'endpoint': at_edge.NOVA}
    connection = openstack.connect(
        load_yaml_config=False, load_envvars=False, auth_type='none', auth=auth
    )
    assert projects.find(clients.OwnerClient(connection), HEX) == HEX


def test_a_name_needs_keystone_in_the_catalog():
    message = "could not (find Keystone|look up the project 'web'): "
    with Edge() as edge, pytest.raises(CloudError, match=message):
        projects.find(clients.OwnerClient(edge.connection()), 'web')
