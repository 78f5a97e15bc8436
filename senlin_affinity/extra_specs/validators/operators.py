"""The values of keys that a scheduler filter compares with what a host says: any string.

What is not one of the operators is compared as it stands, so no string is wrong.
"""

from __future__ import annotations

from senlin_affinity.extra_specs.values import Value

EXPRESSION = Value(
    str,
    description=(
        'A value to be equal to; or an operator and what it takes. Numbers: ``=`` (at least), '
        '``==``, ``!=``, ``>=``, ``<=``. Strings: ``s==``, ``s!=``, ``s<``, ``s<=``, ``s>``, '
        '``s>=``, ``<in>`` (holds this), ``<all-in>`` (holds all of these), ``<or>`` (is one of '
        'these): ``<or> a <or> b``.'
    ),
)
