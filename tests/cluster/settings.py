"""The configuration files and daemons of the stack, with a comment where an option is unusual."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from senlin_affinity.conf.files import example
from senlin_affinity.sandbox.config_files import write

if TYPE_CHECKING:
    from tests.cluster.stack import Stack

HERE = Path(__file__).parent
LAUNCHER = ('/usr/bin/python3', HERE / 'daemon.py')
#: Packages of which only the paste files are used.
PASTE = {
    'nova': 'nova-common',
    'senlin': 'senlin-common',
    'glance-api': 'glance-common',
    'heat': 'heat-common',
}
COMPUTES = {'cmp-1': 'az1', 'cmp-2': 'az2', 'cmp-3': None, 'vsphere-drs-1': 'vsphere'}
ENGINES = ('engine-1', 'engine-2', 'engine-3')
CONDUCTORS = ('conductor-1', 'conductor-2')
SENLIN = ('senlin-api', *CONDUCTORS, *ENGINES, 'health-manager')
CONTROLLER = 'controller'
HOSTS = (CONTROLLER, *ENGINES)
PORTS = (
    'mysql', 'amqp', 'erlang', 'epmd', 'memcached', 'keystone', 'neutron', 'glance', 'placement',
    'nova-api', 'senlin-api', 'heat-api',
)  # fmt: skip
#: The API's application, and the number of its processes.
_APPLICATIONS = {
    'keystone': ('keystone.server.wsgi:initialize_public_application', 2),
    'neutron': ('neutron:', 1),
    'glance': ('glance.common.wsgi_app:init_app', 1),
    'placement': ('placement.wsgi:init_application', 2),
    'nova-api': ('nova.api.openstack.compute.wsgi:init_application', 2),
}


@dataclass(frozen=True)
class Daemon:
    """The command of a daemon, and its host."""

    words: tuple[Any, ...]
    host: str = CONTROLLER
    environment: dict[str, str] = field(default_factory=dict)


def database(stack: Stack, name: str) -> dict[str, Any]:
    """Return the options of a database."""
    url = f'mysql+pymysql://root:@127.0.0.1:{stack.ports["mysql"]}/{name}?charset=utf8'
    return {'connection': url}


def _credentials(stack: Stack, user: str) -> dict[str, Any]:
    return {
        'auth_type': 'password',
        'auth_url': f'{stack.url("keystone")}/v3',
        'username': user,
        'password': 'secret',
        'project_name': 'service',
        'user_domain_id': 'default',
        'project_domain_id': 'default',
        'region_name': 'RegionOne',
    }


def write_all(stack: Stack) -> None:
    """Write the files of all services."""
    etc, lib = stack.directory / 'etc', stack.directory / 'lib'
    memcached = f'127.0.0.1:{stack.ports["memcached"]}'

    def service(name: str, *layers: Any, user: str = '') -> None:
        user = user or name
        rabbit = f'rabbit://guest:guest@127.0.0.1:{stack.ports["amqp"]}/'
        token = {
            **_credentials(stack, user),
            'www_authenticate_uri': stack.url('keystone'),
            'memcached_servers': memcached,
        }
        common = {
            'DEFAULT': {'transport_url': rabbit, 'use_stderr': True},
            'keystone_authtoken': token,
            'oslo_policy': {'policy_file': etc / f'{name}-policy.yaml'},
            'oslo_concurrency': {'lock_path': lib / 'locks'},
        }
        rights = example('rights') / f'{name}.yaml'
        text = rights.read_text() if rights.exists() else ''
        (etc / f'{name}-policy.yaml').write_text(text)
        write(etc / f'{name}.conf', common, *layers)

    for name in PASTE:
        (path,) = (lib / name).rglob('*-paste.ini')
        shutil.copyfile(path, etc / f'{name}-paste.ini')
    service('keystone', {
        'database': database(stack, 'keystone'),
        'token': {'provider': 'fernet', 'expiration': 86400},
        'fernet_tokens': {'key_repository': lib / 'fernet'},
        'fernet_receipts': {'key_repository': lib / 'fernet'},
        'credential': {'key_repository': lib / 'credential'},
        # Without it, each call takes half a second.
        'cache': {
            'enabled': True,
            'backend': 'oslo_cache.memcache_pool',
            'memcache_servers': memcached,
        },
        'identity': {'password_hash_rounds': 4},
    })  # fmt: skip
    service('placement', {
        'api': {'auth_strategy': 'keystone'},
        'placement_database': database(stack, 'placement'),
    })  # fmt: skip
    service('glance-api', {
        'DEFAULT': {
            'enabled_backends': 'fs:file',
            'worker_self_reference_url': stack.url('glance'),
            'use_keystone_limits': False,
        },
        'database': database(stack, 'glance'),
        'glance_store': {'default_backend': 'fs'},
        **{
            section: {'filesystem_store_datadir': lib / 'glance-files' / section}
            for section in ('fs', 'os_glance_staging_store', 'os_glance_tasks_store')
        },
        'paste_deploy': {'flavor': 'keystone', 'config_file': etc / 'glance-api-paste.ini'},
    }, user='glance')  # fmt: skip
    service('nova', {
        'DEFAULT': {
            'compute_driver': 'fake.FakeDriver',
            'my_ip': '127.0.0.1',
            'state_path': lib / 'nova',
            'heal_instance_info_cache_interval': -1,
            'report_interval': 10,
            'service_down_time': 120,
            # Of servers that are checked at once, too many are rescheduled.
            'max_concurrent_builds': 1,
            'reserved_host_memory_mb': 0,
        },
        'wsgi': {'api_paste_config': etc / 'nova-paste.ini'},
        'api_database': database(stack, 'nova_api'),
        'database': database(stack, 'nova_cell1'),
        'api': {'auth_strategy': 'keystone'},
        'conductor': {'workers': 1},
        # Concurrent servers of a group race for a host.
        'scheduler': {'workers': 1, 'max_attempts': 10, 'discover_hosts_in_cells_interval': 2},
        'filter_scheduler': {'build_failure_weight_multiplier': 0},
        'quota': dict.fromkeys(
            ('instances', 'cores', 'ram', 'server_groups', 'server_group_members'), -1
        ),
        'vnc': {'enabled': False},
        **{group: _credentials(stack, 'nova') for group in ('placement', 'neutron', 'glance')},
    })  # fmt: skip
    for name in COMPUTES:
        own = {'host': name, 'state_path': lib / name}
        (lib / name / 'instances').mkdir(parents=True)
        write(etc / f'{name}.conf', {'DEFAULT': own})
    service('senlin', {
        'DEFAULT': {
            'default_region_name': 'RegionOne',
            'batch_interval': 0,
            'lock_retry_interval': 1,
            'lock_retry_times': 60,
            'default_nova_timeout': 120,
            # An engine counts as dead after twice this time.
            'periodic_interval': 15,
        },
        # Without a limit: Senlin 14 leaks sessions until they are collected. A pool of 0 would keep
        # the connections of the busiest moment open.
        'database': {**database(stack, 'senlin'), 'max_pool_size': 5, 'max_overflow': -1},
        'senlin_api': {
            'bind_host': '127.0.0.1',
            'bind_port': stack.ports['senlin-api'],
            'workers': 0,
            'api_paste_config': etc / 'senlin-paste.ini',
        },
        'conductor': {'workers': 1},
        'engine': {'workers': 1},
        'health_manager': {'workers': 1},
        'authentication': {
            'auth_url': f'{stack.url("keystone")}/v3',
            'service_username': 'senlin',
            'service_password': 'secret',
            'service_project_name': 'service',
        },
        'senlin_affinity_cloud': _credentials(stack, 'senlin-affinity'),
        'affinity': {'nova_conf': etc / 'nova.conf'},
    })  # fmt: skip
    service('heat', {
        'database': database(stack, 'heat'),
        'paste_deploy': {'api_paste_config': etc / 'heat-paste.ini'},
        'heat_api': {'bind_host': '127.0.0.1', 'bind_port': stack.ports['heat-api'], 'workers': 1},
        # A server that finds no host would be created six times.
        'DEFAULT': {'num_engine_workers': 1, 'action_retry_limit': 0},
        'clients_keystone': {'auth_uri': stack.url('keystone')},
        # A scope would contradict that of the trust.
        'trustee': {
            name: value
            for name, value in _credentials(stack, 'heat').items()
            if name not in ('project_name', 'project_domain_id')
        },
    })  # fmt: skip
    for name in SENLIN:
        # The API addresses the conductors by its own host.
        write(etc / f'{name}.conf', {'DEFAULT': {'host': host_of(name)}})
    _write_infrastructure(stack)


def host_of(daemon: str) -> str:
    """Return the host of a daemon of Senlin."""
    return daemon if daemon in ENGINES else CONTROLLER


def _write_infrastructure(stack: Stack) -> None:
    directory, ports = stack.directory, stack.ports
    write(directory / 'etc/my.cnf', {'mysqld': {
        'datadir': directory / 'lib/mysql',
        'socket': directory / 'lib/mysql.sock',
        'pid-file': directory / 'lib/mysql.pid',
        'bind-address': '127.0.0.1',
        'port': ports['mysql'],
        'user': 'mysql',
        'skip-log-bin': 1,
        'skip-name-resolve': 1,
        'max_connections': 6000,
        'innodb_flush_log_at_trx_commit': 0,
        'innodb_flush_method': 'nosync',
        'performance_schema': 'off',
    }})  # fmt: skip
    quiet = '+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none'
    lines = {
        'NODENAME': 'senlin-affinity@localhost',
        'NODE_IP_ADDRESS': '127.0.0.1',
        'NODE_PORT': ports['amqp'],
        'DIST_PORT': ports['erlang'],
        'MNESIA_BASE': directory / 'lib/rabbit',
        'LOG_BASE': directory / 'log',
        'SERVER_ADDITIONAL_ERL_ARGS': f'"-kernel inet_dist_use_interface {{127,0,0,1}} {quiet}"',
    }
    text = ''.join(f'{name}={value}\n' for name, value in lines.items())
    (directory / 'etc/rabbit-env.conf').write_text(text)


def daemons(stack: Stack) -> dict[str, Daemon]:
    """Return all daemons, in the order of their start."""
    directory, etc, ports = stack.directory, stack.directory / 'etc', stack.ports
    erlang = {
        'ERL_EPMD_PORT': str(ports['epmd']),
        'ERL_EPMD_ADDRESS': '127.0.0.1',
        'HOME': str(directory / 'lib/rabbit'),
        'RABBITMQ_CONF_ENV_FILE': str(etc / 'rabbit-env.conf'),
    }
    as_rabbit = ('setpriv', '--reuid', 'rabbitmq', '--regid', 'rabbitmq', '--init-groups')
    memcached = ('memcached', '-u', 'nobody', '-l', '127.0.0.1', '-p', ports['memcached'])
    made = {
        'epmd': Daemon((*as_rabbit, 'epmd'), environment=erlang),
        'mysql': Daemon(('mariadbd', f'--defaults-file={etc}/my.cnf')),
        'rabbitmq': Daemon(
            (*as_rabbit, '/usr/lib/rabbitmq/bin/rabbitmq-server'), environment=erlang
        ),
        'memcached': Daemon((*memcached, '-m', 64)),
    }
    for name, (application, processes) in _APPLICATIONS.items():
        variables = {
            'CLUSTER_APPLICATION': application,
            'OS_KEYSTONE_CONFIG_FILES': str(etc / 'keystone.conf'),
            'OS_PLACEMENT_CONFIG_DIR': str(etc),
            'OS_GLANCE_CONFIG_DIR': str(etc),
            'OS_NOVA_CONFIG_DIR': str(etc),
            'OS_NOVA_CONFIG_FILES': 'nova-paste.ini;nova.conf',
        }
        words = (
            'uwsgi_python311', '--http-socket', f'127.0.0.1:{ports[name]}',
            '--wsgi-file', HERE / 'wsgi.py', '--processes', processes, '--master',
            '--enable-threads', '--need-app', '--lazy-apps', '--die-on-term',
            '--buffer-size', 65535, '--disable-logging',
            # uwsgi closes a connection without announcing it.
            '--add-header', 'Connection: close',
        )  # fmt: skip
        made[name] = Daemon(words, environment=variables)

    def python(module: str, *configs: str, host: str = CONTROLLER) -> Daemon:
        files = [word for name in configs for word in ('--config-file', etc / f'{name}.conf')]
        trap = {'CLUSTER_DIE': str(directory / 'lib/die')} if host in ENGINES else {}
        return Daemon((*LAUNCHER, module, *files), host, trap)

    made |= {
        f'nova-{each}': python(f'nova.cmd.{each}', 'nova') for each in ('conductor', 'scheduler')
    }
    made |= {name: python('nova.cmd.compute', 'nova', name) for name in COMPUTES}
    made |= {f'heat-{each}': python(f'heat.cmd.{each}', 'heat') for each in ('api', 'engine')}
    for name in SENLIN:
        kind = name.removeprefix('senlin-').partition('-')[0].replace('health', 'health_manager')
        made[name] = python(f'senlin.cmd.{kind}', 'senlin', name, host=host_of(name))
    return made
