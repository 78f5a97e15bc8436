"""The three modes, names and values, as in the rows of the rule tables."""

import pytest

from senlin_affinity.extra_specs import (
    MODES,
    Finding,
    findings,
    image_properties,
    same_names,
    validate,
    validate_all,
)
from senlin_affinity.extra_specs.base import ExtraSpecValidator
from senlin_affinity.extra_specs.registry import Plugin, Registry
from senlin_affinity.model.errors import InvalidExtraSpec, InvalidSpec, PluginError
from tests.support.tables import rows

REGISTRY = Registry()


@pytest.mark.parametrize('mode', MODES)
@pytest.mark.parametrize('row', rows('extra_spec_modes'))
def test_mode(row, mode):
    """All extra specs at once give the same result as one by one."""
    given, outcome = row['extra_specs'], row.get(mode, 'passes')
    errors, found = [], []
    for name, value in sorted(given.items()):
        try:
            found.append(validate(name, value, mode, REGISTRY))
        except InvalidExtraSpec as error:
            errors += error.errors
    found = tuple(filter(None, found))
    said = findings(given, mode, REGISTRY)
    assert errors == [str(finding) for finding in said if finding.is_error]
    assert found == tuple(finding for finding in said if not finding.is_error)
    if not isinstance(outcome, dict):
        assert validate_all(given, mode, REGISTRY) == found
        assert [finding.name for finding in found] == ([] if outcome == 'passes' else outcome)
        return
    with pytest.raises(InvalidExtraSpec) as caught:
        validate_all(given, mode, REGISTRY)
    assert caught.value.errors == tuple(errors)
    assert len(errors) == outcome['errors']
    says = row.get('says', ())
    for words in [*([says] if isinstance(says, str) else says), *errors]:
        assert words in str(caught.value)


@pytest.mark.parametrize('mode', ['bogus', 'disabled', 'STRICT', '', ' strict', None, True, []])
def test_every_other_mode_is_rejected(mode):
    """R4-06, Q4-2, D4-01: also without extra specs."""
    for call in (
        lambda: validate('hw:cpu_policy', 'dedicated', mode),
        lambda: validate_all({}, mode),
        lambda: findings({}, mode),
    ):
        with pytest.raises(InvalidSpec, match='strict, permissive, off') as caught:
            call()
        assert not isinstance(caught.value, InvalidExtraSpec)


@pytest.mark.parametrize('mode', ['strict', 'permissive'])
@pytest.mark.parametrize('name', [None, 5, 5.0, True, b'hw:cpu_policy', ('a',)])
def test_a_name_must_be_a_string(name, mode):
    """R4-09: a separate error, in addition to others."""
    said = f'{name!r}: the name must be a string'
    with pytest.raises(InvalidExtraSpec) as caught:
        validate(name, 'dedicated', mode)
    assert caught.value.errors == (said,)
    with pytest.raises(InvalidExtraSpec) as caught:
        validate_all({name: '1', 'hw:numa_nodes': '0', 'hw:cpu_policy': 'shared'}, mode)
    assert said in caught.value.errors
    assert len(caught.value.errors) == 2
    assert validate_all({name: '1', 'hw:numa_nodes': '0'}, 'off') == ()


@pytest.mark.parametrize('mode', ['strict', 'permissive'])
def test_a_name_that_a_missing_plugin_may_define(mode):
    """Q4-3: only the reason is reported; all other names are validated."""
    registry = Registry(missing=[PluginError('custom does not load'), PluginError('nor other')])
    with pytest.raises(PluginError) as caught:
        validate_all({'foo:bar': 'x', 'hw:cpu_policy': 'shared'}, mode, registry)
    assert str(caught.value) == (
        'foo:bar cannot be checked, because a plugin that may define it is missing: '
        'custom does not load; nor other'
    )
    assert validate_all({'hw:cpu_policy': 'shared'}, mode, registry) == ()
    with pytest.raises(InvalidExtraSpec):
        validate('hw:cpu_policy', 'x', mode, registry)
    assert validate_all({'foo:bar': 'x'}, 'off', registry) == ()


@pytest.mark.parametrize('mode', MODES)
@pytest.mark.parametrize('given', [None, 5, 'hw:cpu_policy', ['hw:cpu_policy']])
def test_extra_specs_are_a_mapping(given, mode):
    for call in (validate_all, findings):
        with pytest.raises(InvalidSpec, match='must be a mapping of names to values'):
            call(given, mode)


def test_an_error_without_a_suggestion_has_advice():
    """R4-06, R4-08, Q4-1: only if it is an error, and strict is the default."""
    known = 'foo: no extra spec of this name is known'
    for call in (lambda: validate('foo', 'bar'), lambda: validate_all({'foo': 'bar'})):
        with pytest.raises(InvalidExtraSpec) as caught:
            call()
        assert str(caught.value) == f'{known}: define it in a package, or use the mode permissive'
    assert str(validate('foo', 'bar', 'permissive')) == known


def test_a_finding_has_a_suggestion():
    """R4-08."""
    name, meant = 'hw:cpu_pollicy', 'hw:cpu_policy'
    said = f'the API of Nova rejects this name: did you mean {meant}?'
    found = validate(name, 'dedicated', 'permissive')
    assert found == Finding(name, 'dedicated', said, meant)
    assert str(found) == f'{name}: {said}'


@pytest.mark.parametrize('row', rows('extra_spec_names'))
def test_name(row):
    registry = Registry()
    found = registry.find(row['extra_spec'])
    assert (found and found.name) == row.get('definition')
    if found is None:
        assert registry.suggest(row['extra_spec']) == row['suggestion']
    else:
        assert found.matches(row['extra_spec'])


def values(row, outcome):
    for text, times in row.get(f'{outcome}_repeated', {}).items():
        yield (text * times)[:times]
    yield from row.get(outcome, ())


@pytest.mark.parametrize('row', rows('extra_spec_values'))
def test_value(row):
    for value in values(row, 'accepted'):
        assert validate(row['extra_spec'], value, 'strict', REGISTRY) is None
    for value in values(row, 'noted'):
        found = validate(row['extra_spec'], value, 'strict', REGISTRY)
        assert row.get('note', '') in found.message
    for value in values(row, 'refused'):
        for mode in ('strict', 'permissive'):
            with pytest.raises(InvalidExtraSpec) as caught:
                validate(row['extra_spec'], value, mode, REGISTRY)
            assert row['says'] in str(caught.value), value
        assert validate(row['extra_spec'], value, 'off', REGISTRY) is None


WORDS = 'Nova allows only letters (A to Z), digits, spaces and -_:. in a name'


@pytest.mark.parametrize(
    ('name', 'words'),
    [
        ('hw:é', WORDS),
        ('a/b', WORDS),
        ('a=', WORDS),
        ('hw:\x00', WORDS),
        ('a\n\n', WORDS),
        ('', 'a name must not be empty'),
        ('a' * 256, 'Nova allows at most 255 characters in a name, not 256'),
        ('aggregate_instance_extra_specs:\t', WORDS),
    ],
)
@pytest.mark.parametrize('mode', ['strict', 'permissive'])
def test_a_name_that_the_schema_of_the_request_rejects_is_an_error(name, words, mode):
    """Nova answers 400 in every microversion."""
    (found,) = findings({name: '1'}, mode, REGISTRY)
    assert (found.message, found.is_error) == (words, True)
    assert findings({name: '1'}, 'off', REGISTRY) == ()


@pytest.mark.parametrize('name', ['a', 'a' * 255, 'a' * 255 + '\n', 'a b', '-_:. 9', ' '])
def test_the_schema_of_the_request_allows_any_other_name(name):
    (found,) = findings({name: '1'}, 'permissive', REGISTRY)
    assert not found.is_error


ADVICE = 'define it in a package, or use the mode permissive'


@pytest.mark.parametrize(
    ('name', 'words', 'hint'),
    [
        ('hw:foo', 'the API of Nova rejects this name', ADVICE),
        ('quota:disk_iops', 'the API of Nova rejects this name', ADVICE),
        (
            'trait_x:FOO',
            'the API of Nova rejects this name',
            'the name of a custom trait begins with CUSTOM_',
        ),
        (
            'resources:RACK',
            'the API of Nova rejects this name',
            'the name of a custom resource class begins with CUSTOM_',
        ),
        (
            'hw:max_cpu_threads',
            'the API of Nova rejects this name',
            'did you mean hw:cpu_max_threads?',
        ),
        (
            'hw:firmware_type',
            'the API of Nova rejects this name',
            'set the image property hw_firmware_type instead',
        ),
        ('scs:cpu', 'Nova ignores this name', ADVICE),
        ('hwx:cpu_policy', 'Nova ignores this name', 'did you mean hw:cpu_policy?'),
        (
            'hw:maxphysaddr_mode',
            'Nova reads this name, but its API rejects it',
            'set it with microversion 2.85',
        ),
        (
            'hw:maxphysaddr_bits',
            'Nova reads this name, but its API rejects it',
            'set it with microversion 2.85',
        ),
        (
            'capabilities:boot_mode',
            'Nova reads this name, but its API rejects it',
            'set it with microversion 2.85',
        ),
        (
            'capabilities:vcpu',
            'the API of Nova rejects this name',
            'did you mean capabilities:vcpus?',
        ),
        ('colour', 'no extra spec of this name is known', ADVICE),
        (
            'hw_firmware_type',
            'no extra spec of this name is known',
            'set the image property hw_firmware_type instead',
        ),
        ('hw_cpu_policy', 'no extra spec of this name is known', 'did you mean hw:cpu_policy?'),
    ],
)
def test_an_unknown_name_has_the_sentence_of_what_nova_does(name, words, hint):
    """D4-02: tests/functional/test_extra_specs_like_nova.py compares it with Nova."""
    (found,) = findings({name: 'required'}, 'strict', REGISTRY)
    assert (found.message, found.is_error) == (f'{words}: {hint}', True)
    (found,) = findings({name: 'required'}, 'permissive', REGISTRY)
    expected = words if hint == ADVICE else f'{words}: {hint}'
    assert (found.message, found.is_error) == (expected, False)


def test_the_namespace_of_a_package_may_be_one_of_novas():
    """Only if nova-api loads the package, which is not known here."""
    plugin = Plugin('acme', 'acme', (ExtraSpecValidator('acme:rack', 'A rack.', {'type': str}),))
    (found,) = findings({'acme:row': '1'}, 'permissive', Registry(plugins=[plugin]))
    assert found.message == 'no extra spec of this name is known'


def test_names_that_mysql_does_not_distinguish():
    """Nova's table flavor_extra_specs has the collation utf8mb3_general_ci."""
    names = ['a:x', 'b', 'A:x', 'a:x ', 'B', 'a:y', ' b', 'b']
    assert same_names(names) == (('A:x', 'a:x'), ('a:x ', 'a:x'), ('B', 'b'))


@pytest.mark.parametrize(
    ('name', 'value', 'hint'),
    [
        ('hw_architecture', 'arm64', 'did you mean aarch64?'),
        ('hw_firmware_type', 'UEFI', 'did you mean uefi?'),
        ('hw_tpm_version', '2', 'did you mean 2.0?'),
        ('img_config_drive', 'True', 'did you mean mandatory?'),
        ('os_secure_boot', 'true', 'did you mean required?'),
        ('hw_emulation_architecture', 'ARM64', 'did you mean aarch64?'),
        ('hw_architecture', 'x64', 'did you mean x86_64?'),
        ('hw_architecture', 'x86-64', 'did you mean x86_64?'),
        ('hw_disk_bus', 'virtio-scsi', 'write scsi, and hw_scsi_model=virtio-scsi'),
        ('hw_vif_model', 'virtio-net-pci', 'did you mean virtio?'),
        ('os_type', 'ubuntu', 'write linux, and os_distro=ubuntu'),
    ],
)
def test_a_frequent_mistake_has_a_hint(name, value, hint):
    """No similar word is right: armv6 resembles arm64."""
    (found,) = findings({name: value}, 'strict', image_properties.registry())
    assert found.message.endswith(f', not {value!r}: {hint}')


def test_an_alias_of_a_device_needs_a_number():
    (found,) = findings({'pci_passthrough:alias': 'gpu'}, 'strict', REGISTRY)
    assert found.message.endswith(", not 'gpu': give the number of devices, too, as in gpu:1")


def test_image_properties_have_findings_of_their_kind():
    """R4-19: a value that Nova reads as another one passes in every mode."""
    specs = {'hw_pmu': 'enabled', 'colour': 'red'}
    assert findings(specs, 'permissive', image_properties.registry()) == (
        Finding('colour', 'red', 'no image property of this name is known'),
        Finding('hw_pmu', 'enabled', "Nova reads 'enabled' as false: write true or false"),
    )
