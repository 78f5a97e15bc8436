"""The tables of extra specs by release agree with the Nova that runs the tests."""

from importlib.metadata import version

from nova.api.openstack import api_version_request
from nova.api.validation.extra_specs import validators
from nova.objects.image_meta import ImageMetaProps

from senlin_affinity.extra_specs import registry
from senlin_affinity.extra_specs.releases import REMOVED, SINCE, VALUES_SINCE, Releases
from senlin_affinity.plugins.nova.extra_specs import OWN

RELEASE = int(version('nova').partition('.')[0])
NOVA = Releases.parse(version('nova'))


def of_this_nova():
    """Return the release as its maximum microversion shows it."""
    highest = api_version_request.max_api_version()
    return Releases.of_microversion((highest.ver_major, highest.ver_minor))


def test_the_maximum_microversion_shows_the_release():
    found = of_this_nova()
    assert found.oldest <= RELEASE <= found.newest


def test_nova_has_each_name_of_the_tables_in_its_releases_only():
    names = {name for name in (*SINCE, *REMOVED) if ':' in name}
    assert names & {*validators.VALIDATORS} == {name for name in names if NOVA.knows(name)}
    names = {name for name in SINCE if ':' not in name}
    assert names & {*ImageMetaProps.fields} == {name for name in names if NOVA.knows(name)}


def test_nova_has_each_value_of_the_tables_in_its_releases_only():
    for name, value in VALUES_SINCE:
        if name in validators.VALIDATORS:
            values = validators.VALIDATORS[name].value['enum']
        else:
            values = getattr(ImageMetaProps.fields.get(name), 'valid_values', ())
        is_known = NOVA.knows(name) and NOVA.unknown_value(name, value) is None
        assert (value in values) is bool(is_known)


def test_every_other_name_is_in_novas_tables_and_in_ours():
    ours = {each.name for each in registry.own().own} | {*REMOVED}
    known_here = {name for name in ours if NOVA.knows(name)}
    assert known_here - {*OWN} == {*validators.VALIDATORS} - {*OWN}
