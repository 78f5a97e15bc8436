"""A real nova-api answers as the table of combinations says, for one flavor of each exception."""

import pytest

from senlin_affinity.nova.combination_rules import NEWEST, check
from senlin_affinity.sandbox.cloud import SandboxCloud
from tests.recordings.combinations import ALIASES, TABLE, guest
from tests.support.nova_api_combinations import Combination
from tests.support.tables import read

#: The alias of this nova-api, and another one of the table.
ALIAS, OTHER = ALIASES
#: Accepted flavors that are created as well.
MOST_ACCEPTED = 10
#: With this microversion, nova-api does not validate extra specs, and takes "networks: none".
MICROVERSION = '2.53'
#: The exceptions for which nova-api answers 500, without a message.
UNPARSED = ('Invalid', 'InvalidPCINUMAAffinity', 'ValueError')


def chosen():
    """Return one row for each exception, and some of the accepted ones.

    A sandbox takes no empty values, and one PCI alias.
    """
    by_outcome = {}
    for row in read(TABLE):
        values = Combination(image=row['image'], **row['flavor'])
        texts = (*values.extra_specs.values(), *values.image.values())
        if '' not in texts and OTHER not in ' '.join(texts):
            by_outcome.setdefault(row['outcome'], []).append(values)
    accepted = by_outcome.pop('accepted')
    return [*(each[0] for each in by_outcome.values()), *accepted[:MOST_ACCEPTED]]


CHOSEN = dict(enumerate(chosen()))


@pytest.fixture(scope='module')
def cloud():
    flavors = {
        f'f{number}': {
            'vcpus': values.vcpus,
            'ram': values.ram,
            'disk': 1,
            'extra_specs': values.extra_specs,
        }
        for number, values in CHOSEN.items()
    }
    images = {f'i{number}': {'properties': values.image} for number, values in CHOSEN.items()}
    options = {
        'pci': {'alias': f'{{"name": "{ALIAS}", "vendor_id": "10de", "product_id": "1db4"}}'}
    }
    with SandboxCloud({'cmp-1': {}}, flavors=flavors, images=images, nova_options=options) as it:
        yield it


@pytest.fixture(scope='module')
def ids(cloud):
    connection = cloud.connection()
    found = (*connection.compute.flavors(), *connection.image.images())
    return {each.name: each.id for each in found}


@pytest.mark.parametrize('number', CHOSEN)
def test_nova_api_answers_as_the_rules_say(cloud, ids, number):
    body = {
        'name': f's{number}',
        'flavorRef': ids[f'f{number}'],
        'imageRef': ids[f'i{number}'],
        'networks': 'none',
    }
    compute = cloud.connection().compute
    answer = compute.post('/servers', json={'server': body}, microversion=MICROVERSION)
    rejection = check(guest(CHOSEN[number]), NEWEST).rejection
    expected = 202 if rejection is None else rejection.status
    assert answer.status_code == expected, (CHOSEN[number], answer.text)
    if rejection is not None and rejection.exception not in UNPARSED:
        assert rejection.message in next(iter(answer.json().values()))['message']
