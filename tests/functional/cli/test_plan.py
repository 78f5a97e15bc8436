"""``senlin-affinity plan``: its options, results, errors and view."""

import json
import subprocess

import pytest
import yaml

from senlin_affinity import api
from senlin_affinity.model.image import NONE
from senlin_affinity.model.request import DEFAULT_FILTERS
from tests.support import command

SSD = '5bbcc3c4-1da2-4437-a48a-66f15b1b13f9'
ONE, TWO = '10000000-0000-4000-8000-000000000001', '20000000-0000-4000-8000-000000000002'
POLICY = {'type': 'senlin.policy.affinity', 'version': '1.1'}
PROFILE = {'type': 'os.nova.server', 'version': '1.0'}
FIELDS = (
    'fits wanted capacity capacity_is_upper_bound capacity_certain at_most certain assumptions '
    'line placements hosts request remedies violated capacity_of_hosts'.split()
)


def host(name, free=8, **more):
    """Return a host with capacity for this many servers of the flavor small; None: unknown."""
    amounts = {'VCPU': free, 'MEMORY_MB': 512 * (free or 0), 'DISK_GB': free}
    resources = {key: {'capacity': value, 'used': 0} for key, value in amounts.items()}
    return {
        'host': name,
        'availability_zone': 'az-1',
        'resources': None if free is None else resources,
        **more,
    }


FLAVOR = ('--count', '1', '--flavor', 'f')
OF_SERVER = ('--server', 's', '--action')
SMALL = {'id': '1', 'name': 'small', 'vcpus': 1, 'ram': 512, 'disk': 1}
CLOUD = {
    'format': 1,
    'hosts': [host('cmp-1'), host('cmp-2', aggregates=[SSD], availability_zone='az-2')],
    'aggregates': [{'uuid': SSD, 'name': 'ssd', 'metadata': {'ssd': 'true', 'reserve:x': '1'}}],
    'flavors': [
        SMALL,
        {**SMALL, 'id': '2', 'name': 'ssd', 'extra_specs': {'ssd': 'true'}},
        {**SMALL, 'id': '3', 'name': 'large', 'disk': 100},
    ],
    'server_groups': [
        {'id': 'g1', 'name': 'web', 'policy': 'anti-affinity', 'rules': {'max_server_per_host': 2},
         'members': [{'server': 's1', 'host': 'cmp-1'}]},
        {'id': 'g2', 'name': 'together', 'policy': 'affinity'},
    ],
    'servers': [{'server': ONE, 'host': 'cmp-1'}, {'server': TWO, 'host': 'cmp-2'}],
    'quotas': {'instances': {'limit': 20, 'used': 1}},
}  # fmt: skip


#: Options that replace the assumptions of a plan.
GIVEN = (
    *('--enabled-filters', ','.join(DEFAULT_FILTERS), '--image', 'none'),
    *('--option', 'default_schedule_zone=', '--option', 'reclaim_instance_interval=0'),
)


@pytest.fixture
def plan(run, write):
    """Return a function that runs plan, e.g. ``plan(6, '--server-group', 'web')``.

    ``cloud`` changes the snapshot. ``given`` are options that replace assumptions; they are
    omitted with a --config-file. An option replaces the usual one of its name.
    """

    def run_plan(
        count,
        *options,
        flavor='small',
        cloud=None,
        columns='80',
        given=GIVEN,
        **environment,
    ):
        write('cloud.json', json.dumps(CLOUD | (cloud or {})))
        flavor_options = () if flavor is None else ('--flavor', flavor)
        given = () if '--config-file' in options else given
        usual = ('--count', str(count), *flavor_options, '--snapshot', 'cloud.json', *given)
        pairs = zip(usual[::2], usual[1::2], strict=True)
        names = {word.partition('=')[0] for word in options} - {'--option'}
        kept = [word for pair in pairs if pair[0] not in names for word in pair]
        return run('plan', *kept, *options, COLUMNS=columns, **environment)

    return run_plan


@pytest.fixture
def answer(plan):
    """Return a function that runs plan and returns its JSON, after checking the exit status."""

    def run_plan(*arguments, **more):
        done = plan(*arguments, '-f', 'json', **more)
        assert done.stderr == ''
        decision = json.loads(done.stdout)
        assert done.returncode in {True: (0, 4), False: (3,), None: (1,)}[decision['fits']]
        return decision

    return run_plan


def spec(write, name, head, **properties):
    return write(name, json.dumps({**head, 'properties': properties}))


# -- results


@pytest.mark.parametrize(
    ('count', 'group', 'hosts', 'status'),
    [
        pytest.param(3, 'web', CLOUD['hosts'], 0, id='fits'),
        pytest.param(4, 'web', CLOUD['hosts'], 3, id='does not fit'),
        pytest.param(3, 'web', [host('cmp-1'), host('cmp-2', None)], 1, id='unknown'),
        pytest.param(3, 'together', [host('a'), host('b', 2)], 4, id='at most'),
        pytest.param(2, 'together', [host('a'), host('b', 2)], 0, id='at most, but enough'),
        pytest.param(0, 'web', [], 0, id='zero servers'),
    ],
)
def test_json_output_is_the_decision(plan, tmp_path, count, group, hosts, status):
    done = plan(count, '--server-group', group, '-f', 'json', cloud={'hosts': hosts})
    assert (done.returncode, done.stderr) == (status, '')
    question = api.Question(
        count,
        'small',
        server_group=group,
        enabled_filters=DEFAULT_FILTERS,
        image=NONE,
        explicit_options=frozenset(('default_schedule_zone', 'reclaim_instance_interval')),
    )
    decision = api.answer(question, api.load(tmp_path / 'cloud.json'))
    assert json.loads(done.stdout) == decision.as_dict()
    assert list(json.loads(done.stdout)) == FIELDS


def test_the_other_formats_contain_the_decision(plan, answer):
    decision = answer(4, '--server-group', 'web')
    as_yaml = plan(4, '--server-group', 'web', '-f', 'yaml')
    assert (as_yaml.returncode, as_yaml.stderr) == (3, '')
    assert yaml.safe_load(as_yaml.stdout) == decision
    line = plan(4, '--server-group', 'web', '-f', 'value', '-c', 'line', '-c', 'capacity')
    assert (line.returncode, line.stdout) == (3, f'{decision["capacity"]}\n{decision["line"]}\n')
    assert plan(3, '-c', 'fits').stdout.splitlines()[3] == '| fits  | True  |'
    done = plan(3, '-c', 'room')
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr.startswith('error: unknown column: room (columns: fits, wanted')


@pytest.mark.parametrize(
    ('count', 'options', 'given', 'status'),
    [
        (16, '', (), 0),
        (16, '--strict', (), 4),
        (16, '--strict', GIVEN, 0),
        (17, '--strict', (), 3),
        (0, '--strict', (), 0),
        (16, '--enabled-filters AcmeFilter', GIVEN, 4),
        (16, '--enabled-filters AcmeFilter --accept-upper-bound', GIVEN, 0),
        (16, '--enabled-filters AcmeFilter --accept-upper-bound --strict', GIVEN, 0),
        (16, '--enabled-filters AcmeFilter --accept-upper-bound --strict', GIVEN[:2], 4),
        (17, '--enabled-filters AcmeFilter --accept-upper-bound', GIVEN, 3),
    ],
)
def test_the_exit_status_of_uncertain_results(plan, count, options, given, status):
    done = plan(count, *options.split(), '-f', 'value', '-c', 'certain', given=given)
    assert (done.returncode, done.stderr) == (status, '')
    is_certain = given == GIVEN and 'Acme' not in options
    assert done.stdout == f'{is_certain}\n'


# -- the options


@pytest.mark.parametrize(
    ('options', 'capacity'),
    [
        ('', 16),
        ('--server-group web', 3),
        ('--server-group g1', 3),
        ('--availability-zone az-2', 8),
        ('--member-of ssd', 8),
        (f'--member-of in:ssd,{SSD} --member-of !ssd', 0),
        ('--image-property trait:CUSTOM_X=required --image-property os_distro=a=b', 0),
        ('--flavor 3', 0),
        ('--flavor large --boot-from-volume', 16),
        ('--flavor ssd', 16),
        ('--flavor ssd --enabled-filters ComputeFilter,,AggregateInstanceTypeFilter,', 8),
        ('--flavor ssd --enabled-filters AggregateInstanceExtraSpecsFilter', 8),
        ('--flavor ssd --enabled-filters=', 16),
        ('--count 0001000000', 16),
        ('--hint group=g1', 3),
        (f'--hint same_host={ONE} --enabled-filters SameHostFilter', 8),
        (f'--hint same_host={ONE} --hint same_host={TWO} --enabled-filters SameHostFilter', 16),
        (f'--hint different_host={ONE} --enabled-filters SameHostFilter', 16),
        (f'--hint different_host={ONE} --enabled-filters DifferentHostFilter', 8),
    ],
)
def test_options_change_the_capacity(answer, options, capacity):
    assert answer(1, *options.split())['capacity'] == capacity


@pytest.mark.parametrize(
    ('name', 'near'),
    [
        ('AggregateInstanceTypFilter', 'AggregateInstanceTypeFilter'),
        ('NumaTopologyFilter', 'NUMATopologyFilter'),
        ('AcmeFilter', None),
        ('ComputeFilter', None),
    ],
)
def test_a_misspelled_filter_is_a_warning(plan, name, near):
    done = plan(1, '--enabled-filters', name)
    message = f'enabled_filters: unknown filter {name}: did you mean {near}?\n'
    assert done.returncode == (0 if name == 'ComputeFilter' else 4)
    assert done.stderr == (f'WARNING senlin_affinity.cli.plan: {message}' if near else '')


NOVA_CONF = """
[filter_scheduler]
available_filters = nova.scheduler.filters.all_filters
available_filters = senlin_affinity.plugins.nova.aggregate_filter.AggregateInstanceTypeFilter
enabled_filters = ComputeFilter,
    AggregateInstanceTypeFilter
[scheduler]
limit_tenants_to_placement_aggregate = false
"""


ZONE = 'availability_zone.default_schedule_zone'


@pytest.mark.parametrize(
    ('options', 'assumed', 'capacity'),
    [
        ('', ['nova.filters', 'image.unknown', ZONE, 'nova.unspecified'], 16),
        ('--nova-conf nova.conf', ['image.unknown'], 8),
        ('--nova-conf nova.conf --nova-conf d', ['image.unknown'], 16),
        ('--nova-conf nova.conf --image none', [], 8),
        ('--nova-conf nova.conf --image-property a=b', ['image.minimum'], 8),
        ('--nova-conf nova.conf --image none --image-property a=b', [], 8),
        ('--image none', ['nova.filters', ZONE, 'nova.unspecified'], 16),
        ('--nova-conf nova.conf --enabled-filters ComputeFilter', ['image.unknown'], 16),
        ('--config-file nova.conf', ['image.unknown', ZONE], 8),
        ('--config-file nova.conf --nova-conf d', ['image.unknown'], 16),
        ('--config-file ours.conf --nova-conf nova.conf', ['image.unknown'], 8),
        ('--config-file ours.conf', ['image.unknown', ZONE], 16),
        (
            '--config-file timeout.conf',
            ['nova.filters', 'image.unknown', ZONE, 'nova.unspecified'],
            16,
        ),
    ],
)
def test_unspecified_options_are_assumed(plan, write, tmp_path, options, assumed, capacity):
    """Unspecified options of nova.conf have Nova's defaults; nova.conf precedes our own file."""
    (tmp_path / 'd').mkdir()
    write('nova.conf', NOVA_CONF)
    write('d/10.conf', '[filter_scheduler]\nenabled_filters = ComputeFilter')
    write('ours.conf', '[affinity]\nenabled_filters = ComputeFilter')
    write('timeout.conf', '[affinity]\nrequest_timeout = 5')
    decision = json.loads(plan(1, *options.split(), '-f', 'json', flavor='ssd', given=()).stdout)
    assert [item['code'] for item in decision['assumptions']] == assumed
    assert (decision['certain'], decision['capacity']) == (not assumed, capacity)
    assert ', assuming ' in decision['line'] or not assumed


def test_the_view_lists_the_options_of_each_file(plan, write):
    write('nova.conf', NOVA_CONF)
    write('ours.conf', '[affinity]\nenabled_filters = X\ndrs_pattern = esx')
    lines = rows(plan(1, '--nova-conf', 'nova.conf', '--config-file', 'ours.conf'))
    assert lines[-5:] == [
        'Based on',
        '  assuming an image without properties',
        '  ours.conf: [affinity] drs_pattern',
        '  nova.conf: [filter_scheduler] enabled_filters, [scheduler]',
        '    limit_tenants_to_placement_aggregate',
    ]


def test_a_nova_conf_without_relevant_options_is_a_warning(plan, write):
    write('nova.conf', '[DEFAULT]\nmy_ip = 192.0.2.1')
    done = plan(1, '--nova-conf', 'nova.conf', '--image', 'none', '--strict', given=())
    assert done.returncode == 0
    message = "nova.conf: no option that affects a plan is set; Nova's defaults apply\n"
    assert done.stderr == f'WARNING senlin_affinity.cli.config_file: {message}'


@pytest.mark.parametrize('debug', [(), ('--debug',)])
def test_an_error_about_nova_conf_does_not_quote_it(run, write, debug):
    write('nova.conf', '[DEFAULT]\ntransport_url rabbit hunter2')
    done = run(*debug, 'plan', *FLAVOR, '--snapshot', 'x', '--nova-conf', 'nova.conf')
    assert done.returncode == (2 if not debug else done.returncode)
    assert 'nova.conf: line 2 is neither a group, a comment nor NAME = VALUE' in done.stderr
    assert 'hunter2' not in done.stderr + done.stdout


def test_options_precede_the_policy_and_the_profile(answer, plan, write):
    """Options precede them. Their conversion is tested by tests/cases/policy_request.yaml."""
    group = {'policies': 'anti-affinity', 'rules': {'max_server_per_host': 3}}
    spec(write, 'policy.yaml', POLICY, servergroup=group)
    spec(write, 'profile.yaml', PROFILE, flavor='small', availability_zone='az-2')
    both = ('--policy', 'policy.yaml', '--profile', 'profile.yaml')
    decision = answer(1, *both, flavor=None)
    new = {'host': 'cmp-2', 'zone': 'az-2', 'servergroup': 'new-server-group'}
    assert (decision['capacity'], decision['placements']) == (3, [new])
    assert answer(1, *both, flavor='large')['capacity'] == 0
    beside = ('--availability-zone', 'az-1', '--server-group', 'web')
    old = {'host': 'cmp-1', 'zone': 'az-1', 'servergroup': 'g1'}
    assert answer(1, *both, *beside, flavor=None)['placements'] == [old]
    spec(write, 'policy.yaml', POLICY, servergroup={**group, 'name': 'web'})
    done = plan(1, *both, flavor=None)
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr == (
        "error: properties.servergroup: max_server_per_host specified (3) doesn't match that of "
        "the existing servergroup 'web' (2).\n"
    )


@pytest.mark.parametrize('project', ['ours', SSD.replace('-', ''), SSD, 'demo', '5bbcc3c4'])
def test_a_project_beside_a_snapshot_is_an_id(plan, project):
    done = plan(1, '--project', project, cloud={'project_id': 'ours'})
    message = f'error: --project {project!r} is not an id: use the id, because a snapshot'
    message += ' contains no names of projects\n'
    is_id = project == 'ours' or len(project) >= 32
    status = 0 if project == 'ours' else 4  # the snapshot lacks the quotas of other projects
    assert (done.returncode, done.stderr) == ((status, '') if is_id else (2, message))


def test_a_user_beside_a_snapshot_is_an_id(plan):
    for user, status in (('amy', 0), ('f' * 32, 0), ('f' * 64, 0), ('bob', 2)):
        done = plan(1, '--user', user, cloud={'project_id': 'ours', 'user_id': 'amy'})
        assert done.returncode == status
    assert done.stderr == (
        "error: --user 'bob' is not an id: use the id, because a snapshot contains no names of "
        'users\n'
    )


def test_a_snapshot_is_read_from_standard_input(answer, run, tmp_path):
    decision = answer(3)
    line = ('plan', '--snapshot', '-', '--count', '3', '--flavor', 'small', *GIVEN, '-f', 'json')
    done = run(*line, text=(tmp_path / 'cloud.json').read_text())
    assert (done.returncode, json.loads(done.stdout)) == (0, decision)
    done = run(*line, text='[]')
    assert done.returncode == 2
    assert done.stderr.startswith('error: standard input: must be an object')


# -- errors


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (('--flavor', 'smal'), "flavor: there is no flavor 'smal': did you mean small?"),
        (('--server-group', 'wep'), "server_group: there is no server group 'wep': did you mean"),
        (('--availability-zone', 'az-3'), 'availability_zone: there is no availability zone '),
        (('--member-of', 'sdd'), 'member_of[0]: '),
        (('--member-of', '!in:'), 'member_of[0]: '),
        (('--spread', 'by=a', '--spread', 'by=a,max_skw=1'), 'spread[1].max_skw: unknown key: '),
        (('--spread', 'by=a,max_skew=0'), 'spread[0].max_skew: must be an integer of 1 or more'),
        (('--spread', 'by=availability_zone', '--availability-zone', 'az-1'), 'availability_zon'),
        (('--policy', 'nowhere.yaml'), 'nowhere.yaml cannot be read: No such file'),
        (('--profile', 'nowhere.yaml'), 'nowhere.yaml cannot be read: No such file'),
        (('--snapshot', 'nowhere.json'), 'nowhere.json cannot be read: No such file'),
        (('--snapshot', '.'), '. cannot be read: Is a directory'),
        (('--image', 'cirros'), '--image cirros: a snapshot contains no images; use --image no'),
        (('--config-file', 'nowhere.conf'), 'nowhere.conf cannot be read: No such file or'),
        (('--config-file', 'cloud.json'), 'cloud.json: '),
        (('--nova-conf', 'nowhere.conf'), 'nowhere.conf cannot be read: No such file or'),
        (('--nova-conf', '/'), '/ cannot be read: it has no *.conf'),
        (('--nova-conf', 'cloud.json'), 'cloud.json: line 1 is neither a group, a comment'),
    ],
)  # fmt: skip
def test_an_unknown_name_or_file_is_an_error(plan, options, message):
    done = plan(1, *options)
    command.check_refused(done, f'error: {message}')


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        *(
            (('--count', count, '--flavor', 'f'), 'must be a number from 0 to 1,000,000, not ')
            for count in ('-1', 'six', '1000001', '9' * 5000)
        ),
        (('--count', '1'), 'error: specify --flavor or --profile'),
        ((*FLAVOR, '--image-property', 'k'), "must be K=V, not 'k'"),
        ((*FLAVOR, '--server-group', ''), 'argument --server-group: must not be empty'),
        ((*FLAVOR, '--spread', 'rack'), 'argument --spread: must be by='),
        ((*FLAVOR, '--spread', 'by=a,by=b'), "once, not 'by=a,by=b'"),
        (FLAVOR, 'error: name a cloud with --os-cloud, or a file with --snapshot'),
        (('--server', 's'), 'error: --server and --action go together'),
        (('--action', 'migrate'), 'error: --server and --action go together'),
        (('--server', 's', '--action', 'stop'), "argument --action: invalid choice: 'stop'"),
        ((*OF_SERVER, 'resize'), 'error: --action resize needs --flavor'),
        ((*OF_SERVER, 'rebuild'), 'error: --action rebuild needs --image'),
        ((*OF_SERVER, 'migrate', *FLAVOR), 'error: --count, --flavor: not with --action migr'),
        ((*OF_SERVER, 'unshelve', '--image', 'i'), 'error: --image: not with --action unshelve'),
        (
            (*OF_SERVER, 'resize', *FLAVOR, '--host', 'h'),
            'error: --count, --host: not with --action resize',
        ),
        (
            (*OF_SERVER, 'evacuate', '--hint', 'a=b', '--image-property', 'a=b'),
            'error: --hint, --image-property: not with --action evacuate',
        ),
        ((*OF_SERVER, 'migrate', '--snapshot', 'f'), 'error: --snapshot: not with --action migr'),
        ((*OF_SERVER, 'migrate'), 'error: name a cloud'),
    ],
    ids=range(21),
)
def test_a_usage_error_is_one_line(run, options, message):
    done = run('plan', *options)
    command.check_refused(done, message)


# -- the view


def rows(done):
    """Return the lines of the output, which all fit into 80 columns."""
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line == line.rstrip() for line in lines)
    return lines


#: A shell function that replaces the client and prints its arguments.
CLIENT = """openstack() {
case "$*" in "resource provider list"*) echo "the id of $5";; *) printf '%s|' "$@"; echo;; esac
}
"""


@pytest.mark.parametrize('columns', ['40', '80', '131'])
def test_the_commands_of_a_remedy_can_be_pasted(plan, answer, columns):
    """A shell parses the wrapped lines like those in JSON."""
    named = {'hypervisor_hostname': 'a b'}
    cloud = {
        'hosts': [host('a', **named)],
        'quotas': {'instances': {'limit': 1, 'used': 0}},
        'project_id': 'a-long-id-of-a-project' * 3,
    }
    stale = [host('a', traits=['COMPUTE_STATUS_DISABLED'], **named)]
    for count, more in (9, {}), (8, {'quotas': {}, 'hosts': stale}):
        given = {'cloud': cloud | more}
        commands = [
            line for each in answer(count, **given)['remedies'] for line in each['commands']
        ]
        text = plan(count, **given, columns=columns).stdout
        drawn = [line.removeprefix('      ') for line in text.splitlines() if line[:6] == ' ' * 6]
        pasted = '\n'.join(line.removeprefix('$ ') for line in drawn)
        assert shell(CLIENT + pasted) == shell(CLIENT + '\n'.join(commands)) != []


def shell(lines):
    """Return the lines that a shell prints."""
    done = subprocess.run(['sh'], input=lines, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, '')
    return done.stdout.splitlines()


RACKS = {
    'hosts': [
        host('cmp-1', aggregates=['a1']), host('cmp-2', aggregates=['a1', 'a2']),
        host('cmp-3', aggregates=['a2'], enabled=False), host('cmp-4'),
    ],
    'aggregates': [
        {'uuid': f'a{number}', 'name': '', 'metadata': {'rack': f'r{number}'}} for number in (1, 2)
    ],
}  # fmt: skip


def test_the_view_has_a_column_for_each_spread(plan):
    group, zones = ('--server-group', 'web'), ('--spread', 'by=availability_zone, max_skew = 9')
    hard = plan(1, *group, '--long', '--spread', 'by=rack,max_per_domain=1', cloud=RACKS)
    assert [line.split(None, 5) for line in rows(hard)[-5:]] == [
        ['Host', 'By', 'rack', 'Members', 'New', 'Free  Rejected by'],
        ['cmp-1', 'r1', '1', '0', '0', 'spread.full (r1)'],
        ['cmp-2', 'r1,', 'r2', '0', '0', '0  spread.several_domains'],
        ['cmp-3', 'r2', '0', '0', '0', 'host_state.disabled'],
        ['cmp-4', '-', '0', '0', '0', 'spread.no_domain'],
    ]
    soft = rows(plan(3, *group, '--spread', 'by=rack,mode=soft', *zones, cloud=RACKS))
    assert soft[-7:] == [
        'Servers by rack (max_skew 1, soft)',
        '  2 servers: r1',
        '  0 servers: r2',
        '  2 servers: on hosts in no domain, or in several',
        '',
        'Servers by availability_zone (max_skew 9)',
        '  4 servers: az-1',
    ]


def test_the_view_shortens_many_domains_and_marks_unknown_ones(plan):
    hosts = [host(f'h{number}', availability_zone=f'z{number}') for number in range(1021)]
    lines = rows(plan(1, '--spread', 'by=availability_zone', cloud={'hosts': hosts}))
    assert '  1 server: z0' in lines
    assert lines[-2].endswith(', ... and')
    assert lines[-1] == '    1,000 more'
    lines = rows(plan(1, '--long', '--spread', 'by=rack', cloud={'aggregates': None}))
    assert lines[-2].split()[:3] == ['cmp-1', 'az-1', '?']
    assert '  aggregates: not in the snapshot (the domains by rack are not known)' in lines
    assert not any(line.startswith('Servers by') for line in lines)


@pytest.mark.parametrize('group', [False, True])
def test_every_part_that_the_snapshot_lacks_is_listed(run, write, group):
    write('little.json', '{"format": 1}')
    joined = ('--server-group', 'web') * group
    done = run('plan', *FLAVOR, '--snapshot', 'little.json', *joined, COLUMNS='80')
    assert done.returncode == 1
    lines = rows(done)
    assert lines[lines.index('What is not known') + 1 :] == [
        '  hosts: not in the snapshot (Nova shows them to administrators only)',
        "  flavors: not in the snapshot ('f' is not checked)",
        *["  server groups: not in the snapshot ('web' is not checked)"] * group,
        '  quotas: not in the snapshot (quotas are not checked)',
        '  flavor: the flavor is not known',
    ]


DOWN, NEW = host('a', enabled=False), {'servergroup': {'policies': 'anti-affinity'}}
FEW = {'instances': {'limit': 4, 'used': 1}}
NO_OTHER = {'availability_zone': 'az-1:cmp-1', 'flavor': 'small'}


@pytest.mark.parametrize(
    ('count', 'options', 'cloud', 'shown'),
    [
        (3, '', {'hosts': []}, 'None of the 3 servers fits: there is no host.'),
        (30, '', {'hosts': [DOWN, host('b')]}, 'What would help (no single change is enough)'),
        (9999, '', {'hosts': [host('a', 1)], 'quotas': {}}, 'What the constraints advise'),
        (1, '', {'hosts': [host('a', 0)]}, '  free capacity, add hosts, or use a smaller flavor'),
        (1, '', {'hosts': [host('[red]a[/red]'), host('b')]},
         '  1 host: chosen, with free capacity left: [red]a[/red] (+1)'),
        (2, '', {'quotas': FEW}, 'Both servers fit; 1 more would fit.'),
        (8, '--policy new.yaml', {}, '  max_server_per_host: 4 (capacity 8)'),
        (3, '--profile host.yaml', {'hosts': [host('cmp-1', 2), host('cmp-2')]},
         '  without the requested host (capacity 10)'),
        (30, '--profile host.yaml', {'hosts': [host('cmp-1', 2), host('cmp-2', 1)], 'quotas': {}},
         '  without the requested host (capacity 3)'),
        (1, '--availability-zone az-9:cmp-1', {'hosts': [host('cmp-1', 2), host('cmp-2')]},
         '  only cmp-1: the request names this host, so Nova runs no scheduler filter'),
        (1, '--enabled-filters AcmeFilter', {},
         '1 server probably fits (at most 16). Not known: the effect of filter AcmeFilter.'),
    ],
)  # fmt: skip
def test_the_view_contains_the_line(plan, write, count, options, cloud, shown):
    spec(write, 'new.yaml', POLICY, **NEW)
    spec(write, 'host.yaml', PROFILE, **NO_OTHER)
    lines = rows(plan(count, *options.split(), cloud=cloud))
    assert shown in lines
    # These lines are only for new groups and for hidden hosts.
    assert not any('it takes a new group' in line or 'What is known' in line for line in lines)


def test_quotas_are_ignored(plan, answer):
    quotas = {'instances': {'limit': 4, 'used': 4}, 'server_group_members': {'limit': 0}}
    cloud = {'quotas': quotas, 'project_id': 'ours'}
    assert answer(2, '--server-group', 'web', cloud=cloud)['capacity'] == 0
    free = answer(2, '--server-group', 'web', '--ignore-quotas', cloud=cloud)
    assert free['capacity'] == free['capacity_of_hosts'] == free['capacity_certain'] > 0
    assert 'quota' not in {each['constraint'] for each in free['request']}
    theirs = answer(2, '--project', 'f' * 32, '--ignore-quotas', cloud=cloud)
    assert "the project's quotas, which are not known" not in theirs['at_most']
    lines = rows(plan(2, '--ignore-quotas', cloud=cloud))
    assert '  quotas are ignored' in lines
    assert not any('its quotas are not known' in line for line in lines)


def test_an_error_shows_control_characters_as_escapes(plan):
    done = plan(1, cloud={'hosts\x1b[31m': []})
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr.startswith(r'error: cloud.json: hosts\x1b[31m: unknown key')


def test_a_traceback_shows_control_characters_as_escapes(plan):
    done = plan(1, '--debug', cloud={'hosts\x1b[31m': []})
    assert r'InvalidSpec: cloud.json: hosts\x1b[31m: unknown key' in done.stderr
    assert 'Traceback (most recent call last):\n' in done.stderr
    assert '\x1b' not in done.stderr


def test_an_ascii_stream_gets_ascii(plan):
    for options in (), ('--long',):
        done = plan(3, '--server-group', 'web', *options, PYTHONIOENCODING='ascii')
        assert done.returncode == 0, done.stderr
        assert done.stdout.isascii()
    done = plan(1, cloud={'hosts': [host('cmp-é')]}, PYTHONIOENCODING='ascii')
    assert (done.returncode, r'cmp-\xe9' in done.stdout) == (0, True), done.stderr


def test_no_skipped_omits_skipped_verdicts(plan, answer):
    whole, short = answer(4), answer(4, '--no-skipped')
    assert 'SKIP' in json.dumps(whole)
    assert 'SKIP' not in json.dumps(short)
    assert list(short) == FIELDS


def test_a_plan_for_one_host(answer, plan):
    """The group has a member on cmp-1, and room for one more server there."""
    group = ('--server-group', 'web')
    assert answer(2, *group, '--host', 'cmp-1')['capacity'] == 1
    assert answer(2, *group, '--host', 'cmp-2')['capacity'] == 2
    done = plan(2, *group, '--host', 'cmp-2')
    assert 'only one host, which --host names' in done.stdout
    done = plan(2, *group, '--host', 'cmp-3')
    assert (done.returncode, done.stderr) == (
        2,
        "error: host: there is no host 'cmp-3': did you mean cmp-2?\n",
    )
