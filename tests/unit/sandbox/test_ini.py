"""Configuration files."""

from senlin_affinity.sandbox import ini


def test_values_are_written_as_oslo_config_reads_them():
    text = ini.render({'DEFAULT': {'debug': False, 'list': ['a', 'b'], 'many': ('x', 'y'), 'n': 1}})
    assert text == '[DEFAULT]\ndebug = false\nlist = a,b\nmany = x\nmany = y\nn = 1\n'


def test_a_later_layer_wins_and_adds():
    text = ini.render({'a': {'x': 1, 'y': 2}}, {'a': {'x': 3}, 'b': {'z': 4}})
    assert text == '[a]\nx = 3\ny = 2\n[b]\nz = 4\n'
