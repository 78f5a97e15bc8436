"""A server that exists, as nova-api shows it to an administrator, with its request.

Example::

    Server('2f0c...', 'web-1', 'ACTIVE', host='cmp-1', flavor=small, pinned_zone='az-1')

Units: memory in MiB, disk in GiB. A field that this Nova does not show has its default, and is
named in ``unknown``.

Source: the compute API reference: the embedded flavor from 2.47, ``locked`` from 2.9,
``pinned_availability_zone`` from 2.96, the image's properties from 2.98, ``scheduler_hints`` from
2.100.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.value import Amount, Texts, Value


class Server(Value, frozen=True):
    """A server and the request that it was created by.

    ``host`` is the service host, None for a server without one. ``status`` and ``task_state`` are
    Nova's (``ACTIVE``, ``SHUTOFF``; ``migrating``, None). ``flavor`` is the one embedded in the
    server, which may differ from the flavor of this name by now; None if unknown.
    ``availability_zone`` is that of its host, ``pinned_zone`` the one that the server must stay in
    (None: any). ``hints`` are the scheduler hints without ``group``. ``server_group`` is the id of
    its group. ``image`` is the id of the image that it was created from, and ``image_properties``
    are the properties of this image, with the traits if Glance still has it; ``image_min_ram`` is
    the memory that it requires. ``attached`` is the number of attached volumes. ``unknown`` has the
    names of the fields that this Nova does not show. ``allocated`` is what Placement has allocated
    for it, by resource class, if that was read and differs from what the flavor requests.
    """

    id: str
    name: str
    status: str
    host: str | None = None
    hypervisor_hostname: str | None = None
    task_state: str | None = None
    project_id: str | None = None
    user_id: str | None = None
    flavor: Flavor | None = None
    availability_zone: str | None = None
    pinned_zone: str | None = None
    hints: Mapping[str, Any] = {}
    server_group: str | None = None
    image: str | None = None
    image_properties: Mapping[str, str] = {}
    image_min_ram: Amount = 0
    is_volume_booted: bool = False
    is_locked: bool = False
    attached: int = 0
    unknown: Texts = Texts()
    allocated: Mapping[str, Amount] = {}
