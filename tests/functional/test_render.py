"""Definitions as pages, and as namespaces of Glance's catalog, validated by its client's schema."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
from glanceclient.v2.namespace_schema import BASE_SCHEMA

from senlin_affinity.extra_specs import image_properties, metadef, render
from senlin_affinity.extra_specs.base import ExtraSpecValidator, Namespace
from senlin_affinity.extra_specs.registry import Plugin, Registry
from senlin_affinity.model.errors import InvalidSpec

MANUAL = Path(__file__).parents[2] / 'doc/source/reference/extra_specs'
REGISTRY = Registry()
NAMESPACES = render.namespaces(REGISTRY)
IMAGES = image_properties.registry()


def defined(name='acme:rack', description='A rack.', value=None, **more):
    return ExtraSpecValidator(name, description, value or {'type': str}, **more)


def judged(namespace):
    found = metadef.namespace(namespace)
    jsonschema.Draft4Validator(BASE_SCHEMA, format_checker=jsonschema.FormatChecker()).validate(
        found
    )
    return found


def exported(*validators, name='acme', summary='What ACME has.'):
    return judged(Namespace(name, 'ACME', summary, validators))


def one(validator):
    (found,) = exported(validator)['properties'].values()
    return found


# -- Glance


@pytest.mark.parametrize(
    ('name', 'namespace', 'prefix'),
    [
        ('acme', 'OS::Compute::ExtraSpecs::acme', {'prefix': 'acme:'}),
        ('', 'OS::Compute::ExtraSpecs', {}),
    ],
)
def test_r4_17_the_attributes_of_a_namespace(name, namespace, prefix):
    assert exported(name=name) == {
        'namespace': namespace,
        'display_name': 'ACME',
        'description': 'What ACME has.',
        'visibility': 'public',
        'protected': True,
        'resource_type_associations': [{'name': 'OS::Nova::Flavor', **prefix}],
        'properties': {},
    }


def test_image_properties_have_namespaces_of_images():
    """R4-17, R4-19."""
    found = {each.name: judged(each) for each in render.namespaces(IMAGES)}
    assert found['hw']['namespace'] == 'OS::Compute::ImageProperties::hw'
    assert found['hw']['resource_type_associations'] == [
        {'name': 'OS::Glance::Image'},
        {'name': 'OS::Cinder::Volume', 'properties_target': 'image'},
    ]
    assert found['hw']['properties']['hw_cpu_policy'] == {
        'title': 'hw_cpu_policy',
        'description': f'{render.plain(REGISTRY.find("hw:cpu_policy").description)} '
        'Extra spec: hw:cpu_policy. Virt drivers: libvirt.',
        'type': 'string',
        'enum': ['dedicated', 'shared', 'mixed'],
    }
    exported = {name for each in found.values() for name in each['properties']}
    left_out = {'hw_numa_cpus.{num}', 'hw_numa_mem.{num}', 'trait:{trait}'}
    assert exported == {each.name for each in IMAGES.own} - left_out


def as_number(text):
    return int(text) if re.fullmatch(r'-?\d+', text) else None


@pytest.mark.parametrize(
    ('registry', 'namespace'),
    [(each, namespace) for each in (REGISTRY, IMAGES) for namespace in render.namespaces(each)],
    ids=lambda each: getattr(each, 'name', each.kind),
)
def test_glance_accepts_a_namespace(registry, namespace):
    """R4-17, D4-05: Glance's client finds the same names, and accepts no invalid value."""
    found = judged(namespace)
    text = metadef.text(found)
    assert json.loads(text) == found
    assert text == metadef.text(metadef.namespace(namespace))
    assert metadef.text({'a': 'é'}) == '{\n    "a": "é"\n}\n'
    prefix = found['resource_type_associations'][0].get('prefix', '')
    has_prefix = registry is REGISTRY and namespace.name
    assert prefix == (f'{namespace.name}:' if has_prefix else '')
    read = {'integer': as_number, 'boolean': {'true': True}.get, 'string': str}
    for key, schema in found['properties'].items():
        validator = registry.find(f'{prefix}{key}')
        assert validator in namespace.validators
        for text in ('', '0', '-1', 'true', 'x', '1,^2', 'required', '<or> a'):
            value = read[schema['type']](text)
            if text in (getattr(validator.value, 'aliases', None) or ()):
                continue  # an old spelling, which Nova accepts
            if value is not None and validator.complaint(text) is None:
                jsonschema.validate(value, schema)


@pytest.mark.parametrize(
    ('value', 'wanted'),
    [
        ({'type': int}, {'type': 'integer'}),
        ({'type': int, 'min': 1}, {'type': 'integer', 'minimum': 1}),
        ({'type': int, 'min': 0, 'max': 15}, {'type': 'integer', 'minimum': 0, 'maximum': 15}),
        ({'type': bool}, {'type': 'boolean'}),
        ({'type': str}, {'type': 'string'}),
        ({'type': str, 'enum': ['b', 'a']}, {'type': 'string', 'enum': ['b', 'a']}),
        ({'type': str, 'pattern': 'a|b'}, {'type': 'string', 'pattern': '^(?:a|b)$'}),
        ({'type': str, 'pattern': r'(?P<x>a)'}, {'type': 'string'}),
        ({'type': str, 'pattern': r'(?i:a)'}, {'type': 'string'}),
        ({'type': str, 'pattern': r'a\Z'}, {'type': 'string'}),
    ],
    ids=str,
)
def test_types(value, wanted):
    """R4-17: without constructs that only Python's patterns have."""
    found = one(defined(value=value))
    assert {key: found[key] for key in found if key not in ('title', 'description')} == wanted


#: A definition with every attribute.
EVERYTHING = {
    'deprecated': True,
    'replaced_by': 'acme:row',
    'image_property': 'acme_rack',
    'drivers': ('libvirt', 'ironic'),
    'depends_on': ('acme:row',),
}


def test_the_attributes_of_a_property():
    """R4-14, R4-15, R4-17, R4-19."""
    words = 'The **rack** of ``{id}``,\nsee :extra-spec:`acme:row`.'
    found = one(defined('acme:rack', words, {'type': str, 'description': 'A name.'}, **EVERYTHING))
    assert found['title'] == 'acme:rack'
    assert found['description'] == (
        'Deprecated: use acme:row. The rack of {id}, see acme:row. Value: A name. '
        'Image property: acme_rack. Virt drivers: libvirt, ironic. Needs: acme:row.'
    )


def test_a_template_is_omitted_unless_a_name_needs_no_placeholder():
    """R4-03, R4-17."""
    group = {'name': 'group', 'pattern': r'(_\w+)?'}
    found = exported(
        defined('acme{group}:rack', parameters=[group]),
        defined('acme:row.{id}', parameters=[{'name': 'id', 'type': int}]),
    )
    assert list(found['properties']) == ['rack']


def test_limits_of_glance():
    summaries = ['x' * 500, f'{"x" * 496} xxxx', 'x' * 501]
    cut = [exported(summary=summary)['description'] for summary in summaries]
    assert cut == [summaries[0], f'{"x" * 496}...', f'{"x" * 497}...']
    assert list(exported(defined(f'acme:{"a" * 80}'))['properties']) == ['a' * 80]
    with pytest.raises(InvalidSpec, match=r'^acme:a+: .*80 characters at most'):
        exported(defined(f'acme:{"a" * 81}'))
    with pytest.raises(InvalidSpec, match='80 characters at most'):
        exported(name='a' * 80)


# -- pages


def test_the_manual_has_a_page_for_every_namespace():
    """R4-16: with every definition."""
    pages = {path.stem: path.read_text(encoding='utf-8') for path in MANUAL.glob('*.rst')}
    assert set(pages) - {'index'} == set(map(render.slug, NAMESPACES))
    for namespace in NAMESPACES:
        name, page = render.slug(namespace), render.page(namespace)
        assert pages[name].endswith(f'\n.. extra-specs:: {name}\n')
        assert page.startswith(f'{namespace.title}\n====')
        for validator in namespace.validators:
            assert f'\n``{validator.name}``\n    ' in page
        assert page == render.page(namespace)


def test_the_content_of_a_page():
    """R4-14 to R4-16, R4-19."""
    validator = defined(
        'acme:rack.{id}',
        'The rack of {id}.\n\nOf two paragraphs.',
        {'type': int, 'min': 1, 'description': 'Its number.'},
        parameters=[{'name': 'id', 'type': int, 'description': 'The row.'}],
        **EVERYTHING,
    )
    body = render.body(validator)
    assert render.page(Namespace('acme', 'ACME', 'Of ACME.', (validator,))).split('\n') == [
        *('ACME', '====', '', 'Of ACME.', '', '``acme:rack.{id}``'),
        *(f'    {line}'.rstrip() for line in body),
        '',
    ]
    assert body == [
        'The rack of {id}.',
        '',
        'Of two paragraphs.',
        '',
        ':Value: a whole number of 1 or more. Its number.',
        r':Parameter {id}: The row. (of the form ``\d+``)',
        ':Image property: ``acme_rack``',
        ':Virt drivers: libvirt, ironic',
        ':Needs: ``acme:row``',
        ':Status: deprecated; use ``acme:row``',
    ]


def test_definitions_of_packages_are_included():
    """R4-13."""
    rack, policy = defined(), defined('hw:acme')
    found = render.namespaces(Registry(plugins=[Plugin('acme', 'acme:V', (rack, policy))]))
    assert [each.name for each in found] == sorted({each.name for each in NAMESPACES} | {'acme'})
    by_name = {each.name: each for each in found}
    assert (by_name['acme'].title, by_name['acme'].validators) == ('acme', (rack,))
    assert policy in by_name['hw'].validators
    assert policy not in {each.name: each for each in NAMESPACES}['hw'].validators
