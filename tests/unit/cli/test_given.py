"""A YAML file is parsed, or rejected with a one-line error."""

import time

import pytest

from senlin_affinity.cli import given
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import CloudError, InvalidSpec
from tests.reliability import hostile_yaml


@pytest.mark.parametrize('text', hostile_yaml.TEXTS.values(), ids=hostile_yaml.TEXTS)
def test_a_hostile_file_is_rejected_quickly_in_one_line(tmp_path, text):
    path = tmp_path / 'spec.yaml'
    path.write_text(text)
    start = time.process_time()
    with pytest.raises(InvalidSpec) as caught:
        given.spec(str(path), str)
    assert time.process_time() - start < 5
    assert str(caught.value).startswith(f'{path}: is not valid YAML')
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        ('a: &a {b: 1}\nc: {<<: *a, d: 0x10}', {'a': {'b': 1}, 'c': {'b': 1, 'd': 16}}),
        ('[0b11, 010, 1:30, 1.5, 1e3, -0.25, ~]', [3, 8, 90, 1.5, '1e3', -0.25, None]),
    ],
)
def test_common_yaml_features_are_parsed(tmp_path, text, value):
    path = tmp_path / 'spec.yaml'
    path.write_text(text)
    assert given.spec(str(path), lambda document: document) == value


def test_a_tenant_reads_in_one_line_that_only_administrators_list_hosts():
    why = "could not list the hypervisors: Nova answered 403: Policy doesn't allow it (req-1)"
    with pytest.raises(CloudError) as caught:
        given.host(Cloud(unavailable={'hosts': why}), 'cmp-1')
    words = 'the hosts are not known: only administrators may list them (Nova answered 403)'
    assert str(caught.value) == words
