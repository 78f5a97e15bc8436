"""What the aggregate filters compare with the metadata of a host's aggregates.

Source: RX-04, RX-05; Q0-5 for the one value that is refused.
"""

from __future__ import annotations

from senlin_affinity.core import key_states
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.extra_specs.base import ExtraSpecValidator, Namespace
from senlin_affinity.extra_specs.validators.operators import EXPRESSION


def _check(value: str) -> None:
    """``!`` stands alone: beside anything else, the filter of this project rejects every host."""
    if key_states.parse(value).fault == key_states.ILLEGAL:
        raise InvalidSpec(
            '"!" says that the key must be absent, and nothing else may stand beside it: write "!" '
            'alone; "~" is the absent key that may stand beside values'
        )


NAMESPACE = Namespace(
    name='aggregate_instance_extra_specs',
    title='Metadata of aggregates',
    summary=(
        'What the metadata of the aggregates of a host must be, for the scheduler filters '
        '``AggregateInstanceTypeFilter`` (of this project) and '
        '``AggregateInstanceExtraSpecsFilter`` (of Nova).'
    ),
    validators=(
        ExtraSpecValidator(
            name='aggregate_instance_extra_specs:{key}',
            description=(
                'What the metadata ``{key}`` of an aggregate of the host must be. The filter of '
                'this project also knows ``*`` (any value), ``!`` (the key must be absent), and '
                '``~`` within ``<or>`` (or the key is absent).'
            ),
            parameters=[
                {'name': 'key', 'type': str, 'description': 'A key of the metadata.'},
            ],
            value=EXPRESSION,
            check=_check,
        ),
    ),
)
