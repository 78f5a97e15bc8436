"""The tables of extra specs by release agree with the Nova that runs the tests."""

from importlib.metadata import version

from nova.api.openstack import api_version_request
from nova.api.validation.extra_specs import validators

from senlin_affinity.extra_specs import registry
from senlin_affinity.extra_specs.releases import SINCE, UNTIL, Releases
from senlin_affinity.plugins.nova.extra_specs import OWN

RELEASE = int(version('nova').partition('.')[0])


def of_this_nova():
    """Return the release as its maximum microversion shows it."""
    highest = api_version_request.max_api_version()
    return Releases.of_microversion((highest.ver_major, highest.ver_minor))


def test_the_maximum_microversion_shows_the_release():
    found = of_this_nova()
    assert found.oldest <= RELEASE <= found.newest


def test_nova_has_each_name_of_the_tables_in_its_releases_only():
    names = {*SINCE, *UNTIL}
    wanted = {name for name in names if SINCE.get(name, 0) <= RELEASE <= UNTIL.get(name, RELEASE)}
    assert names & {*validators.VALIDATORS} == wanted


def test_every_other_name_is_in_novas_tables_and_in_ours():
    ours = {each.name for each in registry.own().own} | {*UNTIL}
    known_here = {name for name in ours if Releases(RELEASE, RELEASE).unknown(name) is None}
    assert known_here - {*OWN} == {*validators.VALIDATORS} - {*OWN}
