"""The sources of definitions, their precedence, and errors."""

import re
import sys
from collections import Counter
from importlib.metadata import EntryPoint
from types import ModuleType, SimpleNamespace

import pytest

from senlin_affinity.extra_specs import image_properties, validate
from senlin_affinity.extra_specs.base import Namespace
from senlin_affinity.extra_specs.registry import (
    GROUPS,
    NOVA_GROUP,
    READERS,
    Index,
    Plugin,
    Registry,
    Unanswered,
    available,
    installed,
    load,
)
from senlin_affinity.extra_specs.validators import namespaces
from senlin_affinity.model.errors import InvalidExtraSpec, PluginError
from tests.unit.extra_specs.test_definitions import definition

#: A parameter of a name, as the document writes it.
NUMBER = {'name': 'x', 'type': int}


def plugin(*definitions, name='custom'):
    return Plugin(name, f'{name}.package:VALIDATORS', definitions)


class TestOwn:
    #: Traits and resource classes move with their libraries.
    COUNTS = {
        '': 3, 'accel': 1, 'aggregate_instance_extra_specs': 1, 'capabilities': 45, 'hw': 37,
        'hw_rng': 3, 'hw_video': 1, 'os': 1, 'pci_passthrough': 1, 'quota': 31, 'reservation': 1,
        'vmware': 2,
    }  # fmt: skip

    def test_every_namespace_exists(self):
        """R4-12, RX-05: each name occurs once, in the right namespace."""
        namespaces.cache_clear()
        assert [each.name for each in namespaces()] == sorted(each.name for each in namespaces())
        counts = {each.name: len(each.validators) for each in namespaces()}
        assert counts.pop('trait') > 300
        assert counts.pop('resources') > 20
        assert counts == self.COUNTS
        assert len({each.name for each in Registry().own}) == len(Registry().own)
        for namespace in namespaces():
            assert {each.namespace for each in namespace.validators} == {namespace.name}

    @pytest.mark.parametrize('namespace', namespaces(), ids=lambda each: each.name)
    def test_a_definition_is_found_by_its_name(self, namespace):
        """With a value for each placeholder; no other definition matches the name."""
        registry = Registry()
        alone = [(each, Index([each])) for each in namespace.validators]
        fillers = {'filter': ':a:b', 'group': '_1-a'}
        for validator in namespace.validators:
            name = re.sub(r'{(\w+)}', lambda found: fillers.get(found[1], '1'), validator.name)
            assert registry.find(name) is validator
            assert [each for each, index in alone if index.find(name)] == [validator]

    def test_references_exist(self):
        """R4-14, R4-15, R4-19: an image property belongs to one extra spec."""
        own = {each.name: each for each in Registry().own}
        assert {name: each.replaced_by for name, each in own.items() if each.deprecated} == {
            'hide_hypervisor_id': 'hw:hide_hypervisor_id'
        }
        for validator in own.values():
            assert {*validator.depends_on, validator.replaced_by or validator.name} <= {*own}
        images = [each.image_property for each in own.values() if each.image_property]
        assert len(set(images)) == len(images) > 20
        assert {'hw_cpu_policy', 'img_hide_hypervisor_id', 'trait:{trait}'} <= {*images}
        assert {*images} <= {each.name for each in image_properties.registry().own}

    def test_drivers_and_dependencies(self):
        """R4-14, R4-15: an image property has those of its extra spec."""
        specs, images = Registry(), image_properties.registry()
        of_libvirt, of_vmware, of_both = ('libvirt',), ('vmwareapi',), ('libvirt', 'vmwareapi')
        drivers = [Counter(each.drivers for each in found.own) for found in (specs, images)]
        of_all = (*of_both, 'zvm')
        assert drivers[0] == {of_libvirt: 58, of_vmware: 18, (): drivers[0][()]}
        assert drivers[1] == {of_libvirt: 51, of_vmware: 5, of_both: 5, of_all: 2, (): 49}
        needs = {
            'hw:cpu_realtime': ('hw:cpu_policy', 'hw:cpu_realtime_mask'),
            'quota:cpu_quota': ('quota:cpu_period',),
            'quota:vif_shares_share': ('quota:vif_shares_level',),
            'hw_cpu_realtime_mask': ('hw:cpu_realtime',),
            'hw_locked_memory': ('hw_mem_page_size',),
        }
        found = [specs.find(name) or images.find(name) for name in needs]
        assert [each.depends_on for each in found] == [*needs.values()]

    def test_old_names_and_names_without_effect_are_deprecated(self):
        """R4-19."""
        found = {
            each.name: each.replaced_by
            for each in image_properties.registry().own
            if each.deprecated
        }
        assert {name for name, instead in found.items() if instead is None} == {
            'hw_device_id', 'hw_ephemeral_encryption_secret_uuid', 'hw_ipxe_boot',
            'img_bittorrent', 'img_cache_in_nova', 'img_compression_level', 'img_owner_id',
            'img_use_agent', 'img_version', 'os_skip_agent_inject_files_at_boot',
            'os_skip_agent_inject_ssh',
        }  # fmt: skip
        assert len(found) == 34
        instead = {
            'img_mappings': 'mappings',
            'vmware_adaptertype': 'hw_scsi_model',
            'vmware_ostype': 'os_distro',
        }
        assert found | instead == found


class TestPlugins:
    def test_a_list(self):
        """R4-13, Q4-4: the document's format."""
        found = plugin(definition(), definition('foo{x}:baz', parameters=[NUMBER]))
        registry = Registry(plugins=[found])
        assert registry.find('foo:bar') is found.validators[0]
        assert registry.find('foo7:baz') is found.validators[1]
        assert validate('foo:bar', 'x', 'strict', registry) is None
        assert registry.added == found.validators
        assert registry.validators == registry.own + registry.added
        assert registry.suggest('foo:barr') == 'foo:bar'
        number = {'name': 'number', 'type': int}
        disks = plugin(definition('foo:disks.{number}', parameters=[number]))
        assert Registry(plugins=[disks]).suggest('foo:disk.1') == 'foo:disks.{number}'

    @pytest.mark.parametrize(
        'source',
        [
            SimpleNamespace(register=lambda: [definition()]),
            lambda: (definition(),),
            (definition(),),
        ],
        ids=['module', 'callable', 'tuple'],
    )
    def test_other_formats(self, install, source):
        """Q4-4: a module with register(), as in Nova, or a callable."""
        assert load(install('custom', source)).validators == (definition(),)

    def test_in_tree_definitions_take_precedence(self):
        """R4-13, D4-04, Q4-3: also over a matching template, and over a template of a package."""
        shadowed = [
            definition('hw:cpu_policy'),
            definition('hw:numa_cpus.0'),
            definition('hw:numa_cpus.{x}', parameters=[NUMBER]),
            definition('hw:numa_cpus.{num}', parameters=[{'name': 'num', 'type': int}]),
        ]
        every = definition('hw:{x}', parameters=[{'name': 'x', 'type': str}])
        found = plugin(*shadowed, every)
        registry = Registry(plugins=[found])
        assert registry.shadowed == tuple((found, shadowed[place]) for place in (0, 1, 3))
        assert registry.added == (shadowed[2], every)
        for name in ('hw:cpu_policy', 'hw:numa_cpus.0'):
            assert registry.find(name) in registry.own
        assert registry.find('hw:other') is every

    @pytest.mark.parametrize('other', [definition(), definition(deprecated=True)])
    def test_two_plugins_with_one_name(self, other):
        """Q4-3: an error that names both."""
        registry = Registry(plugins=[plugin(definition(), name='one'), plugin(other, name='two')])
        (error,) = registry.missing
        assert str(error) == (
            'two plugins define foo:bar: one (one.package:VALIDATORS) and '
            'two (two.package:VALIDATORS)'
        )

    def test_a_name_of_two_plugins_does_not_affect_others(self):
        """Q4-3: no template of another package and no unread package may define it."""
        rack, disks = 'acme:rack', definition('acme:d{x}', parameters=[NUMBER])
        every = definition('acme:{x}', parameters=[{'name': 'x', 'type': str}])
        registry = Registry(
            plugins=[
                plugin(definition(rack), disks, definition('one:key'), name='one'),
                plugin(definition(rack), disks, every, definition('hw:cpu_policy'), name='two'),
                plugin(definition('hw:cpu_policy'), name='three'),
            ]
        )
        for name in (rack, 'acme:d1'):
            for mode in ('strict', 'permissive'):
                with pytest.raises(
                    PluginError, match=f'^{name} cannot be checked: two plugins def'
                ):
                    validate(name, 'x', mode, registry)
        for name, value in (('one:key', 'x'), ('acme:x', 'x'), ('hw:cpu_policy', 'shared')):
            assert validate(name, value, 'strict', registry) is None
        assert validate('foo', 'x', 'permissive', registry).message.startswith('no extra spec')
        assert len(registry.missing) == 3

    def test_a_plugin_may_repeat_itself(self):
        registry = Registry(plugins=[plugin(definition(), definition())])
        assert (registry.added, registry.missing) == ((definition(),), ())
        (error,) = Registry(plugins=[plugin(definition(), definition(deprecated=True))]).missing
        assert str(error).endswith('has two different definitions of foo:bar')

    def test_a_package_that_cannot_be_loaded(self):
        """Q4-3, D4-04: no package is skipped silently."""
        with pytest.raises(PluginError) as caught:
            load(EntryPoint('custom', 'no_such.package:VALIDATORS', GROUPS[1]))
        assert str(caught.value) == (
            'extra spec validators custom (no_such.package:VALIDATORS) do not load: '
            "No module named 'no_such'"
        )
        assert isinstance(caught.value.__cause__, ImportError)

    @pytest.mark.parametrize(
        'source', [5, 'text', None, lambda: 5, lambda: 1 / 0, [5], [None], ['foo:bar'], [dict]]
    )
    def test_an_object_that_is_not_a_list_of_definitions(self, install, source):
        """Q4-3."""
        with pytest.raises(PluginError, match=r'custom \(custom:VALIDATORS\)'):
            load(install('custom', source))


def test_nonsensical_suggestions_are_omitted():
    """R4-05: neither the name itself, nor a name without a namespace after a colon."""
    name = 'long_word_of_a_template.{x}'
    template = definition(name, parameters=[NUMBER])
    registry = Registry([Namespace('', 'Bare', 'Bare.', (template, definition('key')))])
    assert [registry.suggest(each) for each in (name, 'h:key')] == [None, None]


class TestInstalled:
    """The installed definitions, with other packages than this environment's."""

    def test_each_group_is_read_once(self, install):
        """R4-13, Q4-4: also an entry point in two groups; Nova's own on request."""
        loaded = []

        def validators():
            loaded.append('once')
            return [definition('acme:x')]

        for group in GROUPS:
            install('acme', validators, group)
            install(f'acme{group[0]}', [definition(f'acme:{group[0]}')], group)
        install('other', [definition('acme:y')], NOVA_GROUP)
        ours = 'senlin_affinity.plugins.nova.extra_specs'
        install('senlin_affinity', group=NOVA_GROUP, target=ours)
        names = ['acme:x', 'acme:s', 'acme:n']
        for name in ('hw:cpu_policy', 'hw_video:ram_max_mb', 'trait1:CUSTOM_X'):
            with pytest.raises(InvalidExtraSpec):
                validate(name, '?')
        assert loaded == []  # for names of this project
        assert [each.name for each in installed().added] == names
        assert installed() is available()
        assert loaded == ['once']
        found = installed(with_nova=True)
        assert [each.name for each in found.added] == [*names, 'acme:y']
        assert found.shadowed == ()

    @pytest.mark.parametrize(
        ('present', 'why'),
        [
            ((), "; 'nova' is not a package"),
            (('nova',), "; 'nova' is not a package"),
            (('nova', 'nova.conf'), ''),
        ],
    )
    def test_nova_is_not_imported(self, install, monkeypatch, present, why):
        """Q4-4: except in a process of Nova; then no other process is used."""
        for name in ('nova', 'nova.conf'):
            monkeypatch.delitem(sys.modules, name, raising=False)
        for name in present:
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
            sys.modules[name].__path__ = []
        before = sys.modules.get('nova', 'not there')
        install('acme', target='nova.acme:VALIDATORS')
        install('broken', target='nova.acme:OTHERS')
        if 'nova.conf' in present:
            install('reader', lambda _entry_points: pytest.fail('Nova is here'), READERS)
        with pytest.raises(PluginError) as caught:
            installed()
        missing = available().missing
        assert [str(each) for each in missing] == [
            f'extra spec validators {name} (nova.acme:{attribute}) do not load: '
            f"No module named 'nova.acme'{why}"
            for name, attribute in (('acme', 'VALIDATORS'), ('broken', 'OTHERS'))
        ]
        assert str(caught.value) == '; '.join(map(str, missing))
        assert caught.value.__cause__ is missing[0]
        assert sys.modules.get('nova', 'not there') is before

    def test_a_package_that_cannot_be_loaded_is_read_in_another_process(self, install):
        """R4-13, Q4-3: all packages at once, and again without an answer."""
        here = Plugin('here', 'here:VALIDATORS', ())  # what it defines, the process itself reads
        answers = [
            [Unanswered('late'), here, PluginError('broken')],
            [Plugin('acme', 'no.acme:V', (definition('acme:x'),)), here, PluginError('broken')],
            [],
        ]
        asked = []

        def reader(entry_points):
            asked.append([each.name for each in entry_points])
            return answers[len(asked) - 1]

        install('acme', target='no.acme:V')
        install('here', [definition('acme:y')])
        install('broken', target='no.broken:V')
        install('reader', reader, READERS)
        assert [each.name for each in available().added] == ['acme:y']
        found = available()
        assert [each.name for each in found.added] == ['acme:x', 'acme:y']
        assert [str(each) for each in found.missing] == ['broken']
        assert available() is found
        with pytest.raises(ValueError, match='shorter'):
            available(with_nova=True)
        assert asked == [['acme', 'here', 'broken']] * 3

    def test_a_package_that_ends_another_process_is_not_imported(self, install):
        """Q4-3: a package that hangs or ends the process would affect the engine."""
        imported = []
        install('ends', lambda: imported.append('ends'))
        install('late', [definition('acme:y')])
        answers = PluginError('it ends'), Unanswered('late')
        install('reader', lambda _entry_points: answers, READERS)
        assert [str(each) for each in available().missing] == ['it ends']
        assert ([each.name for each in available().added], imported) == (['acme:y'], [])

    @pytest.mark.parametrize('error', [SystemExit(3), GeneratorExit('odd'), Exception('boom')])
    def test_any_exception_of_a_package_is_an_error_with_its_name(self, install, error):
        def validators():
            raise error

        with pytest.raises(PluginError, match=r'^extra spec validators ends \(ends:VALIDATORS\)'):
            load(install('ends', validators))

    def test_ctrl_c_while_a_package_loads_ends_the_command(self, install):
        def validators():
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            load(install('slow', validators))


class TestConversion:
    @pytest.fixture
    def converted(self, install):
        """Convert an object with the attributes of Nova's class."""
        given = {
            'name': 'foo:bar', 'description': 'd', 'value': {'type': int, 'min': 1},
            'parameters': [], 'deprecated': False, 'name_regex': 'foo:bar',
        }  # fmt: skip
        return lambda **changes: load(
            install('custom', [SimpleNamespace(**given | changes)])
        ).validators[0]

    def test_an_object_of_novas_class(self, converted):
        """Q4-4, D4-03."""
        given = {
            'name': 'foo:bar.{num}',
            'parameters': [{'name': 'num', 'pattern': r'\d+', 'description': 'd'}],
            'value': {'type': int, 'min': 1, 'max': 9, 'description': 'n'},
            'deprecated': True,
        }
        odd = [{**given['parameters'][0], 'odd': 1}]
        assert converted(**given | {'parameters': odd}) == definition(**given)

    def test_attributes_that_nova_ignores_are_omitted(self, converted, install):
        """D4-11: also an enum in addition to a pattern, and a duplicate value."""
        found = converted(
            name='foo:{x}', description='', value={'type': str, 'min': 1, 'odd': 2},
            parameters=[{'name': 'unused', 'pattern': 'a'}, {'name': 'x', 'pattern': 'b'}],
        )  # fmt: skip
        parameters = [{'name': 'x', 'pattern': 'b'}]
        assert found == definition('foo:{x}', description='foo:{x}', parameters=parameters)
        least = SimpleNamespace(name='foo:bar', value={'type': str})
        assert load(install('least', [least])).validators == (definition(description='foo:bar'),)
        both = converted(value={'type': str, 'pattern': 'a+', 'enum': ['b']})
        assert both == definition(value={'type': str, 'pattern': 'a+'})
        assert converted(value={'type': str, 'enum': ['a', 'a']}).value.enum == ('a',)

    @pytest.mark.parametrize(
        ('changes', 'says'),
        [
            ({'value': {'type': float}}, ': foo:bar.value.type: must be int, bool or str, not '),
            ({'name': 'foo:{x}'}, ': foo:{x}.parameters.x: the placeholder has no parameter'),
            ({'value': None}, ': must be definitions (ExtraSpecValidator), not namespace('),
            ({'name': 5}, ': must be definitions (ExtraSpecValidator), not namespace('),
            ({'parameters': [{}]}, " cannot be read: 'name'; the entry point must be a list of "),
        ],
    )
    def test_objects_that_cannot_be_converted(self, converted, changes, says):
        with pytest.raises(PluginError) as caught:
            converted(**changes)
        words = 'extra spec validators custom (custom:VALIDATORS)'
        assert str(caught.value).startswith(f'{words}{says}')


class TestIndex:
    @pytest.mark.parametrize('prefix', ['foo:', ''])
    def test_the_longest_template_is_found(self, prefix):
        """In any order; of equally many, the first in the alphabet."""
        found = [
            definition(prefix + key, parameters=[{'name': key.strip('ab{}'), 'type': str}])
            for key in ('{x}', 'a{x}', 'a{x}b', '{y}')
        ]
        for order in (found, found[::-1]):
            index = Index(order)
            assert [index.find(prefix + key) for key in ('1', 'a1', 'a1b')] == found[:3]

    def test_an_empty_index(self):
        assert [Index().find(name) for name in ('foo:bar', '')] == [None, None]

    def test_namespaces_with_equal_beginnings_are_distinguished(self):
        one, other = (
            definition(f'foo{{x}}:{key}', parameters=[{'name': 'x', 'pattern': pattern}])
            for key, pattern in (('a', '[0-9]'), ('b', '[a-z]'))
        )
        index = Index([one, other])
        names = ('foo1:a', 'foox:b', 'foo1:b', 'foox:a')
        assert [index.find(name) for name in names] == [one, other, None, None]


def test_an_extra_spec_is_suggested_as_the_image_property_of_its_name():
    assert image_properties.registry().suggest('hw:cpu_policy') == 'hw_cpu_policy'
