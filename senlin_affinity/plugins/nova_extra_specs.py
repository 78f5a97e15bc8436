"""The validators of the aggregate filter's keys, for nova-api.

The way of the data: nova-api loads the entry points of ``nova.api.extra_spec_validators`` when it
starts and asks each for its list (:func:`register`); from microversion 2.86 on it then asks the
validator of a name about every value that somebody sets.

Nova keeps the validators by their names, and of two with one name the one that comes last. Its own
of ``aggregate_instance_extra_specs:{key}`` takes every value; ours takes its place in the list that
Nova's module registers, so that both give the same one, in whatever order they are asked.

Errors: a malformed value is Nova's ValidationError (a 400). Neither loading nor registering may
raise: nova-api would not start. (What Nova 34 does about a module that does not load fails itself:
it reads ``module_name``, which entry points no longer have. So Nova's module is imported late.)

Source: document 004, section 5 (RX-04, RX-05); the rule of a value is that of
:mod:`senlin_affinity.core.key_states` (Q0-5, R0-12, R0-32); ``nova/api/validation/extra_specs``.
"""

from __future__ import annotations

import importlib
from typing import Any

from nova import exception
from nova.api.validation.extra_specs import base
from oslo_log import log as logging

from senlin_affinity.core import key_states
from senlin_affinity.core.aggregate_metadata import FLAVOR, SCOPE
from senlin_affinity.core.aggregate_reasons import REASONS
from senlin_affinity.core.host_metadata import FORCE
from senlin_affinity.core.reasons import sentence
from senlin_affinity.core.verdict import Verdict

LOG = logging.getLogger(__name__)

#: Nova's module with the validator whose place ours takes.
_IN_TREE = 'nova.api.validation.extra_specs.aggregate_instance_extra_specs'


class AggregateValueValidator(base.ExtraSpecValidator):
    """Takes what the aggregate filter can match, and says what is wrong with the rest."""

    def validate(self, name: str, value: str) -> None:
        """Raise Nova's ValidationError for a value that is malformed."""
        super().validate(name, value)
        fault = key_states.parse(value).fault
        if fault:
            verdict = Verdict.rejected(
                f'aggregate_metadata.{fault}', key=name, value=value, where=FLAVOR
            )
            words, advice = sentence(verdict, REASONS), REASONS[verdict.code].advice
            raise exception.ValidationError(f'Validation failed; {words}. You could {advice}.')


AGGREGATE_VALUES = AggregateValueValidator(
    name=f'{SCOPE}{{key}}',
    description=(
        'What the metadata of the aggregates of a host must hold under this key. The value is a '
        'text, "*" for any value, "~" or "!" for a key that must be absent, an operator with its '
        'operand (=, ==, !=, >=, <=, s==, s!=, s<, s<=, s>, s>=, <in>, <all-in>), or several '
        'texts and sentinels, each after "<or>"; "!" stands alone. Needs the '
        "AggregateInstanceTypeFilter, or, without the sentinels, Nova's "
        'AggregateInstanceExtraSpecsFilter.'
    ),
    parameters=[
        {'name': 'key', 'description': 'The key of the metadata.', 'pattern': r'.+'},
    ],
    value={'type': str},
)
FORCED = base.ExtraSpecValidator(
    name=FORCE,
    description=(
        'Reserved for the metadata of aggregates, where it turns the check of the '
        'AggregateInstanceTypeFilter round. The filter ignores it in a flavor.'
    ),
    value={'type': bool},
)


def register() -> list[Any]:
    """Our validators, for nova-api."""
    _replace(AGGREGATE_VALUES)
    return [AGGREGATE_VALUES, FORCED]


def _replace(ours: AggregateValueValidator) -> None:
    """Put ours into Nova's own list, where Nova has a validator of that name."""
    try:
        known = importlib.import_module(_IN_TREE).EXTRA_SPEC_VALIDATORS
        for place in [i for i, item in enumerate(known) if item.name == ours.name]:
            known[place] = ours
        is_replaced = ours in known
    except Exception:
        LOG.debug('%s is not as expected', _IN_TREE, exc_info=True)
        is_replaced = False
    if not is_replaced:
        LOG.warning(
            '%s was not found in %s: which validator of it counts depends on the order in which '
            'nova-api loads them',
            ours.name,
            _IN_TREE,
        )
