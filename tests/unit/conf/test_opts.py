"""The options of [affinity]."""

import pytest
from oslo_config import cfg

from senlin_affinity.conf import opts
from senlin_affinity.core.objects import Rules
from senlin_affinity.policy import affinity


@pytest.fixture
def conf():
    made = cfg.ConfigOpts()
    opts.register(made)
    return made


def test_defaults(conf):
    """They are what the decisions take when nobody says anything."""
    assert conf.affinity.request_timeout == 60
    assert conf.affinity.drs_pattern == Rules.drs_pattern
    assert conf.affinity.group_name_prefix == affinity.GROUP_NAME_PREFIX


def test_registering_twice_is_fine(conf):
    assert opts.register(conf).drs_pattern == 'drs'


def test_no_request_waits_for_ever(conf):
    with pytest.raises(ValueError, match=r'0\.1'):
        conf.set_override('request_timeout', 0, group='affinity')


def test_the_sample_file_is_made_of_the_same(conf):
    ((group, listed),) = opts.list_opts()
    assert group.name == 'affinity'
    assert {option.dest for option in listed} == set(conf.affinity)
    assert all(option.help for option in listed)
