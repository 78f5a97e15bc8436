"""The Sphinx extension makes pages, and its role leads to the definitions."""

import re
import subprocess
import sys

import pytest

from senlin_affinity.extra_specs import render
from senlin_affinity.extra_specs.registry import installed

CONF = "extensions = ['senlin_affinity.sphinx_ext']\nproject = 'acme'\nhtml_theme = 'basic'\n"


@pytest.fixture
def build(tmp_path):
    """``build('text', hw='text')``: pages to HTML and what was warned of."""

    def run(index, **pages):
        source = tmp_path / 'source'
        source.mkdir()
        (source / 'conf.py').write_text(CONF)
        for name, text in {'index': index, **pages}.items():
            (source / f'{name}.rst').write_text(f'{name}\n{"=" * len(name)}\n\n{text}\n')
        out = tmp_path / 'out'
        command = [sys.executable, '-m', 'sphinx', '-q', '--no-color', source, out]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        made = {name: (out / f'{name}.html').read_text() for name in ('index', *pages)}
        return made, done.stderr

    return run


TREE = '.. toctree::\n\n   hw\n\n'


def test_a_reference_from_another_page(build):
    """R4-16, R4-19, D4-12: by the name, and by a name that a template matches."""
    index = f'{TREE}See :extra-spec:`hw:cpu_policy` and :extra-spec:`hw:numa_cpus.0`.'
    pages, warnings = build(index, hw='.. extra-specs:: hw')
    assert warnings == ''
    targets = re.findall(r'href="hw\.html#([^"]+)"[^>]*><code[^>]*>.*?>([^<]+)</', pages['index'])
    assert [text for _, text in targets] == ['hw:cpu_policy', 'hw:numa_cpus.0']
    for target, _ in targets:
        assert f'id="{target}"' in pages['hw']


def test_a_reference_that_leads_nowhere_is_a_warning(build):
    _, warnings = build(f'{TREE}See :extra-spec:`hw:cpu_pollicy`.', hw='.. extra-specs:: hw')
    assert 'reference target not found: hw:cpu_pollicy' in warnings


def test_a_page_has_everything_that_is_defined(build):
    """R4-14 to R4-16, D4-12."""
    (namespace,) = (each for each in render.namespaces(installed()) if each.name == 'hw')
    pages, warnings = build(TREE, hw='.. extra-specs:: hw')
    assert warnings == ''
    for validator in namespace.validators:
        assert f'>{validator.name}</span>' in pages['hw']
    for words in ('Image property', 'hw_cpu_policy', 'Virt drivers', 'libvirt', 'dedicated'):
        assert words in pages['hw']


def test_summary(build):
    pages, warnings = build(f'{TREE}.. extra-specs:: hw\n   :summary:', hw='.. extra-specs:: hw')
    assert warnings == ''
    assert re.search(r'href="hw\.html#[^"]+".*hw:cpu_policy.*: How the CPUs', pages['index'])
    assert 'Image property' not in pages['index']


def test_all_namespaces(build):
    pages, warnings = build('.. extra-specs::')
    assert warnings == ''
    assert all(f'>{each.name}</span>' in pages['index'] for each in installed().validators)


def test_a_definition_that_is_written_by_hand(build):
    index = '.. extra-spec:: acme:rack\n\n   The rack.\n\nSee :extra-spec:`acme:rack`.'
    pages, warnings = build(index)
    assert warnings == ''
    assert re.search(r'href="#[^"]+"[^>]*><code', pages['index'])


def test_a_namespace_that_there_is_not(build):
    _, warnings = build('.. extra-specs:: nope')
    assert 'there is no namespace nope; there are no-namespace, accel, ' in warnings
