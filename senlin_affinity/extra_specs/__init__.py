"""What a flavor may ask for in its extra specs, and how that is checked.

Document 004: every extra spec has a definition (:mod:`.base`), this project's own are in
:mod:`.validators`, others come from installed packages (:mod:`.registry`).
"""

from senlin_affinity.extra_specs.judge import (
    MODES,
    OFF,
    PERMISSIVE,
    STRICT,
    Finding,
    judge,
    validate,
    validate_all,
)

__all__ = ['MODES', 'OFF', 'PERMISSIVE', 'STRICT', 'Finding', 'judge', 'validate', 'validate_all']
