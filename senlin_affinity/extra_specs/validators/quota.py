"""Declare the extra specs that limit a server's use of CPU, memory, disk and network."""

from __future__ import annotations

from senlin_affinity.extra_specs.base import ExtraSpecValidator
from senlin_affinity.extra_specs.values import Value


def _libvirt(
    key: str, description: str, unit: str = '', min: int | None = 0, *needs: str
) -> ExtraSpecValidator:
    name, value = f'quota:{key}', Value(int, unit, min=min)
    return ExtraSpecValidator(name, description, value, drivers=('libvirt',), depends_on=needs)


def _vmware(key: str, what: str, unit: str) -> tuple[ExtraSpecValidator, ...]:
    def spec(suffix: str, description: str, value: Value, *needs: str) -> ExtraSpecValidator:
        name = f'quota:{key}_{suffix}'
        return ExtraSpecValidator(
            name, description, value, drivers=('vmwareapi',), depends_on=needs
        )

    return (
        spec(
            'limit',
            f'The maximum {what} that a server gets, even on an idle host; 0: no limit.',
            Value(int, unit, min=0),
        ),
        spec('reservation', f'The guaranteed {what} of a server.', Value(int, unit)),
        spec(
            'shares_level',
            f'The weight of a server if {what} is scarce; ``custom``: the value of '
            f'``quota:{key}_shares_share``.',
            Value(str, enum=('custom', 'high', 'normal', 'low')),
        ),
        spec(
            'shares_share',
            f'A custom weight for {what}, relative to other servers.',
            Value(int, min=0),
            f'quota:{key}_shares_level',
        ),
    )


VALIDATORS = (
    *_vmware('cpu', 'CPU time', 'MHz.'),
    *_vmware('memory', 'memory', 'MB.'),
    *_vmware('disk_io', 'disk traffic', 'Operations per second.'),
    *_vmware('vif', 'network traffic', 'Mbit per second.'),
    _libvirt('cpu_shares', 'The weight of a server for CPU time, relative to other servers.'),
    _libvirt(
        'cpu_period',
        'The period in which CPU time is counted; 0: the period of the host.',
        'Microseconds, 1000 to 1000000.',
    ),
    _libvirt(
        'cpu_quota',
        'The maximum CPU time of a guest CPU in one period; negative: no limit.',
        'Microseconds, from 1000.',
        None,
        'quota:cpu_period',
    ),
    *(
        _libvirt(f'disk_{way}_{unit}_sec', f'The maximum {what} per second {which} a disk.')
        for way, which in (
            ('read', 'for reads from'),
            ('write', 'for writes to'),
            ('total', 'for reads from and writes to'),
        )
        for unit, what in (('bytes', 'bytes'), ('iops', 'operations'))
    ),
    *(
        _libvirt(f'vif_{way}_{key}', f'{words} of {way} traffic of a network card.', unit)
        for way in ('inbound', 'outbound')
        for key, words, unit in (
            ('average', 'The average rate', 'kB per second.'),
            ('peak', 'The maximum rate', 'kB per second.'),
            ('burst', 'The amount at the maximum rate', 'kB.'),
        )
    ),
)
