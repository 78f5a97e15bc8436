"""Configuration files, and Nova's api-paste.ini with more filters."""

import configparser

import pytest

from senlin_affinity.sandbox import config_files, nova_process

NOVA_S = config_files.installed_file('nova', 'api-paste.ini').read_text(encoding='utf-8')


def test_values_are_written_as_oslo_config_reads_them_and_a_later_layer_wins(tmp_path):
    first = {'DEFAULT': {'debug': False, 'list': ['a', 'b'], 'many': ('x', 'y'), 'n': 1}}
    config_files.write(tmp_path / 'conf', first, {'DEFAULT': {'n': 3}, 'b': {'z': 4}})
    text = '[DEFAULT]\ndebug = False\nlist = a,b\nmany = x\nmany = y\nn = 3\n[b]\nz = 4\n'
    assert (tmp_path / 'conf').read_text() == text


def sections(text):
    parser = configparser.RawConfigParser()
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections()}


def test_filters_stand_right_before_the_application():
    before = sections(NOVA_S)
    after = sections(nova_process.with_filters(NOVA_S, ('egg:a#b', 'egg:c#d')))
    added = {name: section for name, section in after.items() if name not in before}
    assert list(added.values()) == [{'use': 'egg:a#b'}, {'use': 'egg:c#d'}]
    names = [name.partition(':')[2] for name in added]
    changed = [name for name, section in before.items() if after[name] != section]
    assert changed == [
        'composite:openstack_compute_api_v21',
        'composite:openstack_compute_api_v21_legacy_v2_compatible',
    ]
    for name in changed:
        assert after[name]['keystone'].split()[-3:] == [*names, 'osapi_compute_app_v21']


def test_a_file_of_another_shape():
    with pytest.raises(LookupError, match='no pipeline'):
        nova_process.with_filters('[pipeline:x]\n', ('egg:a#b',))
