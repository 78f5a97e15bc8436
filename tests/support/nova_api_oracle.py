"""Ask the functions that nova-api calls when it creates a server, in its order.

Nova's database, network and volumes are not needed for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import nova.conf
from nova import context, exception, objects
from nova.compute import api
from nova.pci import request as pci_request
from nova.virt import hardware

from tests.support.nova_api_combinations import Combination

objects.register_all()
_API = api.API.__new__(api.API)
_CONTEXT = context.RequestContext('user', 'project', is_admin=True)
_ALIAS = '{{"name": "{}", "vendor_id": "10de", "product_id": "1db4"}}'


def error_of(values: Combination, aliases: Iterable[str]) -> tuple[str, str] | None:
    """Return the name and the message of Nova's exception; None if nova-api accepts the server."""
    nova.conf.CONF.set_override('alias', [_ALIAS.format(each) for each in aliases], 'pci')
    flavor = objects.Flavor(
        id=1, name='f', flavorid='f', vcpus=values.vcpus, memory_mb=values.ram, root_gb=1,
        ephemeral_gb=0, swap=0, extra_specs={**values.extra_specs}, disabled=False,
    )  # fmt: skip
    try:
        _create(flavor, values.image)
    except (exception.NovaException, ValueError) as error:
        return type(error).__name__, str(error)
    finally:
        nova.conf.CONF.clear_override('alias', 'pci')
    return None


def _create(flavor: objects.Flavor, properties: Mapping[str, str]) -> None:
    """Raise what nova-api raises: ``_create_instance`` of ``nova/compute/api.py``."""

    def image():  # Nova removes properties that it read
        return {'id': 'i', 'name': 'i', 'status': 'active', 'properties': {**properties}}

    meta = api._get_image_meta_obj(image())
    hardware.numa_get_constraints(flavor, meta)
    policy = hardware.get_pci_numa_policy_constraint(flavor, meta)
    pci_request.get_pci_requests_from_flavor(flavor, affinity_policy=policy)
    if hasattr(_API, '_update_ephemeral_encryption_bdms'):  # Nova 26
        _API._update_ephemeral_encryption_bdms(flavor, image(), [])
    _API._validate_flavor_image(_CONTEXT, 'i', image(), flavor, None, validate_numa=False)
    if hasattr(hardware, 'get_sound_model'):  # Nova 32
        hardware.get_sound_model(flavor, meta)
