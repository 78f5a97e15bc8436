"""The reservations of hosts, as aggregates carry them."""

from __future__ import annotations

from senlin_affinity.extra_specs.base import ExtraSpecValidator, Namespace

NAMESPACE = Namespace(
    name='reservation',
    title='Reservations',
    summary='Hosts that are kept for some flavors, by a key of the metadata of their aggregate.',
    validators=(
        ExtraSpecValidator(
            name='reservation:{id}',
            description=(
                'Servers go to the aggregates that carry the same key in their metadata, and to no '
                'other. Only the key counts.'
            ),
            parameters=[{'name': 'id', 'type': str, 'description': 'The name of the reservation.'}],
            value={'type': str},
        ),
    ),
)
