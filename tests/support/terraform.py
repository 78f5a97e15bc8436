"""Write the JSON of Terraform plans, as ``terraform show -json`` prints it, and a set of plans.

The plans follow "JSON Output Format" of Terraform and the documented schema of the provider's
resources. Values that are not known until apply are absent in ``after`` and true in
``after_unknown``.

The cloud of :data:`PLANS` is :data:`HOSTS` with :data:`FLAVORS`: 4 servers of m1.tiny fit on cmp-1
and on cmp-2, 8 on cmp-3; of m1.big, 1, 1 and 2.
"""

INSTANCE = 'openstack_compute_instance_v2'
GROUP = 'openstack_compute_servergroup_v2'
FLAVOR = 'openstack_compute_flavor_v2'
VOLUME = 'openstack_blockstorage_volume_v3'

#: The sandbox reserves nothing.
HOSTS = {
    'cmp-1': {'availability_zone': 'az-1', 'memory_mb': 2048},
    'cmp-2': {'availability_zone': 'az-1', 'memory_mb': 2048},
    'cmp-3': {'availability_zone': 'az-2', 'memory_mb': 4096},
}
FLAVORS = {'m1.tiny': {'ram': 512}, 'm1.big': {'ram': 1536}}


def change(kind, name, index=None, /, module='', actions=('create',), unknown=None, **after):
    """Return one element of ``resource_changes``."""
    written = '' if index is None else f'["{index}"]' if isinstance(index, str) else f'[{index}]'
    prefix = f'{module}.' if module else ''
    return {
        'address': f'{prefix}{kind}.{name}{written}',
        **({'module_address': module} if module else {}),
        'mode': 'managed',
        'type': kind,
        'name': name,
        **({} if index is None else {'index': index}),
        'provider_name': 'registry.terraform.io/terraform-provider-openstack/openstack',
        'change': {
            'actions': [*actions],
            'before': None,
            'after': {'name': name, **after},
            'after_unknown': {'id': True, 'region': True, **(unknown or {})},
        },
    }


def server(name, index=None, group=None, **more):
    """Return a server; a ``group`` of True is not known until apply."""
    after = {'name': name, 'flavor_name': 'm1.tiny', 'image_name': 'cirros', **more}
    unknown = {'flavor_id': True, 'image_id': True, 'availability_zone': True}
    unknown = {key: each for key, each in unknown.items() if key not in after}
    for key in ('module', 'actions'):
        after.pop(key, None)
    given = {key: more[key] for key in ('module', 'actions') if key in more}
    if group is not None:
        hints = {'different_host': None, 'same_host': None, 'query': None, 'target_cell': None}
        after['scheduler_hints'] = [hints if group is True else {**hints, 'group': group}]
        unknown['scheduler_hints'] = [{'group': True} if group is True else {}]
    del after['name']
    return change(INSTANCE, name, index, unknown=unknown, **given, **after)


def servers(number, name='web', **more):
    """Return the servers of a resource with this count."""
    return [server(name, index, **more) for index in range(number)]


def group(name, policy, most=None, index=None, **more):
    """Return a server group."""
    rules = [] if most is None else [{'max_server_per_host': most}]
    return change(GROUP, name, index, policies=[policy], rules=rules, **more)


def refs(*references):
    """Return an expression with references, and those that they imply."""
    implied = (each.rpartition('.')[0] for each in references if not each.startswith('each.'))
    return {'references': [*references, *filter(None, implied)]}


def configured(kind, name, **expressions):
    """Return a resource of the configuration."""
    return {'address': f'{kind}.{name}', 'mode': 'managed', 'type': kind, 'name': name,
            'expressions': expressions}  # fmt: skip


def in_group(name, *references):
    """Return the configuration of a server whose group is an expression."""
    return configured(INSTANCE, name, scheduler_hints=[{'group': refs(*references)}])


def plan(*changes, resources=(), calls=None, **more):
    """Return a plan; ``resources`` and ``calls`` are those of the root module's configuration."""
    root = {'resources': [*resources], 'module_calls': calls or {}}
    listed = [each for given in changes for each in (given if isinstance(given, list) else [given])]
    return {
        'format_version': '1.2',
        'terraform_version': '1.9.8',
        'resource_changes': listed,
        'configuration': {'root_module': root},
        **more,
    }


def _of_group(policy, *names_and_numbers, most=None, **more):
    """Return a plan with servers of one new group."""
    new = [each for name, number in names_and_numbers for each in servers(number, name, group=True)]
    own = [in_group(name, f'{GROUP}.all.id') for name, _number in names_and_numbers]
    return plan(group('all', policy, most), new, resources=own, **more)


def _with_flavor(number, **sizes):
    """Return a plan with servers of one new flavor."""
    new = [
        change(INSTANCE, 'web', index, unknown={'flavor_id': True}, image_name='cirros')
        for index in range(number)
    ]
    own = configured(INSTANCE, 'web', flavor_id=refs(f'{FLAVOR}.own.id'))
    made = change(FLAVOR, 'own', unknown={'flavor_id': True}, name='own', **sizes)
    return plan(made, new, resources=[own])


def _with_modules():
    """Return a plan whose group is an output of one module, and a variable of another."""
    made = group('web', 'anti-affinity', module='module.groups')
    new = servers(3, group=True, module='module.app')
    calls = {
        'groups': {
            'expressions': {},
            'module': {'outputs': {'web_id': {'expression': refs(f'{GROUP}.web.id')}}},
        },
        'app': {
            'expressions': {'group': refs('module.groups.web_id')},
            'module': {'resources': [in_group('web', 'var.group')]},
        },
    }
    return plan(made, new, calls=calls)


def _for_each():
    """Return a plan with a group for each key, and two servers for each group."""
    made = [group('by', 'anti-affinity', index=key) for key in ('a', 'b')]
    new = [server(name, key, group=True) for name in ('one', 'two') for key in ('a', 'b')]
    own = [in_group(name, f'{GROUP}.by', 'each.key') for name in ('one', 'two')]
    return plan(made, new, resources=own)


BIG = {'flavor_name': 'm1.big'}
#: Each plan, and whether it fits.
PLANS = {
    'a few servers': (plan(servers(4)), True),
    'as many servers as fit': (plan(servers(16)), True),
    'one server too many': (plan(servers(17)), False),
    'both zones full': (
        plan(servers(8, 'a', availability_zone='az-1'), servers(8, 'b', availability_zone='az-2')),
        True,
    ),
    'a zone too small': (plan(servers(9, availability_zone='az-1')), False),
    'one on each host': (_of_group('anti-affinity', ('web', 3)), True),
    'more than hosts': (_of_group('anti-affinity', ('web', 4)), False),
    'two on each host': (_of_group('anti-affinity', ('web', 6), most=2), True),
    'two resources in one group': (_of_group('anti-affinity', ('web', 2), ('db', 2)), False),
    'together': (_of_group('affinity', ('web', 4)), True),
    'together, too many': (_of_group('affinity', ('web', 9)), False),
    'together, of two resources': (_of_group('affinity', ('web', 4), ('db', 5)), False),
    'for each zone': (
        plan([server('web', zone, availability_zone=zone) for zone in ('az-1', 'az-2')]),
        True,
    ),
    'modules': (_with_modules(), True),
    'a new flavor': (_with_flavor(4, ram=2048, vcpus=1, disk=1), True),
    'a new flavor, too large': (_with_flavor(1, ram=8192, vcpus=1, disk=1), False),
    'exactly full': (plan(servers(4), servers(4, 'db', **BIG)), True),
    'soft anti-affinity': (_of_group('soft-anti-affinity', ('web', 8)), True),
    'a group for each key': (_for_each(), True),
    'too many large servers': (plan(servers(1), servers(5, 'db', **BIG)), False),
    'too much memory together': (plan(servers(5), servers(4, 'db', **BIG)), False),
}
