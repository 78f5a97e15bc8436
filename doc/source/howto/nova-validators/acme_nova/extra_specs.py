"""The extra specs that ACME's scheduler filter reads, by Nova's own class."""

from nova.api.validation.extra_specs import base

VALIDATORS = [
    base.ExtraSpecValidator(
        name='acme:rack',
        description='The rack in which the servers run.',
        value={'type': str, 'pattern': r'r[0-9]+'},
    ),
    base.ExtraSpecValidator(
        name='acme:disks.{bus}',
        description='How many disks of their own the servers get on the bus ``{bus}``.',
        parameters=[{'name': 'bus', 'pattern': 'nvme|sata', 'description': 'The bus.'}],
        value={'type': int, 'min': 1, 'max': 8},
    ),
    base.ExtraSpecValidator(
        name='acme:tier',
        description='The tier of the racks.',
        value={'type': str, 'enum': ['gold', 'silver']},
    ),
    base.ExtraSpecValidator(
        name='acme:cooled',
        description='Only racks with cooling.',
        value={'type': bool},
        deprecated=True,
    ),
]
