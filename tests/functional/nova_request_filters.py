"""Nova's own request filters, over its own database in memory: a JSON line in, a JSON line out.

Run as a process of its own (``python -m tests.functional.nova_request_filters``), since Nova's
options can not live beside those of Senlin.

Shapes::

    {"aggregates": {"<uuid>": {"filter_tenant_id": "p1"}}, "project": "p1",
     "options": ["limit_tenants_to_placement_aggregate"]}     also: flavor, image, zone, forced
    {"required": [["<uuid>"]], "forbidden": []}      or {"failed": "No hosts available for tenant"}
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = 'true'

import nova.conf
from nova import context as nova_context
from nova import exception, objects
from nova.db.api import api as database
from nova.db.api import models
from nova.scheduler import request_filter

FILTERS = (
    request_filter.isolate_aggregates,
    request_filter.require_tenant_aggregate,
    request_filter.map_az_to_placement_aggregate,
)
OPTIONS = (
    'enable_isolated_aggregate_filtering',
    'limit_tenants_to_placement_aggregate',
    'placement_aggregate_required_for_tenants',
)


def prepare() -> Any:
    """An empty database; the context of an administrator."""
    nova.conf.CONF([], project='nova', default_config_files=[])
    objects.register_all()
    database.context_manager.configure(connection='sqlite://')
    models.BASE.metadata.create_all(database.get_engine())
    return nova_context.get_admin_context()


def answer(context: Any, case: Mapping[str, Any]) -> dict[str, Any]:
    """What the filters ask of Placement, in a cloud with these aggregates."""
    _replace(context, case['aggregates'])
    for name in OPTIONS:
        nova.conf.CONF.set_override(name, name in case['options'], 'scheduler')
    flavor = {'vcpus': 1, 'memory_mb': 64, 'root_gb': 1, 'ephemeral_gb': 0, 'swap': 0}
    spec = objects.RequestSpec(
        context,
        project_id=case['project'],
        availability_zone=case.get('zone'),
        force_hosts=case.get('forced', []),
        flavor=objects.Flavor(**flavor, extra_specs=case.get('flavor', {})),
        image=objects.ImageMeta(properties=objects.ImageMetaProps.from_dict(case.get('image', {}))),
        is_bfv=False,
        requested_resources=[],
        numa_topology=None,
        request_level_params=objects.RequestLevelParams(),
    )
    try:
        for each in FILTERS:
            each(context, spec)
    except exception.RequestFilterFailed as error:
        return {'failed': str(error)}
    asked = spec.requested_destination if 'requested_destination' in spec else None
    required, forbidden = (
        asked and name in asked and getattr(asked, name)
        for name in ('aggregates', 'forbidden_aggregates')
    )
    return {
        'required': [sorted(any_of.split(',')) for any_of in required or ()],
        'forbidden': sorted(forbidden or ()),
    }


@database.context_manager.writer
def _replace(context: Any, aggregates: Mapping[str, Mapping[str, str]]) -> None:
    """These aggregates in place of all that were there."""
    context.session.query(models.AggregateMetadata).delete()
    context.session.query(models.Aggregate).delete()
    for number, (uuid, metadata) in enumerate(aggregates.items(), start=1):
        context.session.add(models.Aggregate(id=number, uuid=uuid, name=f'aggregate {number}'))
        context.session.flush()
        for key, value in metadata.items():
            context.session.add(models.AggregateMetadata(aggregate_id=number, key=key, value=value))


def main() -> None:
    """Answer every line until there are no more."""
    context = prepare()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(context, json.loads(line))) + '\n')
        sys.stdout.flush()


if __name__ == '__main__':
    main()
