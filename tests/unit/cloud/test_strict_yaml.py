"""YAML with duplicate keys, or that is too large with its aliases expanded, is rejected."""

import pytest

from senlin_affinity.cloud import strict_yaml
from senlin_affinity.model.errors import InvalidSpec

#: 271 lists of 368 values, and the list of these lists: 100,000 values.
LARGEST = f'- &a [{", ".join("x" * 368)}]\n' + '- *a\n' * 270
TOO_LARGE = 'line 1, column 1: its aliases expand to more than 100,000 values'


def load(tmp_path, text):
    path = tmp_path / 'spec.yaml'
    path.write_text(text, encoding='utf-8')
    return strict_yaml.load(path)


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        (LARGEST, [['x'] * 368] * 271),
        ('', None),
        ('{1: a, "1": b}', {1: 'a', '1': 'b'}),
        ('a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}', {'a': {'x': 1, 'y': 2}, 'b': {'x': 3, 'y': 2}}),
        (f'[{"1" * 100}, 1.5]', [int('1' * 100), 1.5]),
    ],
    ids=['100,000 values', 'empty', 'a number and its text', 'a merge key', '100 digits'],
)
def test_a_document_is_loaded(tmp_path, text, value):
    assert load(tmp_path, text) == value


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        (f'{LARGEST}- x\n', TOO_LARGE),
        (LARGEST.replace('&a [', '&a [y: ', 1), TOO_LARGE),
        ('&a [*a]', TOO_LARGE),
        ('a: 1\nb: 2\na: 3', "line 3, column 1: duplicate key 'a'"),
        (f'[{"1" * 101}]', 'line 1, column 2: a number has more than 100 digits'),
    ],
    ids=['100,001 values', 'one of them is a mapping', 'a list in itself', 'keys', '101 digits'],
)
def test_an_invalid_document_is_rejected_with_its_position(tmp_path, text, words):
    with pytest.raises(InvalidSpec) as caught:
        load(tmp_path, text)
    assert str(caught.value) == f'{tmp_path / "spec.yaml"}: is not valid YAML in {words}'
