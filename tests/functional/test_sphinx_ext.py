"""The Sphinx extension generates pages and resolves references to extra specs."""

import re
import subprocess
import sys

from senlin_affinity.extra_specs.registry import installed

CONF = "extensions = ['senlin_affinity.sphinx_ext']\nproject = 'acme'\nhtml_theme = 'basic'\n"


def build(folder, **pages):
    """Build the pages, and return their HTML and the warnings."""
    source, out = folder / 'source', folder / 'out'
    source.mkdir()
    (source / 'conf.py').write_text(CONF)
    for name, text in pages.items():
        (source / f'{name}.rst').write_text(f'{name}\n{"=" * len(name)}\n\n{text}\n')
    command = [sys.executable, '-m', 'sphinx', '-q', '--no-color', source, out]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return {name: (out / f'{name}.html').read_text() for name in pages}, done.stderr


INDEX = """
.. toctree::

   all
   summary

See :extra-spec:`hw:cpu_policy` and :extra-spec:`hw:numa_cpus.0`.

.. extra-spec:: acme:rack

   The rack.

See :extra-spec:`acme:rack`.
"""


def test_references_lead_to_the_generated_definitions(tmp_path):
    """R4-14 to R4-16, R4-19, D4-12: by a name, and by a name that matches a template."""
    summary = '.. extra-specs:: hw\n   :summary:'
    pages, warnings = build(tmp_path, index=INDEX, all='.. extra-specs::', summary=summary)
    assert warnings == ''
    index = pages['index']
    targets = re.findall(r'href="all\.html#([^"]+)"[^>]*><code[^>]*>.*?>([^<]+)</', index)
    assert [text for _, text in targets] == ['hw:cpu_policy', 'hw:numa_cpus.0']
    assert all(f'id="{target}"' in pages['all'] for target, _ in targets)
    assert re.search(r'href="#[^"]+"[^>]*><code', index)
    assert all(f'>{each.name}</span>' in pages['all'] for each in installed().validators)
    assert 'hw_cpu_policy' in pages['all']  # a literal: no page describes image properties
    for words in ('Image property', 'hw_cpu_policy', 'Virt drivers', 'libvirt', 'dedicated'):
        assert words in pages['all']
    assert re.search(r'href="all\.html#[^"]+".*hw:cpu_policy.*: How guest CPUs', pages['summary'])
    assert 'Image property' not in pages['summary']


def test_both_kinds_refer_to_each_other(tmp_path):
    """Document 004, use case 4."""
    index = """
.. toctree::

   specs
   images

:image-property:`hw_numa_cpus.7`
"""
    images = '.. image-properties::'
    pages, warnings = build(tmp_path, index=index, specs='.. extra-specs::', images=images)
    assert warnings == ''
    link = r'href="(\w+)\.html#([^"]+)"[^>]*><code[^>]*>.*?>([^<]+)</'
    found = [each for page in pages.values() for each in re.findall(link, page)]
    links = {(page, text) for page, target, text in found if f'id="{target}"' in pages[page]}
    assert len(links) == len({(page, text) for page, _, text in found})
    assert ('images', 'hw_numa_cpus.7') in links
    for spec in installed().validators:
        if spec.image_property:
            assert {('images', spec.image_property), ('specs', spec.name)} <= links
    assert 'Extra spec' in pages['images']


def test_an_unknown_name_or_namespace_is_a_warning(tmp_path):
    index = 'See :extra-spec:`hw:cpu_pollicy`.\n\n.. extra-specs:: hw\n\n.. extra-specs:: nope'
    pages, warnings = build(tmp_path, index=index)
    assert 'reference target not found: hw:cpu_pollicy' in warnings
    assert 'unknown namespace: nope (namespaces: no-namespace, accel, ' in warnings
    assert '>hw:cpu_policy</span>' in pages['index']
    assert '>os:secure_boot</span>' not in pages['index']
