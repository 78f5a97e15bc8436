"""``senlin-affinity plan FILE``: several requests at once."""

import json

import pytest

from tests.functional.cli.test_plan import CLOUD, SMALL, host
from tests.support.terraform import plan, server, servers

LIST = """
server_groups: {new: {policy: anti-affinity}}
servers:
  - {name: front, count: 2, flavor: small, server_group: new}
  - {name: back, count: 3, flavor: small, availability_zone: az-1}
"""


@pytest.fixture
def planned(run, write):
    """Return a function that plans a file on a snapshot, and returns status, output and errors."""

    def plan_file(content, *options, cloud=CLOUD, COLUMNS='80'):
        text = content if isinstance(content, str) else json.dumps(content)
        file, snapshot = write('stack', text), write('cloud.json', json.dumps(cloud))
        done = run('plan', file, '--snapshot', snapshot, *options, COLUMNS=COLUMNS)
        return done.returncode, done.stdout, done.stderr

    return plan_file


def test_the_table(planned):
    status, out, _errors = planned(LIST)
    assert status == 0
    assert out.splitlines()[:7] == [
        'All 5 servers fit, in this order on these hosts.',
        'That holds whichever hosts Nova picks.',
        '+-------+-------+------+--------------+--------+',
        '| name  | count | fits | hosts        | reason |',
        '+-------+-------+------+--------------+--------+',
        '| front |     2 | yes  | cmp-1, cmp-2 |        |',
        '| back  |     3 | yes  | cmp-1 (3)    |        |',
    ]
    assert max(map(len, out.splitlines())) <= 80


def test_what_does_not_fit_is_explained(planned):
    status, out, _errors = planned(LIST.replace('count: 3', 'count: 8'))
    assert status == 3
    assert out.startswith(
        'The 10 servers do not fit: 9 servers of front, back need 4,608 MEMORY_MB on 1\n'
    )
    assert '\nback: Only 7 of 8 fit' in out
    assert 'What would help' in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_reason_of_a_request_that_does_not_fit_alone_does_not_count_the_others(planned):
    cloud = {**CLOUD, 'quotas': {'instances': {'limit': 9, 'used': 5}}}
    text = 'servers: [{name: a, flavor: small}, {name: b, count: 5, flavor: small}]'
    _status, out, _errors = planned(text, cloud=cloud, COLUMNS='200')
    assert out.startswith('The 6 servers do not fit: b does not even fit alone.\n')
    assert '| alone 4 of 5: the project has 5 of 9 instances: no room for 5 more |' in out
    assert '\nb: Only 4 of 5 fit: the project has 5 of 9 instances' in out


def test_json(planned):
    status, out, _errors = planned(LIST, '-f', 'json')
    found = json.loads(out)
    assert (status, found['format'], found['fits'], found['fits_on_any_host']) == (0, 1, True, True)
    assert [(each['name'], each['server_group']) for each in found['requests']] == [
        ('front', 'new'),
        ('back', None),
    ]
    assert len(found['requests'][1]['placements']) == 3


def test_a_terraform_plan(planned):
    status, out, _errors = planned(plan(servers(2, flavor_name='small')))
    assert (status, out.splitlines()[0]) == (0, 'Both servers fit, in this order on these hosts.')
    unread = planned(plan(servers(2, flavor_name='small'), server('x', flavor_name=None)))
    assert unread[0] == 4
    assert 'Not read\n  x: its flavor is not known until apply\n' in unread[1]


def test_a_heat_template(planned):
    template = """
heat_template_version: 2018-08-31
parameters: {size: {type: number}}
resources:
  web:
    type: OS::Heat::ResourceGroup
    properties:
      count: {get_param: size}
      resource_def: {type: OS::Nova::Server, properties: {flavor: small}}
"""
    status, out, _errors = planned(template, '--parameter', 'size=2')
    assert (status, out.splitlines()[0]) == (0, 'Both servers fit, in this order on these hosts.')
    status, out, errors = planned(template)
    assert (status, out) == (2, '')
    assert errors == ('error: stack: parameters.size: has no default: add --parameter size=VALUE\n')


def test_a_file_without_servers(planned):
    status, out, _errors = planned('{heat_template_version: 2018-08-31, resources: {}}')
    assert (status, out.splitlines()[0]) == (0, 'The file creates no servers.')


def test_quotas_count_over_the_list(planned):
    cloud = {**CLOUD, 'quotas': {'instances': {'limit': 5, 'used': 1}}}
    status, out, _errors = planned(LIST, cloud=cloud)
    assert (status, out.splitlines()[0]) == (
        3,
        'The 5 servers do not fit: 5 instances of the project are needed, and the quota',
    )
    assert planned(LIST, '--ignore-quotas', cloud=cloud)[0] == 0


@pytest.mark.parametrize(
    ('hosts', 'count', 'line'),
    [
        (None, 1, 'It is not known whether the server fits.'),
        ([host('cmp-1', free=None)], 2, 'It is not known whether the 2 servers fit.'),
    ],
)
def test_unknown(planned, hosts, count, line):
    cloud = {**CLOUD, 'hosts': hosts, 'server_groups': []}
    status, out, _errors = planned(f'servers: [{{flavor: small, count: {count}}}]', cloud=cloud)
    assert (status, out.splitlines()[0]) == (1, line)


def test_no_order_is_found(planned):
    """The group fits on cmp-1 alone, where the other large server has no room then."""
    cloud = {
        **CLOUD,
        'hosts': [host('cmp-1', free=6), host('cmp-2', free=3)],
        'flavors': [SMALL, {**SMALL, 'id': '3', 'name': 'big', 'vcpus': 3}],
    }
    text = """
server_groups: {both: {policy: affinity}}
servers:
  - {name: a, count: 2, flavor: big, server_group: both}
  - {name: b, count: 1, flavor: small}
  - {name: c, count: 1, flavor: big}
"""
    status, out, _errors = planned(text, cloud=cloud)
    assert status == 4
    assert out.startswith('No order was found in which all 4 servers fit, which proves nothing.\n')


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (('--flavor', 'f'), 'error: --flavor is not allowed with a file of requests\n'),
        (('--count', '1'), 'error: --count is not allowed with a file of requests\n'),
        (('--boot-from-volume',), 'error: --boot-from-volume is not allowed with a file of '
         'requests\n'),
        (('--parameter', 'a=b'), 'error: stack: --parameter: has no parameters: only a Heat '
         'template has\n'),
        (('--parameter', 'a=b', '--parameter', 'a=c'),
         'error: --parameter: each name may be specified only once\n'),
    ],
)  # fmt: skip
def test_options_that_do_not_go_with_a_file(planned, options, message):
    assert planned(LIST, *options) == (2, '', message)


def test_parameters_need_a_file(run):
    assert run('plan', '--parameter', 'a=b').stderr == (
        'error: --parameter needs a file: the Heat template\n'
    )


@pytest.mark.parametrize(
    ('content', 'errors'),
    [
        ('servers: [{flavor: smal}, {flavor: small, count: x}]',
         ["error: stack: servers[1].count: must be an integer of 0 or more, not 'x'"]),
        ('servers: [{flavor: smal}, {name: b, flavor: small, availability_zone: "a:b"}]',
         ["error: stack: request 1: flavor: there is no flavor 'smal': did you mean small?",
          'error: stack: b: availability_zone: must not name a host in a list of requests: plan '
          'its servers alone']),
        ('servers: [', ['error: stack: is not valid YAML in line 1, column 11: ']),
        ('{"servers": [}', ['error: stack: is not valid YAML']),
        (b'\xff\xfe', ['error: stack: is not UTF-8 text']),
        ('x: ' + 'a' * (1 << 20), ['error: stack: is larger than 1 MiB, the limit']),
        ('{"format": 1}', ['error: stack: is a snapshot of a cloud: use --snapshot']),
    ],
)  # fmt: skip
def test_mistakes_in_the_file(run, write, content, errors):
    file, snapshot = write('stack', content), write('cloud.json', json.dumps(CLOUD))
    done = run('plan', file, '--snapshot', snapshot)
    assert (done.returncode, done.stdout) == (2, '')
    found = done.stderr.splitlines()
    assert len(found) == len(errors)
    assert all(map(str.startswith, found, errors)), found


def test_a_file_that_cannot_be_read(run):
    assert run('plan', 'none.yaml').stderr == (
        'error: none.yaml cannot be read: No such file or directory\n'
    )
