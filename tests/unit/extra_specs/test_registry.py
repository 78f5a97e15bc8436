"""Where definitions come from, which one wins, and what is an error."""

import sys
from importlib.metadata import EntryPoint
from types import ModuleType, SimpleNamespace

import pytest

from senlin_affinity.core.errors import PluginError
from senlin_affinity.extra_specs import validate
from senlin_affinity.extra_specs.base import ExtraSpecValidator, Namespace
from senlin_affinity.extra_specs.index import Index
from senlin_affinity.extra_specs.registry import (
    GROUPS,
    NOVA_GROUP,
    READERS,
    Plugin,
    Registry,
    Unanswered,
    available,
    installed,
    load,
    needed,
)
from senlin_affinity.extra_specs.validators import namespaces


def definition(name='foo:bar', **changes):
    return ExtraSpecValidator(
        **{'name': name, 'description': 'd', 'value': {'type': str}, **changes}
    )


def plugin(*definitions, name='custom'):
    return Plugin(name, f'{name}.package:VALIDATORS', definitions)


class TestOwn:
    #: Traits and resource classes move with their libraries.
    COUNTS = {
        '': 3, 'accel': 1, 'aggregate_instance_extra_specs': 1, 'capabilities': 45, 'hw': 37,
        'hw_rng': 3, 'hw_video': 1, 'os': 1, 'pci_passthrough': 1, 'quota': 31, 'reservation': 1,
        'vmware': 2,
    }  # fmt: skip

    def test_every_namespace_is_there(self):
        """R4-12, RX-05."""
        namespaces.cache_clear()
        assert [each.name for each in namespaces()] == sorted(each.name for each in namespaces())
        counts = {each.name: len(each.validators) for each in namespaces()}
        assert counts.pop('trait') > 300
        assert counts.pop('resources') > 20
        assert counts == self.COUNTS

    def test_names_are_unique(self):
        names = [each.name for each in Registry().own]
        assert len(set(names)) == len(names)
        for namespace in namespaces():
            assert {each.namespace for each in namespace.validators} == {namespace.name}

    @pytest.mark.parametrize('namespace', namespaces(), ids=lambda each: each.name)
    def test_a_definition_is_found_by_its_name(self, namespace):
        """Each placeholder filled in; no other definition takes the name."""
        registry = Registry()
        for validator in namespace.validators:
            name = validator.name
            for parameter in validator.parameters:
                filler = {'filter': ':a:b', 'group': '_1-a'}.get(parameter.name, '1')
                name = name.replace(f'{{{parameter.name}}}', filler)
            assert registry.find(name) is validator
            assert [each.name for each in namespace.validators if each.matches(name)] == [
                validator.name
            ]

    def test_only_one_is_deprecated(self):
        """R4-15."""
        (found,) = (each for each in Registry().own if each.deprecated)
        assert (found.name, found.replaced_by) == ('hide_hypervisor_id', 'hw:hide_hypervisor_id')

    def test_what_they_refer_to_is_there(self):
        """R4-14."""
        own = Registry().own
        names = {each.name for each in own}
        for validator in own:
            assert {*validator.depends_on, validator.replaced_by or validator.name} <= names

    def test_an_image_property_belongs_to_one_extra_spec(self):
        """R4-19."""
        images = [each.image_property for each in Registry().own if each.image_property]
        assert len(set(images)) == len(images) > 20
        assert 'hw_cpu_policy' in images


class TestPlugins:
    def test_a_list(self):
        """R4-13, Q4-4: the document's form."""
        found = plugin(
            definition(), definition('foo{x}:baz', parameters=[{'name': 'x', 'type': int}])
        )
        registry = Registry(plugins=[found])
        assert registry.find('foo:bar') is found.validators[0]
        assert registry.find('foo7:baz') is found.validators[1]
        assert validate('foo:bar', 'x', 'strict', registry) is None
        assert registry.added == found.validators
        assert registry.validators == registry.own + registry.added
        assert registry.suggest('foo:barr') == 'foo:bar'

    @pytest.mark.parametrize(
        'source',
        [
            SimpleNamespace(register=lambda: [definition()]),
            lambda: (definition(),),
            (definition(),),
        ],
        ids=['module', 'callable', 'tuple'],
    )
    def test_other_forms(self, install, source):
        """Q4-4: a module with register(), as Nova takes it, or a callable."""
        assert load(install('custom', source)).validators == (definition(),)

    def test_in_tree_wins(self):
        """R4-13, D4-04, Q4-3: also over a name that one of its templates takes."""
        names = ['hw:cpu_policy', 'hw:numa_cpus.0', 'hw:numa_cpus.{num}']
        found = plugin(
            *(
                definition(name, parameters=[{'name': 'num', 'type': int}] if '{' in name else ())
                for name in names
            )
        )
        registry = Registry(plugins=[found])
        assert [validator.name for _, validator in registry.shadowed] == names
        assert {source.name for source, _ in registry.shadowed} == {'custom'}
        assert registry.added == ()
        for name in names[:2]:
            assert registry.find(name) in registry.own

    def test_a_template_of_a_plugin_does_not_take_names_of_ours(self):
        """Q4-3."""
        found = plugin(definition('hw:{key}', parameters=[{'name': 'key', 'type': str}]))
        registry = Registry(plugins=[found])
        assert registry.find('hw:cpu_policy') in registry.own
        assert registry.find('hw:numa_cpus.0') in registry.own
        assert registry.find('hw:other') in registry.added

    @pytest.mark.parametrize('other', [definition(), definition(deprecated=True)])
    def test_two_plugins_with_one_name(self, other):
        """Q4-3: an error that names both."""
        registry = Registry(plugins=[plugin(definition(), name='one'), plugin(other, name='two')])
        (error,) = registry.missing
        for words in ('foo:bar', 'one (one.package:VALIDATORS)', 'two (two.package:VALIDATORS)'):
            assert words in str(error)

    def test_a_name_of_two_plugins_leaves_the_others_alone(self):
        """Q4-3: nor does another plugin's template take it, or one that is not read define it."""
        rack, disks = 'acme:rack', definition('acme:d{x}', parameters=[{'name': 'x', 'type': int}])
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
                with pytest.raises(PluginError) as caught:
                    validate(name, 'x', mode, registry)
                assert str(caught.value).startswith(f'{name} cannot be judged: two plugins define ')
        for name, value in (('one:key', 'x'), ('acme:x', 'x'), ('hw:cpu_policy', 'shared')):
            assert validate(name, value, 'strict', registry) is None
        assert validate('foo', 'x', 'permissive', registry).message.startswith('no extra spec')
        assert len(registry.missing) == 3

    def test_a_plugin_may_repeat_itself(self):
        registry = Registry(plugins=[plugin(definition(), definition())])
        assert (registry.added, registry.missing) == ((definition(),), ())
        (error,) = Registry(plugins=[plugin(definition(), definition(deprecated=True))]).missing
        assert str(error).endswith('defines foo:bar twice, and differently')

    def test_one_that_does_not_load(self):
        """Q4-3, D4-04: no silent skip."""
        entry_point = EntryPoint('custom', 'no_such.package:VALIDATORS', GROUPS[1])
        with pytest.raises(PluginError) as caught:
            load(entry_point)
        assert str(caught.value) == (
            'extra spec validators custom (no_such.package:VALIDATORS) do not load: '
            "No module named 'no_such'"
        )
        assert isinstance(caught.value.__cause__, ImportError)

    @pytest.mark.parametrize(
        'source', [5, 'text', None, lambda: 5, lambda: 1 / 0, [5], [None], ['foo:bar'], [dict]]
    )
    def test_what_is_no_list_of_definitions(self, install, source):
        """Q4-3."""
        with pytest.raises(PluginError, match=r'custom \(custom:VALIDATORS\)'):
            load(install('custom', source))


def test_no_suggestion_without_sense():
    """R4-05: neither the name itself, nor a name without a namespace behind a colon."""
    name = 'long_word_of_a_template.{x}'
    template = definition(name, parameters=[{'name': 'x', 'type': int}])
    registry = Registry([Namespace('', 'Bare', 'Bare.', (template, definition('key')))])
    assert [registry.suggest(each) for each in (name, 'h:key')] == [None, None]


class TestInstalled:
    """What the process knows, with other packages than this environment's."""

    def test_each_group_is_read_once(self, install):
        """R4-13, Q4-4: an entry point that is in two of them as well; Nova's own on request."""
        loaded = []

        def validators():
            loaded.append('once')
            return [definition('acme:x')]

        for group in GROUPS:
            install('acme', validators, group)
            install(f'acme{group[0]}', [definition(f'acme:{group[0]}')], group)
        install('other', [definition('acme:y')], NOVA_GROUP)
        ours = 'senlin_affinity.plugins.nova_extra_specs'
        install('senlin_affinity', group=NOVA_GROUP, target=ours)
        install('reader', lambda _entry_points: pytest.fail('nothing is left'), READERS)
        names = ['acme:x', 'acme:s', 'acme:n']
        assert [each.name for each in installed().added] == names
        assert installed() is available() is needed(['hw:cpu_policy', 'foo'])
        assert loaded == ['once']
        found = installed(with_nova=True)
        assert [each.name for each in found.added] == [*names, 'acme:y']
        assert found.shadowed == ()
        assert needed([5]) is needed(['hw:cpu_policy', 'hw:numa_cpus.0']) is not installed()

    @pytest.mark.parametrize(
        ('present', 'why'),
        [
            ((), "; 'nova' is not a package"),
            (('nova',), "; 'nova' is not a package"),
            (('nova', 'nova.conf'), ''),
        ],
    )
    def test_nova_is_out_of_sight(self, install, monkeypatch, present, why):
        """Q4-4: unless it is at home here; then nothing is read elsewhere."""
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

    def test_what_does_not_load_here_is_read_elsewhere(self, install):
        """R4-13, Q4-3: all of it at once, again where there was no answer; a bad reader is told."""
        answers = [
            [Unanswered('late'), PluginError('broken')],
            [Plugin('acme', 'no.acme:V', (definition('acme:x'),)), PluginError('broken')],
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
        assert asked == [['acme', 'broken']] * 3


def nova_s(**changes):
    return SimpleNamespace(
        **{
            'name': 'foo:bar', 'description': 'd', 'value': {'type': int, 'min': 1},
            'parameters': [], 'deprecated': False, 'name_regex': 'foo:bar', **changes,
        }
    )  # fmt: skip


class TestConversion:
    @pytest.fixture
    def converted(self, install):
        return lambda **changes: load(install('custom', [nova_s(**changes)])).validators[0]

    def test_an_object_of_nova_s_class(self, converted):
        """Q4-4, D4-03."""
        found = converted(
            name='foo:bar.{num}',
            value={'type': int, 'min': 1, 'max': 9, 'description': 'n'},
            parameters=[{'name': 'num', 'pattern': r'\d+', 'description': 'd', 'odd': 1}],
            deprecated=True,
        )
        assert found == definition(
            'foo:bar.{num}',
            parameters=[{'name': 'num', 'pattern': r'\d+', 'description': 'd'}],
            value={'type': int, 'min': 1, 'max': 9, 'description': 'n'},
            deprecated=True,
        )

    def test_what_nova_ignores_is_left_out(self, converted, install):
        found = converted(
            name='foo:{x}', description='', value={'type': str, 'min': 1, 'odd': 2},
            parameters=[{'name': 'unused', 'pattern': 'a'}, {'name': 'x', 'pattern': 'b'}],
        )  # fmt: skip
        parameters = [{'name': 'x', 'pattern': 'b'}]
        assert found == definition('foo:{x}', description='foo:{x}', parameters=parameters)
        least = SimpleNamespace(name='foo:bar', value={'type': str})
        assert load(install('least', [least])).validators == (definition(description='foo:bar'),)

    def test_only_the_pattern_counts_beside_an_enum(self, converted):
        """D4-11: as in Nova."""
        found = converted(value={'type': str, 'pattern': 'a+', 'enum': ['b']})
        assert found.complaint('aa') is None
        assert found.complaint('b') is not None

    def test_a_repeated_word_of_an_enum(self, converted):
        assert converted(value={'type': str, 'enum': ['a', 'a']}).value.enum == ('a',)

    @pytest.mark.parametrize(
        ('changes', 'says'),
        [
            ({'value': {'type': float}}, ': foo:bar.value.type: must be int, bool or str, not '),
            ({'name': 'foo:{x}'}, ': foo:{x}.parameters.x: the placeholder has no parameter'),
            ({'value': None}, ': must be definitions (ExtraSpecValidator), not namespace('),
            ({'name': 5}, ': must be definitions (ExtraSpecValidator), not namespace('),
            ({'parameters': [{}]}, " can not be read: 'name'; the entry point must be a list of "),
        ],
    )
    def test_what_can_not_be_converted(self, converted, changes, says):
        with pytest.raises(PluginError) as caught:
            converted(**changes)
        words = 'extra spec validators custom (custom:VALIDATORS)'
        assert str(caught.value).startswith(f'{words}{says}')


class TestIndex:
    @pytest.mark.parametrize('prefix', ['foo:', ''])
    def test_the_one_with_more_letters_is_found(self, prefix):
        """Whatever the order."""
        found = [
            definition(f'{prefix}{{x}}', parameters=[{'name': 'x', 'type': str}]),
            definition(f'{prefix}a{{x}}', parameters=[{'name': 'x', 'type': str}]),
            definition(f'{prefix}a{{x}}b', parameters=[{'name': 'x', 'type': str}]),
            # Of equally many, the first in the alphabet.
            definition(f'{prefix}{{y}}', parameters=[{'name': 'y', 'type': str}]),
        ]
        for order in (found, found[::-1]):
            index = Index(order)
            assert [index.find(prefix + name).name for name in '1 a1 a1b'.split()] == [
                each.name for each in found[:3]
            ]

    @pytest.mark.parametrize(
        'kind',
        ['foo:a{number}', 'foo:a{number}.{{x}}', 'foo{{x}}:a{number}', 'foo{number}.{{x}}:a'],
    )
    def test_a_lookup_compares_with_few(self, kind):
        """However many there are: the definitions whose pattern is compiled are those compared."""
        made = [
            definition(
                kind.format(number=number),
                parameters=[{'name': 'x', 'type': int}] if '{{' in kind else (),
            )
            for number in range(1000, 3000)
        ]
        index = Index(made)
        name = made[700].name.replace('{x}', '5')
        assert index.find(name) is made[700]
        assert index.find(name + 'x') is None
        assert sum('regex' in vars(part) for each in made for part in each.parts) <= 2

    def test_an_empty_one(self):
        assert Index().find('foo:bar') is None
        assert Index().find('') is None

    def test_namespaces_that_begin_alike_are_kept_apart(self):
        none = {'name': 'y', 'pattern': ''}
        one = definition('foo{x}{y}:a', parameters=[{'name': 'x', 'pattern': '[0-9]'}, none])
        other = definition('foo{x}{y}:b', parameters=[{'name': 'x', 'pattern': '[a-z]'}, none])
        index = Index([one, other])
        assert [index.find(name) for name in ('foo1:a', 'foox:b')] == [one, other]
        assert [index.find(name) for name in ('foo1:b', 'foox:a')] == [None, None]
