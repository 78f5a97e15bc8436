"""The options of [affinity] and [scheduler]."""

import pytest
from oslo_config import cfg

from senlin_affinity.conf import opts
from senlin_affinity.constraints.drs import PATTERN
from senlin_affinity.groups import attachment
from senlin_affinity.model.errors import PluginError
from senlin_affinity.model.option import Option


@pytest.fixture
def conf():
    made = cfg.ConfigOpts()
    opts.register(made)
    return made


def test_defaults(conf):
    """The defaults apply to decisions without options, registered once or twice."""
    assert opts.register(conf).request_timeout == 60
    assert conf.affinity.drs_pattern == PATTERN.default
    assert conf.affinity.group_name_prefix == attachment.GROUP_NAME_PREFIX
    assert opts.changed(cfg.ConfigOpts()) == {}, 'R1-30: nothing is reserved'


def test_a_timeout_must_be_positive(conf):
    with pytest.raises(ValueError, match=r'0\.1'):
        conf.set_override('request_timeout', 0, group='affinity')


def test_a_constraint_must_not_redefine_an_option(conf):
    class Odd:
        options = (Option('request_timeout', 7, 'Another one.'),)

    with pytest.raises(PluginError, match=r'\[affinity\] request_timeout: a constraint declares'):
        opts.register(conf, [Odd()])


FILE = """
[affinity]
drs_pattern = vcenter
[scheduler]
placement_req_required_member_prefix = reservation:
placement_req_default_forbidden_member_prefix = reservation:, licence:
enable_isolated_aggregate_filtering = true
limit_tenants_to_placement_aggregate = true
placement_aggregate_required_for_tenants = true
"""


def test_the_constraints_get_the_options_of_a_file(tmp_path):
    """R1-39, R1-40."""
    path = tmp_path / 'some.conf'
    path.write_text(FILE, encoding='utf-8')
    conf = cfg.ConfigOpts()
    conf(['--config-file', str(path)], project='some')
    assert opts.changed(conf) == {
        'drs_pattern': 'vcenter',
        'required_member_prefix': 'reservation:',
        'forbidden_member_prefixes': ('reservation:', 'licence:'),
        'is_isolation_enforced': True,
        'are_tenants_limited': True,
        'is_tenant_aggregate_required': True,
    }


def test_the_sample_file_has_the_same_options(conf):
    listed = {group.name: options for group, options in opts.list_opts()}
    assert set(listed) == {'affinity', 'pci', 'scheduler', 'quota'}
    for name, options in listed.items():
        assert {option.dest for option in options} == set(conf[name])
        assert all(option.help for option in options)
