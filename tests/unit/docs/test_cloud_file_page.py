"""The page of the sandbox's cloud file describes every key that the reader accepts."""

import dataclasses
import textwrap

import pytest
import yaml

from senlin_affinity.sandbox import blueprint, blueprint_reader
from tests.unit.docs.test_manual import shown, table, text_of

PAGE = text_of('reference/cloud-file.rst')
ITEMS = {
    'hosts': blueprint.HostSpec,
    'aggregates': blueprint.AggregateSpec,
    'flavors': blueprint.FlavorSpec,
    'images': blueprint.ImageSpec,
}


def rows(section):
    return {row[0]: row[1:] for row in table(PAGE, f'cloud-{section or "file"}')}


@pytest.mark.parametrize('section', blueprint_reader.KEYS)
def test_a_table_has_the_accepted_keys_and_their_limits(section):
    found = rows(section)
    assert list(found) == list(blueprint_reader.KEYS[section])
    for key, (value, *_) in found.items():
        if limits := blueprint_reader.LIMITS.get(f'{section}.{key}'):
            assert value == f'{limits[0]} to {limits[1]}'


@pytest.mark.parametrize('section', ITEMS)
def test_a_table_has_the_defaults(section):
    found = rows(section)
    for field in dataclasses.fields(ITEMS[section]):
        if field.default not in (dataclasses.MISSING, None, ()):
            assert found[field.name][1].lower() == shown(field.default)


def test_a_table_has_the_default_quotas():
    assert {key: int(row[1]) for key, row in rows('quotas').items()} == blueprint.DEFAULT_QUOTAS


def test_the_page_has_the_limit_of_hosts():
    assert f'1 to\n       {blueprint_reader.MOST_HOSTS} hosts' in PAGE


def test_the_example_is_valid():
    text = PAGE.split('required::\n', 1)[1].split('\nAll text', 1)[0]
    made = blueprint_reader.read(**yaml.safe_load(textwrap.dedent(text)))
    assert {host.name: host.vcpus for host in made.hosts}['bm-1'] == 0
    assert made.images[0].properties == {'os_type': 'windows'}
