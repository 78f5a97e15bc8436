"""The flavors of a Nova, and whether a project may use a private one."""

import pytest

from senlin_affinity import api
from senlin_affinity.cloud import flavors
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.flavor import Flavor
from tests.support.edge import Edge
from tests.support.fake_nova import FakeHost


class Compute:
    """A Nova with one response or error."""

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def pick(self, wanted):
        return wanted

    def get(self, path, what, microversion, *, params=None, may_be_missing=False):
        self.asked.append((path, what, microversion, params))
        if isinstance(self.answer, CloudError):
            raise self.answer
        return self.answer


def raw(name, **more):
    sizes = {'vcpus': 1, 'ram': 2, 'disk': 3, 'OS-FLV-EXT-DATA:ephemeral': 4, 'swap': 5}
    return {'id': f'id-{name}', 'name': name, **sizes, 'extra_specs': {'key': 1}, **more}


@pytest.mark.parametrize('is_own', [True, False])
def test_a_private_flavor_of_another_project_may_be_hidden_from_it(is_own):
    private = {'os-flavor-access:is_public': False}
    found = [raw('b', swap='', **private), raw('a', **{'os-flavor-access:is_public': True})]
    compute = Compute({'flavors': found})
    specs = {'key': '1'}
    assert flavors.flavors(compute, is_own=is_own) == (
        Flavor('id-a', 'a', 1, 2, 3, 4, 5, specs, is_shared=True),
        Flavor('id-b', 'b', 1, 2, 3, 4, 0, specs, is_shared=True if is_own else None),
    )
    query = {'is_public': 'None', 'limit': 1000}
    assert compute.asked == [('/flavors/detail', 'list the flavors', (2, 61), query)]


def test_flavors_are_unknown_if_the_extra_specs_of_one_are_hidden():
    hidden = raw('b')
    del hidden['extra_specs']
    assert flavors.flavors(Compute({'flavors': [raw('a'), hidden]})) is None
    assert flavors.flavors(Compute({'flavors': []})) == ()


def test_one_flavor_is_unknown_if_its_hidden_extra_specs_are_needed():
    shown, hidden = raw('a'), raw('a')
    del hidden['extra_specs']
    expected = Flavor('id-a', 'a', 1, 2, 3, 4, 5, {'key': '1'})
    for is_needed in (False, True):
        found = flavors.flavor(Compute({'flavor': shown}), 'id-a', are_specs_needed=is_needed)
        assert found == expected
    compute = Compute({'flavor': hidden})
    assert flavors.flavor(compute, 'id-a', are_specs_needed=True) is None
    assert flavors.flavor(compute, 'id-a').extra_specs == {}


@pytest.mark.parametrize(('projects', 'is_shared'), [('op', True), ('o', False), ('', False)])
def test_a_private_flavor_is_shared_with_the_projects_that_have_access(projects, is_shared):
    compute = Compute({'flavor_access': [{'tenant_id': project} for project in projects]})
    assert flavors.is_shared(compute, 'a b', 'p') is is_shared
    what = "list the projects of the flavor 'a b'"
    assert compute.asked == [('/flavors/a%20b/os-flavor-access', what, (2, 1), None)]


@pytest.mark.parametrize('status', [403, 404])
def test_hidden_access_is_unknown(status):
    assert flavors.is_shared(Compute(CloudError('no', status)), 'a', 'p') is None
    with pytest.raises(CloudError, match='^no$'):
        flavors.is_shared(Compute(CloudError('no', 500)), 'a', 'p')
    with pytest.raises(CloudError, match="lacks 'flavor_access'"):
        flavors.is_shared(Compute({}), 'a', 'p')


def test_the_access_of_a_project_is_read_for_the_requested_flavor_only():
    hosts, private = (FakeHost('cmp-1'),), {'os-flavor-access:is_public': False}
    with Edge(hosts=hosts, services=('compute', 'placement'), flavors=(), aggregates=()) as edge:
        for name in ('small', 'other'):
            edge.nova.add_flavor(name, **private)
        edge.nova.quota_sets['p'] = {}
        access = {'flavor_access': [{'tenant_id': 'p'}]}
        edge.answer('/flavors/small/os-flavor-access', lambda _query: access)
        view = api.fetch(edge.connection(), api.Question(1, 'small', project_id='p'))
    assert {each.name: each.is_shared for each in view.flavors} == {
        'small': True,
        'other': None,
    }
