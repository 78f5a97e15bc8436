"""The extra specs that ACME's scheduler filter reads."""

from senlin_affinity.extra_specs.base import ExtraSpecValidator


def check_window(text: str) -> None:
    """Refuse what a pattern does not say: a window that ends before it begins."""
    begin, end = map(int, text.split('-'))
    if begin >= end:
        raise ValueError(f'must begin before it ends, not {text!r}')


VALIDATORS = [
    ExtraSpecValidator(
        name='acme:rack',
        description='The rack in which the servers run.',
        value={'type': str, 'pattern': r'r[0-9]+', 'description': 'Such as ``r12``.'},
    ),
    ExtraSpecValidator(
        name='acme:disks.{bus}',
        description='How many disks of their own the servers get on the bus ``{bus}``.',
        parameters=[{'name': 'bus', 'pattern': r'nvme|sata', 'description': 'The bus.'}],
        value={'type': int, 'min': 1, 'max': 8},
        drivers=['libvirt'],
        depends_on=['acme:rack'],
    ),
    ExtraSpecValidator(
        name='acme:maintenance',
        description='When the host may be taken down.',
        value={'type': str, 'pattern': r'\d\d?-\d\d?', 'description': 'Hours, such as ``2-5``.'},
        check=check_window,
    ),
    ExtraSpecValidator(
        name='acme:cage',
        description='The cage in which the servers run.',
        value={'type': str},
        deprecated=True,
        replaced_by='acme:rack',
    ),
]
