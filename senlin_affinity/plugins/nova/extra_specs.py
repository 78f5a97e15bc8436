"""Add the keys of this project and of installed packages to nova-api's extra spec validators.

At its start, nova-api calls each entry point of ``nova.api.extra_spec_validators``
(:func:`register`). From microversion 2.86 it accepts these names and checks their values.

Nova keeps validators by name, and the last one wins. Ours replaces
``aggregate_instance_extra_specs:{key}`` in the list of Nova's module, so that the load order does
not matter.

Raises: Nova's ValidationError (a 400) for an invalid value. PluginError for a package that does not
load, which prevents nova-api from starting. Nova's modules are imported late, so that this module
always loads: Nova 34's handler for that failure itself fails (it reads ``module_name``, which entry
points lack).
"""

from __future__ import annotations

import importlib
from dataclasses import asdict

from senlin_affinity.extra_specs.base import ExtraSpecValidator
from senlin_affinity.extra_specs.registry import installed
from senlin_affinity.model.terminal_text import escaped
from senlin_affinity.plugins import plain_log
from senlin_affinity.plugins.nova import options

LOG = plain_log.get('senlin_affinity.plugins.nova_extra_specs')

#: This project's own definitions; Nova has all others.
AGGREGATE_VALUES = 'aggregate_instance_extra_specs:{key}'
OWN = (AGGREGATE_VALUES, 'force_metadata_check', 'reservation:{id}')
_IN_TREE = 'nova.api.validation.extra_specs.aggregate_instance_extra_specs'


class NovaValidator:
    """A definition with the attributes of Nova's class.

    nova-api finds the definition of a name by the pattern ``name_regex``.
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
        """Raise Nova's own error for an invalid value."""
        found = self.definition.complaint(value)
        if found is not None:
            from nova import exception  # not needed before a value is invalid

            raise exception.ValidationError(escaped(f'Validation failed; {name}: {found}'))


def register() -> list[NovaValidator]:
    """Return the validators for nova-api; none if ``validate_extra_specs`` is false."""
    if not options.settings().validate_extra_specs:
        return []
    registry = installed()
    own = [validator for validator in registry.own if validator.name in OWN]
    ours = [NovaValidator(validator) for validator in (*own, *registry.added)]
    for validator in ours:
        if validator.name == AGGREGATE_VALUES:
            _replace(validator)
    return ours


def _replace(ours: NovaValidator) -> None:
    """Replace Nova's validator of the same name, or log a warning if there is none."""
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
            "Nova's validator of %s was not found in %s, so nova-api may use either validator",
            ours.name,
            _IN_TREE,
        )
