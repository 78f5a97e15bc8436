"""Define the extra specs of flavors, and validate them.

This project's definitions are in :mod:`.validators`; installed packages add more
(:mod:`.registry`).
"""

from senlin_affinity.extra_specs.findings import (
    MODES,
    OFF,
    PERMISSIVE,
    STRICT,
    Finding,
    findings,
    same_names,
    validate,
    validate_all,
)

__all__ = [
    'MODES',
    'OFF',
    'PERMISSIVE',
    'STRICT',
    'Finding',
    'findings',
    'same_names',
    'validate',
    'validate_all',
]
