"""The stories on the page of reservations are correct: the query, and the remaining hosts."""

import configparser
import re

import pytest
from oslo_config import cfg

from senlin_affinity.conf import opts
from senlin_affinity.constraints.reservations import ReservationsConstraint
from senlin_affinity.model.cloud import Aggregate, Cloud, Flavor
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.host import Host
from senlin_affinity.model.request import Settings
from senlin_affinity.nova.reservations import FORBIDDEN_PREFIXES, REQUIRED_PREFIX, constrain
from tests.support.asked import Given, NamedRequest, with_values
from tests.unit.docs.test_manual import table, text_of

PAGE = text_of('howto/reservations.rst')
REQUESTS = [
    pytest.param(story, row, id=f'{story}: {" + ".join(row[:2])}')
    for story in ('windows', 'pool')
    for row in table(PAGE, f'{story}-requests')
]


def listed(cell):
    return [] if cell == 'none' else re.split(r', | and ', cell)


def options_of(story):
    """Return the parsed options of the page."""
    block = PAGE.split(f':name: {story}-options\n\n', 1)[1].split('\n\n', 1)[0]
    parser = configparser.ConfigParser()
    parser.read_string('\n'.join(line.strip() for line in block.splitlines()))
    conf = cfg.ConfigOpts()
    opts.register(conf)
    for name, value in parser['scheduler'].items():
        is_list = name == 'placement_req_default_forbidden_member_prefix'
        conf.set_override(name, [value] if is_list else value, group='scheduler')
    return Given(options=opts.changed(conf))


def cloud_of(story):
    """Return the aggregates, whose names are their UUIDs, and the hosts."""
    rows = table(PAGE, f'{story}-aggregates')
    found = [
        Aggregate(name, name, metadata=dict.fromkeys(listed(keys), 'true'))
        for name, keys, _ in rows
    ]
    hosts = sorted({host for _, _, hosts in rows for host in listed(hosts)})
    return tuple(found), [
        Host(host, host, aggregates=frozenset(name for name, _, on in rows if host in listed(on)))
        for host in hosts
    ]


@pytest.mark.parametrize(('story', 'row'), REQUESTS)
def test_story(story, row):
    """R1-31 to R1-38."""
    flavor, image, query, left = row[0], row[1], row[2], row[3]
    given, (aggregates, hosts) = options_of(story), cloud_of(story)
    settings = Settings(options=given.options)

    def ask():
        return constrain(
            [*listed(flavor), *listed(image)],
            aggregates,
            required_prefix=settings.value(REQUIRED_PREFIX),
            forbidden_prefixes=settings.value(FORBIDDEN_PREFIXES),
        )

    asked = with_values(
        NamedRequest(1, 'f', image_properties=dict.fromkeys(listed(image), 'true')),
        Cloud(aggregates=aggregates),
        Flavor('1', 'f', 1, 64, 1, extra_specs=dict.fromkeys(listed(flavor), 'true')),
        given=given,
    )
    verdicts = {host.host: ReservationsConstraint().check_host(*asked, host) for host in hosts}
    assert [name for name, verdict in verdicts.items() if verdict] == listed(left)
    if query == 'rejected':
        with pytest.raises(InvalidSpec):
            ask()
        assert {verdict.code for verdict in verdicts.values()} == {'reservations.no_reservation'}
    else:
        assert ask().to_query() == listed(query)
        assert [host.host for host in hosts if ask().admits(host.aggregates)] == listed(left)
