"""Run Nova's own code in a child process, as the oracle for flavors, filters and queries.

Nova and Senlin share one global configuration, so the tests import neither. The child ends with its
input.

Shapes (JSON, one line each)::

    {"ask": "demand", "flavor": {...}, "image": {...}, "is_volume_booted": false}
        -> {"amounts": {"VCPU": 1}, "required": [], "forbidden": [], "is_numa": false}
        or {"refused": "..."}
    {"ask": "filters"} -> ["AllHostsFilter", ...]
    {"ask": "attributes"} -> ["host", ...], the attributes of a host in nova-scheduler
    {"ask": "passes", "filter": "ComputeCapabilitiesFilter", "flavor": {...}, "image": {...},
     "group": {"policy": "anti-affinity", "rules": {}, "members": [], "hosts": [], "here": []}}
        -> true; null if nova-api would reject the request
    {"ask": "passing", "filters": ["NumInstancesFilter"], "options": {"max_instances_per_host": 3},
     "hosts": [{"name": "cmp-1", "servers": 2, "aggregates": [{"ssd": "true"}]}],
     "flavor": {...}, "project": "p1", "image": {"id": "i1", "properties": {"os_distro": "sles"}}}
        -> ["cmp-1"], the hosts that pass all of these filters with these options of
        [filter_scheduler]; null if nova-api would reject the image
    {"ask": "destination", "aggregates": {"<uuid>": {"filter_tenant_id": "p1"}}, "project": "p1",
     "options": ["limit_tenants_to_placement_aggregate"]}     also: flavor, image, zone, forced
        -> {"required": [["<uuid>"]], "forbidden": []}, the aggregates that the request filters add
        in a cloud with these aggregates (a database in memory), or {"refused": "No hosts ..."}
    {"ask": "queries", "flavor": {...}, "image": {...}, "disk_format": "raw", "aggregates": {...},
     "project": "p1", "zone": "az1", "options": ["workarounds.disable_fallback_pcpu_query"],
     "prefix": "reservation:"}      of both options of our own request filter
        -> ["resources=VCPU%3A1...", ...], all queries to Placement, or {"refused": "..."}

The filters check the most unsuitable host: it has no resources, supports nothing, is overloaded,
and its aggregates are for other tenants.
"""

import functools
import json
import logging
import os
import subprocess
import sys
import threading
import traceback

PROJECT, HOST = 'project', 'cmp-1'
#: Seconds for the first answer; the import of Nova takes one or two.
PATIENCE = 60
OPTIONS = (
    'enable_isolated_aggregate_filtering',
    'limit_tenants_to_placement_aggregate',
    'placement_aggregate_required_for_tenants',
)
QUERY_OPTIONS = (
    *(f'scheduler.{name}' for name in OPTIONS),
    'scheduler.query_placement_for_image_type_support',
    'scheduler.image_metadata_prefilter',
    'workarounds.disable_fallback_pcpu_query',
)


class Judge:
    """The connection of a test to the child."""

    def __init__(self):
        command = [sys.executable, '-W', 'ignore', '-m', 'tests.support.nova_judge']
        environment = os.environ | {'OS_NOVA_DISABLE_EVENTLET_PATCHING': 'true'}
        self._child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self._child.stdin.close()
        try:
            self._child.wait(PATIENCE)
        finally:
            self._child.kill()
            self._child.stdout.close()

    def __call__(self, ask, **what):
        timer = threading.Timer(PATIENCE, self._child.kill)
        timer.start()
        try:
            print(json.dumps({'ask': ask} | what), file=self._child.stdin, flush=True)
            line = self._child.stdout.readline()
        finally:
            timer.cancel()
        assert line, 'the child process ended'
        answer = json.loads(line)
        assert not isinstance(answer, dict) or 'failed' not in answer, answer['failed']
        return answer


# --- the child


def _flavor(given):
    from nova import objects

    same = {key: given[key] for key in ('name', 'vcpus', 'swap', 'extra_specs')}
    sizes = {'memory_mb': 'ram', 'root_gb': 'disk', 'ephemeral_gb': 'ephemeral'}
    return objects.Flavor(**same, **{ours: given[key] for ours, key in sizes.items()})


def _spec(given):
    from nova import objects

    image = objects.ImageMeta.from_dict({'properties': given.get('image') or {}})
    return objects.RequestSpec(
        flavor=_flavor(given['flavor']),
        image=image,
        is_bfv=given.get('is_volume_booted', False),
        requested_resources=[],
        project_id=PROJECT,
        scheduler_hints={},
        instance_uuid='new',
        instance_group=None,
    )


def demand(given):
    from nova import exception
    from nova.scheduler.utils import ResourceRequest
    from nova.virt import hardware

    spec = _spec(given)
    try:
        request = ResourceRequest.from_request_spec(spec)
        topology = hardware.numa_get_constraints(spec.flavor, spec.image)
    except exception.NovaException as error:
        # nova-api would respond with 400.
        return {'refused': str(error)}
    groups = request._rg_by_id.values()
    return {
        'amounts': request.merged_resources(),
        # Placement drops blanks, and Nova omits an empty name.
        'required': sorted(
            {name.strip() for each in groups for name in each.required_traits} - {''}
        ),
        'forbidden': sorted({name for each in groups for name in each.forbidden_traits}),
        'is_numa': topology is not None,
    }


@functools.cache
def _filters():
    from nova.scheduler import filters

    # The names are those of enabled_filters; a filter whose name has an underscore is a base.
    found = filters.HostFilterHandler().get_all_classes()
    return {kind.__name__: kind for kind in found if not kind.__name__.startswith('_')}


def filters(_given):
    return sorted(_filters())


def _host():
    from nova import objects
    from nova.scheduler.host_manager import HostState

    host = HostState(HOST, HOST, None)
    metadata = {'filter_tenant_id': 'others', 'instance_type': 'others', 'os_type': 'others'}
    host.aggregates = [objects.Aggregate(metadata=metadata)]
    host.service = {'host': HOST, 'disabled': True}
    host.stats = {'num_vm_active': '7', 'num_task_None': '7', 'io_workload': '0'}
    host.cpu_info = {'maxphysaddr': {'bits': 1}}
    host.num_instances = host.num_io_ops = 10**6
    host.metrics = []
    return host


def attributes(_given):
    host = _host()
    return sorted({*dir(host), *host.stats})


def passes(given):
    from nova import exception, objects
    from nova.virt import hardware

    spec, host = _spec(given), _host()
    try:
        spec.numa_topology = hardware.numa_get_constraints(spec.flavor, spec.image)
    except exception.NovaException:
        return None
    requests = [
        objects.InstancePCIRequest(count=1, spec=[])
        for key in spec.flavor.extra_specs
        if key == 'pci_passthrough:alias'
    ]
    spec.pci_requests = objects.InstancePCIRequests(requests=requests)
    group = given.get('group')
    if group is not None:
        spec.instance_group = objects.InstanceGroup(
            policy=group['policy'],
            policies=[group['policy']],
            _rules={name: str(value) for name, value in group['rules'].items()},
            members=group['members'],
            hosts=group['hosts'],
        )
        host.instances = dict.fromkeys(group['here'])
    return bool(_filters()[given['filter']]().host_passes(host, spec))


def passing(given):
    from nova import objects
    from nova.conf import CONF
    from nova.scheduler import filters
    from nova.scheduler.host_manager import HostState

    try:
        image = objects.ImageMeta.from_dict(given['image'])
    except ValueError:
        return None
    spec = objects.RequestSpec(
        flavor=_flavor(given['flavor']),
        image=image,
        project_id=given['project'],
        scheduler_hints={},
        instance_uuid='new',
    )
    hosts = []
    for item in given['hosts']:
        host = HostState(item['name'], item['name'], None)
        host.num_instances, host.cpu_info = item['servers'], {}
        host.hypervisor_type = item.get('type', 'QEMU')
        host.supported_instances = [tuple(each) for each in item.get('supports', ())]
        host.aggregates = [objects.Aggregate(metadata=each) for each in item['aggregates']]
        hosts.append(host)
    options = {'isolated_hosts': [], **given['options']}
    before = {name: CONF.filter_scheduler[name] for name in options}
    for name, value in options.items():
        CONF.set_override(name, value, 'filter_scheduler')
    try:
        running = [_filters()[name]() for name in given['filters']]
        found = filters.HostFilterHandler().get_filtered_objects(running, hosts, spec)
    finally:
        for name, value in before.items():
            CONF.set_override(name, value, 'filter_scheduler')
    return [host.host for host in found or ()]


@functools.cache
def _database():
    from nova import context
    from nova.db.api import api, models

    api.context_manager.configure(connection='sqlite://')
    models.BASE.metadata.create_all(api.get_engine())
    return context.get_admin_context()


def _put(context, aggregates):
    """Replace all aggregates in the database."""
    from nova.db.api import api, models

    with api.context_manager.writer.using(context):
        context.session.query(models.AggregateMetadata).delete()
        context.session.query(models.Aggregate).delete()
        for number, (uuid, metadata) in enumerate(aggregates.items(), start=1):
            context.session.add(models.Aggregate(id=number, uuid=uuid, name=f'aggregate {number}'))
            context.session.flush()
            for key, value in metadata.items():
                row = models.AggregateMetadata(aggregate_id=number, key=key, value=value)
                context.session.add(row)


def destination(given):
    from nova import exception, objects
    from nova.conf import CONF
    from nova.scheduler import request_filter

    context = _database()
    _put(context, given['aggregates'])
    for name in OPTIONS:
        CONF.set_override(name, name in given['options'], 'scheduler')
    flavor = {'vcpus': 1, 'memory_mb': 64, 'root_gb': 1, 'ephemeral_gb': 0, 'swap': 0}
    spec = objects.RequestSpec(
        context,
        project_id=given['project'],
        availability_zone=given.get('zone'),
        force_hosts=given.get('forced', []),
        flavor=objects.Flavor(**flavor, extra_specs=given.get('flavor', {})),
        image=objects.ImageMeta.from_dict({'properties': given.get('image', {})}),
        is_bfv=False,
        requested_resources=[],
        numa_topology=None,
        request_level_params=objects.RequestLevelParams(),
    )
    try:
        for name in (
            'isolate_aggregates',
            'require_tenant_aggregate',
            'map_az_to_placement_aggregate',
        ):
            getattr(request_filter, name)(context, spec)
    except exception.RequestFilterFailed as error:
        return {'refused': str(error)}
    asked = spec.requested_destination if 'requested_destination' in spec else None
    required, forbidden = (
        (asked and name in asked and getattr(asked, name)) or ()
        for name in ('aggregates', 'forbidden_aggregates')
    )
    return {
        'required': [sorted(any_of.split(',')) for any_of in required],
        'forbidden': sorted(forbidden),
    }


def queries(given):
    from nova import exception, objects
    from nova.conf import CONF
    from nova.scheduler import request_filter, utils
    from nova.virt import hardware

    from senlin_affinity.plugins.nova import request_filter as nova_request_filter

    context = _database()
    _put(context, given['aggregates'])
    nova_request_filter.install()
    required, forbidden = (option.dest for option in nova_request_filter.OPTIONS[:2])
    CONF.set_override(required, given.get('prefix'), 'scheduler')
    CONF.set_override(forbidden, list(filter(None, [given.get('prefix')])), 'scheduler')
    for name in QUERY_OPTIONS:
        group, _dot, key = name.partition('.')
        CONF.set_override(key, name in given['options'], group)
    try:
        spec = _spec(given)
        spec.image.name, spec.image.disk_format = 'image', given['disk_format']
        hardware.numa_get_constraints(spec.flavor, spec.image)
        spec.project_id, spec.availability_zone = given['project'], given['zone']
        spec.requested_networks = objects.NetworkRequestList(objects=[])
        spec.request_level_params = objects.RequestLevelParams()
        for ask in request_filter.ALL_REQUEST_FILTERS:
            # This filter needs the services of all cells; its result changes no answer.
            if ask is not request_filter.owner_nova_filter:
                ask(context, spec)
        both = [utils.resources_from_request_spec(context, spec, None)]
        is_pinned = both[0].cpu_pinning_requested
        if is_pinned and not CONF.workarounds.disable_fallback_pcpu_query:
            both.append(
                utils.resources_from_request_spec(
                    context, spec, None, enable_pinning_translate=False
                )
            )
    except exception.NovaException as error:
        return {'refused': str(error)}
    # Without the limit, which differs in our own requests.
    whole = [each.to_querystring().split('&') for each in both]
    return ['&'.join(part for part in each if not part.startswith('limit=')) for each in whole]


def serve():
    logging.disable(logging.ERROR)
    from nova import objects
    from nova.conf import CONF

    CONF([], default_config_files=[], default_config_dirs=[])
    CONF.set_override('isolated_hosts', [HOST], 'filter_scheduler')
    CONF.set_override('weight_setting', ['cpu=1'], 'metrics')
    objects.register_all()
    asked = demand, filters, attributes, passes, passing, destination, queries
    answers = {each.__name__: each for each in asked}
    for line in sys.stdin:
        given = json.loads(line)
        try:
            answer = answers[given.pop('ask')](given)
        except Exception:  # noqa: BLE001 (it goes to the parent)
            answer = {'failed': traceback.format_exc()}
        print(json.dumps(answer), flush=True)  # noqa: T201


if __name__ == '__main__':
    serve()
