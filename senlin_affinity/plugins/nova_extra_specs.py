"""What nova-api itself does not define: the keys of this project, and what packages define for it.

Data flow: at its start, nova-api asks each entry point of ``nova.api.extra_spec_validators`` for a
list (:func:`register`); from microversion 2.86 it takes these names, and checks their values.

Nova keeps the validators by their names, and of two with one name the one that comes last. Its own
of ``aggregate_instance_extra_specs:{key}`` takes every value; ours takes its place in the list that
Nova's module registers, so that both give the same one, in whatever order they are asked.

Errors: a wrong value is Nova's ValidationError (a 400). PluginError for a package that does not
load: nova-api does not start with it. Loading this module never fails. (What Nova 34 does
about a module that does not load fails itself: it reads ``module_name``, which entry points no
longer have. So Nova's modules are imported late.)

Source: document 004; ``nova/api/validation/extra_specs``. Here, too, names are literal outside
their placeholders.
"""

from __future__ import annotations

import importlib
from dataclasses import asdict

from oslo_log import log as logging

from senlin_affinity.extra_specs.base import ExtraSpecValidator
from senlin_affinity.extra_specs.registry import installed

LOG = logging.getLogger(__name__)

#: Of this project's own; all others are Nova's as well.
AGGREGATE_VALUES = 'aggregate_instance_extra_specs:{key}'
OWN = (AGGREGATE_VALUES, 'force_metadata_check', 'reservation:{id}')
#: Nova's module with the validator whose place ours takes.
_IN_TREE = 'nova.api.validation.extra_specs.aggregate_instance_extra_specs'


class NovaValidator:
    """A definition with the attributes of Nova's class, and what nova-api asks of it.

    ``name_regex`` is the pattern by which nova-api finds the definition of a name.
    """

    def __init__(self, definition: ExtraSpecValidator) -> None:
        self.definition = definition
        self.name, self.description = definition.name, definition.description
        self.deprecated = definition.deprecated
        value = definition.value
        limits = {'min': value.min, 'max': value.max, 'pattern': value.pattern, 'enum': value.enum}
        given = {key: each for key, each in limits.items() if each not in (None, ())}
        self.value = {'type': value.type, 'description': value.description, **given}
        self.parameters = [asdict(each) for each in definition.parameters]
        self.name_regex = ':'.join(part.pattern for part in definition.parts if part is not None)

    def validate(self, name: str, value: object) -> None:
        """Raise Nova's own error for a wrong value."""
        found = self.definition.complaint(value)
        if found is not None:
            from nova import exception  # not needed to be found, or to be looked at

            raise exception.ValidationError(f'Validation failed; {name}: {found}')


def register() -> list[NovaValidator]:
    """What nova-api calls."""
    registry = installed()
    own = [validator for validator in registry.own if validator.name in OWN]
    ours = [NovaValidator(validator) for validator in (*own, *registry.added)]
    for validator in ours:
        if validator.name == AGGREGATE_VALUES:
            _replace(validator)
    return ours


def _replace(ours: NovaValidator) -> None:
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
