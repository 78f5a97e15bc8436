"""The combinations that nova-api rejects as a verdict, and the changes that are proposed."""

from types import SimpleNamespace

import pytest

from senlin_affinity.constraints.flavor import PCI_ALIASES, FlavorConstraint
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.request import Request, Settings
from senlin_affinity.scenario.scenario import Scenario
from tests.support.tables import rows
from tests.unit.constraints.test_verdicts import check


def asked(row):
    specs = row['specs']
    flavor = None if specs is None else Flavor('f', 'f', 2, 1024, 1, extra_specs=specs)
    aliases = {PCI_ALIASES.key: tuple(row['aliases'])} if 'aliases' in row else {}
    settings = Settings(options=aliases)
    request = Request(1, flavor, image_properties=row.get('image', {}), settings=settings)
    return request, Cloud(nova_release=row.get('release'))


@pytest.mark.parametrize('row', rows('flavor'))
def test_a_verdict_and_its_remedies(row):
    constraint, (request, cloud) = FlavorConstraint(), asked(row)
    verdict = constraint.check_request(request, cloud)
    check(row, verdict, constraint.reasons)
    scenario, evaluation = Scenario.of_hosts(cloud, []), SimpleNamespace(verdict=verdict)
    changes = constraint.proposals(request, scenario, evaluation)
    assert [each.change for each in changes] == row.get('remedies', [])
