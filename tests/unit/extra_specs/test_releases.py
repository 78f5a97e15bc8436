"""Each release of Nova knows other extra specs, image properties and values."""

import pytest

from senlin_affinity.extra_specs import findings, image_properties
from senlin_affinity.extra_specs.registry import own
from senlin_affinity.extra_specs.releases import REMOVED, SINCE, UNREAD, VALUES_SINCE, Releases
from tests.support.tables import read, rows

TABLE = read('nova_releases')


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
    ('text', 'releases', 'shown'),
    [
        ('30', Releases(30, 30), 'Nova 30'),
        ('30.2', Releases(30, 30, 2), 'Nova 30.2'),
        ('30.2.1', Releases(30, 30, 2), 'Nova 30.2'),
        ('30.0', Releases(30, 30, 0), 'Nova 30.0'),
    ],
)
def test_a_release_is_parsed(text, releases, shown):
    assert (Releases.parse(text), str(Releases.parse(text))) == (releases, shown)


@pytest.mark.parametrize('text', ['', 'zed', '30.', '.2', '30.2.1.1', '-1', ' 30', '30.x', '٣٠'])
def test_any_other_text_is_no_release(text):
    with pytest.raises(ValueError, match='such as 26 or 30.2, not '):
        Releases.parse(text)


@pytest.mark.parametrize('row', rows('nova_releases'))
def test_the_tables_agree_with_every_release(row):
    """R4-12: each name and value that a release added or removed, in all other releases, too."""
    known = {*SINCE, *('='.join(pair) for pair in VALUES_SINCE)}
    for later in reversed(TABLE[TABLE.index(row) + 1 :]):
        known = (known - {*later['added']}) | {*later['removed']}
    for version in row['versions']:
        nova = Releases.parse(version)
        values = {
            pair
            for pair in VALUES_SINCE
            if nova.knows(pair[0]) and nova.unknown_value(*pair) is None
        }
        names = {name for name in {*SINCE, *REMOVED} if nova.knows(name)}
        assert names == {each for each in known if '=' not in each}
        assert {'='.join(pair) for pair in values} == {each for each in known if '=' in each}


def test_the_tables_name_definitions_of_the_newest_release_or_names_without_any():
    names = {each.name for each in (*own().own, *image_properties.registry().own)}
    assert names >= SINCE.keys()
    assert names.isdisjoint(REMOVED)
    assert REMOVED.keys() >= UNREAD
    for name, value in VALUES_SINCE:
        registry = own() if ':' in name else image_properties.registry()
        assert value in registry.find(name).value.enum


READS = 'Nova {} reads this name, but its API rejects it: set it with microversion 2.85'
NAMES = [
    ('hw:locked_memory', '25', True, 'the API of Nova 25 rejects this name; Nova 26 knows it'),
    ('hw:locked_memory', '26', None, None),
    ('hw:cpu_max_cores', '26', True, READS.format('26')),
    ('hw:cpu_max_cores', '30.2.1', True, READS.format('30.2')),
    ('hw:cpu_max_cores', '30', False, READS.format('30').replace(':', ' before 30.3:')),
    ('hw:cpu_max_cores', '31', False, READS.format('31').replace(':', ' before 31.2:')),
    ('hw:cpu_max_cores', '30.3', None, None),
    ('hw:cpu_max_cores', '32', None, None),
    (
        'hw:max_cpu_cores', '30.2', False,
        'the API of Nova 30.2 accepts this name, but nothing reads it: did you mean '
        'hw:cpu_max_cores?',
    ),
    (
        'hw:max_cpu_cores', '30.3', True,
        'the API of Nova 30.3 rejects this name: did you mean hw:cpu_max_cores?',
    ),
    ('hw:maxphysaddr_mode', '29', True, READS.format('29')),
    ('hw:maxphysaddr_mode', '28', True, 'the API of Nova 28 rejects this name'),
    (
        'os:vram', '29', True,
        'the API of Nova 29 rejects this name; Nova 28 was the last one that knew it',
    ),
    ('os:vram', '28', None, None),
    (
        'powervm:min_mem', '26', True,
        'Nova 26 ignores this name; Nova 25 was the last one that knew it',
    ),
    ('powervm:min_mem', '25', None, None),
    ('powervm:foo', '25', True, 'the API of Nova 25 rejects this name'),
    ('powervm:foo', '26', True, 'Nova 26 ignores this name'),
]  # fmt: skip


@pytest.mark.parametrize(('name', 'release', 'is_error', 'words'), NAMES)
def test_the_finding_says_what_the_release_does_with_a_name(name, release, is_error, words):
    for mode in ('strict', 'permissive'):
        found = findings({name: '1'}, mode, nova=Releases.parse(release))
        assert [each.is_error for each in found] == (
            [] if words is None else [is_error and mode == 'strict']
        )
        assert words is None or found[0].message.startswith(words)


def test_two_possible_releases_that_differ_cause_no_finding():
    for name in ('hw:cpu_max_cores', 'os:vram'):
        assert findings({name: '2'}, nova=Releases(28, 30)) == ()
    (found,) = findings({'hw:max_cpu_cores': '2'}, nova=Releases(29, 30))
    assert 'API of Nova 29 or 30 accepts this name' in found.message


@pytest.mark.parametrize(('mode', 'is_error'), [('strict', True), ('permissive', False)])
def test_an_image_property_of_a_later_release_is_ignored(mode, is_error):
    specs, registry = {'hw_sound_model': 'usb', 'hw_pmu': 'true'}, image_properties.registry()
    (found,) = findings(specs, mode, registry, Releases(31, 31))
    words = 'Nova 31 ignores this property; Nova 32 reads it'
    assert (found.name, found.message, found.is_error) == ('hw_sound_model', words, is_error)
    assert findings(specs, mode, registry, Releases(31, 32)) == ()


@pytest.mark.parametrize('mode', ['strict', 'permissive'])
@pytest.mark.parametrize(
    ('name', 'value', 'newest', 'first'),
    [
        ('hw:mem_encryption_model', 'amd-sev-snp', 33, 34),
        ('hw_mem_encryption_model', 'intel-tdx', 33, 34),
        ('hw_vif_model', 'IGB', 30, 31),
    ],
)
def test_a_value_of_a_later_release_is_an_error(name, value, newest, first, mode):
    registry = None if ':' in name else image_properties.registry()
    (found,) = findings({name: value}, mode, registry, Releases(newest, newest))
    words = f'Nova {newest} does not know the value {value}, but Nova {first} does'
    assert (found.message, found.is_error) == (words, True)
    assert findings({name: value}, mode, registry, Releases(newest, first)) == ()


def test_a_name_of_no_release_is_unknown_as_without_releases():
    (found,) = findings({'hw:cpu_polici': 'shared'}, nova=Releases(26, 26))
    assert (found.suggestion, found.is_error) == ('hw:cpu_policy', True)


def test_an_invalid_value_is_reported_before_the_release():
    (found,) = findings({'hw:cpu_max_cores': 'x'}, nova=Releases(26, 26))
    assert 'must be' in found.message
