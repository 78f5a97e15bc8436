"""Our reader of nova.conf agrees with Nova: names, types and defaults."""

import pytest
from nova import conf as nova

from senlin_affinity.conf import nova_conf, opts
from senlin_affinity.conf.constraint_plugins import load_constraints
from senlin_affinity.model.request import DEFAULT_FILTERS

#: Only older releases of Nova have these options.
REMOVED = ('query_placement_for_availability_zone',)
MIRRORED = [option for option in opts.options_of(load_constraints()) if option.nova]


def test_the_default_filters():
    assert tuple(nova.CONF.filter_scheduler.enabled_filters) == DEFAULT_FILTERS


@pytest.mark.parametrize('option', MIRRORED, ids=lambda option: f'{option.nova}.{option.dest}')
def test_a_mirrored_option(option):
    group = nova.CONF if option.nova == 'DEFAULT' else nova.CONF[option.nova]
    if option.dest in REMOVED:
        assert option.dest not in group
        return
    default = group[option.dest]
    assert (tuple(default) if isinstance(default, list) else default) == option.default


def test_both_parse_a_file_equally(tmp_path):
    path = tmp_path / 'nova.conf'
    path.write_text(
        '[DEFAULT]\ntransport_url = rabbit://\n[Filter_Scheduler]\nenabled_filters = A,\n  B , C\n'
        '[scheduler]\nlimit_tenants_to_placement_aggregate = yes\n'
    )
    conf = nova.cfg.ConfigOpts()
    nova.scheduler.register_opts(conf)
    conf(args=[], default_config_files=[str(path)], default_config_dirs=[])
    said = nova_conf.read([str(path)])
    assert said.filters == tuple(conf.filter_scheduler.enabled_filters)
    assert conf.scheduler.limit_tenants_to_placement_aggregate is True
    assert said.values == {'are_tenants_limited': True}
