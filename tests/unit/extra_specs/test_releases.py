"""Each release of Nova knows other extra specs."""

import pytest

from senlin_affinity.extra_specs import judge
from senlin_affinity.extra_specs.registry import own
from senlin_affinity.extra_specs.releases import SINCE, UNTIL, Releases


@pytest.mark.parametrize(
    ('microversion', 'releases'),
    [
        ((2, 90), (24, 25)), ((2, 93), (26, 26)), ((2, 95), (27, 28)), ((2, 96), (29, 30)),
        ((2, 100), (31, 32)), ((2, 103), (33, 33)), ((2, 104), (34, 34)),
        ((2, 94), (26, 26)), ((2, 200), (34, 34)), ((2, 60), (24, 24)),
    ],
)  # fmt: skip
def test_the_maximum_microversion_determines_the_releases(microversion, releases):
    assert Releases.of_microversion(microversion) == Releases(*releases)


@pytest.mark.parametrize(
    ('name', 'oldest', 'newest', 'words'),
    [
        ('hw:cpu_max_cores', 26, 26, 'Nova 26 does not know it, but Nova 30 does'),
        ('hw:cpu_max_cores', 29, 30, None),
        ('os:vram', 28, 29, None),
        ('os:vram', 29, 30, 'Nova 29 does not know it; Nova 28 was the last one'),
        ('hw:numa_nodes', 24, 34, None),
    ],
)
def test_a_name_is_unknown_if_no_possible_release_knows_it(name, oldest, newest, words):
    assert Releases(oldest, newest).unknown(name) == words


@pytest.mark.parametrize(('mode', 'is_error'), [('strict', True), ('permissive', False)])
def test_a_name_of_another_release_is_an_error_in_strict_mode_only(mode, is_error):
    specs = {'hw:cpu_max_cores': '2', 'os:vram': '3', 'hw:numa_nodes': '1'}
    (found,) = judge(specs, mode, nova=Releases(26, 26))
    assert (found.name, found.is_error) == ('hw:cpu_max_cores', is_error)
    (found,) = judge(specs, mode, nova=Releases(34, 34))
    assert (found.name, found.is_error) == ('os:vram', is_error)


def test_a_name_of_no_release_is_unknown_as_without_releases():
    (found,) = judge({'hw:cpu_polici': 'shared'}, nova=Releases(26, 26))
    assert (found.suggestion, found.is_error) == ('hw:cpu_policy', True)


def test_an_invalid_value_is_reported_before_the_release():
    (found,) = judge({'hw:cpu_max_cores': 'x'}, nova=Releases(26, 26))
    assert 'must be' in found.message


def test_the_tables_name_definitions_of_the_newest_release_or_names_without_any():
    names = {each.name for each in own().own}
    assert names >= SINCE.keys()
    assert names.isdisjoint(UNTIL)
