"""How much of a host's CPU, memory, disk and network a server may use."""

from __future__ import annotations

from senlin_affinity.extra_specs.base import ExtraSpecValidator, Namespace

_VMWARE = ('vmwareapi',)
_LIBVIRT = ('libvirt',)


_SHARES = tuple(
    validator
    for key, what, unit in (
        ('cpu', 'CPU time', 'MHz'),
        ('memory', 'memory', 'MB'),
        ('disk_io', 'disk traffic', 'Operations in a second'),
        ('vif', 'network traffic', 'Mbit in a second'),
    )
    for validator in (
        ExtraSpecValidator(
            name=f'quota:{key}_limit',
            description=f'The most {what} that a server gets, even on an idle host; 0: no limit.',
            value={'type': int, 'description': f'{unit}.', 'min': 0},
            drivers=_VMWARE,
        ),
        ExtraSpecValidator(
            name=f'quota:{key}_reservation',
            description=f'The {what} that a server gets in any case.',
            value={'type': int, 'description': f'{unit}.'},
            drivers=_VMWARE,
        ),
        ExtraSpecValidator(
            name=f'quota:{key}_shares_level',
            description=(
                f'The weight of a server where {what} is scarce; ``custom`` takes that of '
                f'``quota:{key}_shares_share``.'
            ),
            value={'type': str, 'enum': ['custom', 'high', 'normal', 'low']},
            drivers=_VMWARE,
        ),
        ExtraSpecValidator(
            name=f'quota:{key}_shares_share',
            description=f'A weight of its own for {what}, relative to that of other servers.',
            value={'type': int, 'min': 0},
            drivers=_VMWARE,
            depends_on=(f'quota:{key}_shares_level',),
        ),
    )
)

_CPU = (
    ExtraSpecValidator(
        name='quota:cpu_shares',
        description='The weight of the CPU time of a server, relative to that of other servers.',
        value={'type': int, 'min': 0},
        drivers=_LIBVIRT,
    ),
    ExtraSpecValidator(
        name='quota:cpu_period',
        description='The period in which CPU time is counted; 0: that of the host.',
        value={'type': int, 'description': 'Microseconds, 1000 to 1000000.', 'min': 0},
        drivers=_LIBVIRT,
    ),
    ExtraSpecValidator(
        name='quota:cpu_quota',
        description='The most CPU time of a guest CPU in one period; negative: no limit.',
        value={'type': int, 'description': 'Microseconds, from 1000.'},
        drivers=_LIBVIRT,
        depends_on=('quota:cpu_period',),
    ),
)

_DISK = tuple(
    ExtraSpecValidator(
        name=f'quota:disk_{way}_{unit}_sec',
        description=f'The most {what} of a disk in a second, {both}.',
        value={'type': int, 'min': 0},
        drivers=_LIBVIRT,
    )
    for way, both in (('read', 'reading'), ('write', 'writing'), ('total', 'in both directions'))
    for unit, what in (('bytes', 'bytes'), ('iops', 'operations'))
)

_NETWORK = tuple(
    ExtraSpecValidator(
        name=f'quota:vif_{way}_{key}',
        description=f'{words} of a network card, {way}.',
        value={'type': int, 'description': f'{unit}.', 'min': 0},
        drivers=_LIBVIRT,
    )
    for way in ('inbound', 'outbound')
    for key, words, unit in (
        ('average', 'The average rate', 'kB in a second'),
        ('peak', 'The highest rate', 'kB in a second'),
        ('burst', 'The amount at the highest rate', 'kB'),
    )
)

NAMESPACE = Namespace(
    name='quota',
    title='Quotas',
    summary="How much of a host's CPU, memory, disk and network a server may use.",
    validators=_SHARES + _CPU + _DISK + _NETWORK,
)
