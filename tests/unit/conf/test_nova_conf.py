"""The options that are read from Nova's own files; nothing else in them is stored or reported."""

import traceback

import pytest
from oslo_config import cfg

from senlin_affinity.conf import nova_conf, opts
from senlin_affinity.conf.oslo_options import Settings
from senlin_affinity.constraints.base import Option
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.request import DEFAULT_FILTERS

SECRET = 'hunter2'
NOVA_CONF = f"""
[DEFAULT]
my_ip = 192.0.2.1
transport_url = rabbit://openstack:{SECRET}@$my_ip:5672//
default_zone = az-1
[database]
connection = mysql+pymysql://nova:{SECRET}@db/nova
[Scheduler]
workers = 2
limit_tenants_to_placement_aggregate = false
limit_tenants_to_placement_aggregate = true
[filter_scheduler]
available_filters = nova.scheduler.filters.all_filters
enabled_filters = ComputeFilter, AggregateInstanceExtraSpecsFilter,
    RackFilter
most = 3
[keystone_authtoken]
password = {SECRET}
"""
LIMITED = '[scheduler] limit_tenants_to_placement_aggregate'
FILTERS = '[filter_scheduler] enabled_filters'


class Zones:
    """A constraint that mirrors two options of Nova, and has one of its own."""

    options = (
        Option('zone', None, 'The zone.', 'default_zone', nova='DEFAULT'),
        Option('most', 8, 'The most.', minimum=1, nova='filter_scheduler'),
        Option('workers', 1, 'Not one of Nova, whatever its name.', group='scheduler'),
    )


#: The keys of all options that mirror one of Nova's.
KEYS = frozenset(
    option.key for option in opts.options_of([Zones]) if option.nova or option.key == 'zone'
)


@pytest.fixture
def write(tmp_path):
    def write_text(text, name='nova.conf'):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write_text


def test_exactly_the_mirrored_options_are_read(write):
    """Groups have any case, the last of equal options counts, and a list has many lines."""
    said = nova_conf.read([write(NOVA_CONF)], [Zones])
    assert said == Settings(
        ('ComputeFilter', 'AggregateInstanceExtraSpecsFilter', 'RackFilter'),
        {'zone': 'az-1', 'most': 3, 'are_tenants_limited': True},
        KEYS,
        ('[DEFAULT] default_zone', FILTERS, '[filter_scheduler] most', LIMITED),
    )
    assert SECRET not in repr(said)


@pytest.mark.parametrize('text', ['', '[filter_scheduler]\n[DEFAULT]\n'])
def test_novas_defaults_are_not_specified(write, text):
    assert nova_conf.read([write(text)], [Zones]) == Settings(DEFAULT_FILTERS, {}, KEYS)


def test_later_files_and_directories_take_precedence(write, tmp_path):
    """The files of a directory are read by name; files with other suffixes are ignored."""
    main = write('[filter_scheduler]\nenabled_filters = A\nmost = 2')
    write('[filter_scheduler]\nenabled_filters = C', 'nova.d[1]/20.conf')
    write('[filter_scheduler]\nenabled_filters = B\nmost = 4', 'nova.d[1]/10.conf')
    write('nonsense', 'nova.d[1]/README')
    folder = str(tmp_path / 'nova.d[1]')
    said = nova_conf.read([main, folder], [Zones])
    assert (said.filters, said.values) == (('C',), {'most': 4})
    said = nova_conf.read([folder, main], [Zones])
    assert (said.filters, said.values) == (('A',), {'most': 2})


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        (f'[a]\nb = c\n{SECRET}', 'line 3 is neither a group, a comment nor NAME = VALUE'),
        (f'password = {SECRET}', 'line 1 is neither a group, a comment nor NAME = VALUE'),
        (f'[{SECRET}', 'line 1 is neither a group, a comment nor NAME = VALUE'),
        (f'[filter_scheduler]\nmost = {SECRET}', '[filter_scheduler] most: has an invalid value'),
        ('[filter_scheduler]\nmost = 0', '[filter_scheduler] most: has an invalid value'),
        (f'[filter_scheduler]\nenabled_filters = A\n  password = {SECRET}', 'is continued by'),
        (f'[filter_scheduler]\nenabled_filters = A,\n  password = {SECRET}', 'is continued by'),
        (f'[DEFAULT]\ndefault_zone = az\n  {SECRET}', 'is continued by an indented line that is'),
        (b'[a]\nb = \xff' + SECRET.encode(), 'is not UTF-8 text'),
    ],
)
def test_an_error_about_a_file_does_not_quote_it(write, text, words):
    path = write(text)
    with pytest.raises(InvalidSpec) as caught:
        nova_conf.read([path], [Zones])
    assert str(caught.value).startswith(f'{path}: ')
    assert words in str(caught.value)
    shown = ''.join(traceback.format_exception(caught.value))
    assert SECRET not in shown


@pytest.mark.parametrize(
    ('text', 'left'),
    [
        ('[DEFAULT]\nmy_ip = 192.0.2.1\ndefault_zone = $my_ip', {'zone'}),
        (f'[DEFAULT]\nother = {SECRET}\ndefault_zone = of-${{other}}', {'zone'}),
        ('[filter_scheduler]\nmost = $other', {'most'}),
        ('[filter_scheduler]\nenabled_filters = A, $host', set()),
    ],
)
def test_a_reference_to_an_unread_option_is_unspecified(write, caplog, text, left):
    """Only Nova knows its value. All other options of the file are read."""
    path = write(f'{text}\n[scheduler]\nlimit_tenants_to_placement_aggregate = 1')
    filters = DEFAULT_FILTERS if left else None
    said = nova_conf.read([path], [Zones])
    assert said == Settings(filters, {'are_tenants_limited': True}, KEYS - left, (LIMITED,))
    assert 'refers to an option that is not read' in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize('name', ['gone.conf', 'empty'])
def test_an_unreadable_file(write, tmp_path, name):
    write('', 'empty/README')
    with pytest.raises(OSError, match=r'No such file|it has no \*\.conf') as caught:
        nova_conf.read([str(tmp_path / name)])
    assert caught.value.filename == str(tmp_path / name)


ENGINES = """
[affinity]
enabled_filters = X
drs_pattern = esx
nova_conf = {}
[scheduler]
limit_tenants_to_placement_aggregate = true
enable_isolated_aggregate_filtering = true
"""


def engine(write, names):
    path = write(ENGINES.format(names), 'senlin.conf')
    conf = cfg.ConfigOpts()
    opts.register(conf)
    conf(args=[], default_config_files=[path], default_config_dirs=[], use_env=False)
    return conf


def test_an_engine_reads_only_changed_files_again(write, tmp_path, monkeypatch):
    read, texts = [], nova_conf._texts

    def watched(path, known):
        read.append(path)
        return texts(path, known)

    monkeypatch.setattr(nova_conf, '_texts', watched)
    paths = [write('[filter_scheduler]\nenabled_filters = A', 'nova.d/1.conf')]
    conf = engine(write, tmp_path / 'nova.d')
    for _each in range(3):
        assert nova_conf.with_nova_conf(conf).filters == ('A',)
    assert read == paths
    write('[filter_scheduler]\nenabled_filters = A, B', 'nova.d/1.conf')
    assert nova_conf.with_nova_conf(conf).filters == ('A', 'B')
    paths.append(write('[filter_scheduler]\nenabled_filters = C', 'nova.d/2.conf'))
    assert nova_conf.with_nova_conf(conf).filters == ('C',)
    assert nova_conf.with_nova_conf(conf, [Zones]).values.get('most') is None
    assert read == [paths[0], paths[0], *paths, *paths]


@pytest.mark.parametrize(
    ('name', 'filters', 'values', 'warning'),
    [
        ('nova.conf', ('A',), {'drs_pattern': 'esx', 'is_isolation_enforced': True}, ''),
        ('gone.conf', ('X',), None, '[affinity] nova_conf: [Errno 2] No such file'),
    ],
)
def test_an_engine_reads_the_files_of_nova(write, tmp_path, caplog, name, filters, values, warning):
    """Nova's values take precedence; unreadable options are unspecified."""
    isolating = '[scheduler]\nenable_isolated_aggregate_filtering = 1'
    write(f'[filter_scheduler]\nenabled_filters = A\n{isolating}')
    said = nova_conf.with_nova_conf(engine(write, tmp_path / name))
    assert said.filters == filters
    assert said.values == (values or {**said.values, 'are_tenants_limited': True})
    assert ('is_tenant_aggregate_required' in said.keys) == (not warning)
    assert warning in caplog.text
    assert bool(caplog.text) == bool(warning)


INSTALLED = """
[filter_scheduler]
available_filters = nova.scheduler.filters.all_filters
available_filters = senlin_affinity.plugins.nova.request_filter.install
"""
RESERVING = """
[scheduler]
placement_req_required_member_prefix = licence:
placement_req_default_forbidden_member_prefix = licence:
placement_req_member_keys_from_flavors_only = true
"""
RESERVED = {
    'required_member_prefix': 'licence:',
    'forbidden_member_prefixes': ('licence:',),
    'are_flavor_keys_only': True,
    'reservations_enforced_by': 'nova',
}


@pytest.mark.parametrize('texts', [[INSTALLED + RESERVING], [INSTALLED, RESERVING]], ids=len)
def test_the_options_of_the_request_filter(write, texts):
    """Each file adds to available_filters."""
    files = [write(text, f'{number}.conf') for number, text in enumerate(texts)]
    files.append(write('[filter_scheduler]\navailable_filters = another.Filter', 'last.conf'))
    said = nova_conf.read(files, [Zones])
    assert (said.values, said.keys) == (RESERVED, KEYS | RESERVED.keys())


def test_nova_ignores_the_options_of_the_request_filter_without_it(write):
    assert nova_conf.read([write(RESERVING)], [Zones]) == Settings(DEFAULT_FILTERS, {}, KEYS)


def test_the_engines_options_for_reservations_precede_novas(write, tmp_path):
    write(INSTALLED + RESERVING)
    own = 'placement_req_required_member_prefix = own:'
    path = write(f'{ENGINES.format(tmp_path / "nova.conf")}{own}', 'senlin.conf')
    conf = cfg.ConfigOpts()
    opts.register(conf)
    conf(args=[], default_config_files=[path], default_config_dirs=[], use_env=False)
    values = nova_conf.with_nova_conf(conf).values
    assert values == {'drs_pattern': 'esx', **RESERVED, 'required_member_prefix': 'own:'}


#: Lines of nova.conf, and the names of the PCI aliases (None: unspecified).
ALIASES = [
    ('', ()),
    (
        '[pci]\nalias = {"name": "gpu"}\nalias = {"name": " nic ",\n  "vendor_id": "8086"}\n',
        ('gpu', 'nic'),
    ),
    ('[pci]\nalias = {"name": "gpu"}\nalias = {"name": "gpu", "product_id": "1"}\n', ('gpu',)),
    ('[DEFAULT]\npci_alias = {"name": "gpu"}\n', ('gpu',)),
    ('[pci]\nalias = gpu\n', None),
    ('[pci]\nalias = ["gpu"]\n', None),
    ('[pci]\nalias = {"vendor_id": "8086"}\n', None),
]


@pytest.mark.parametrize(('text', 'names'), ALIASES)
def test_pci_aliases(write, text, names):
    found = nova_conf.read([write(text)])
    assert found.values.get('pci_aliases', ()) == (names or ())
    assert ('pci_aliases' in found.keys) is (names is not None)
    assert ('[pci] alias' in found.found) is bool(names)


def test_several_files_define_pci_aliases(write):
    files = (
        write('[pci]\nalias = {"name": "a"}\n'),
        write('[pci]\nalias = {"name": "b"}\n', 'b.conf'),
    )
    assert nova_conf.read(files).values['pci_aliases'] == ('a', 'b')
