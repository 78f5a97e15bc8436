"""The extra specs of the flavor that a cluster's profile names, judged before the policy acts.

Modes: ``strict`` refuses invalid values, names that nothing defines, and a flavor that is not
there; ``permissive`` refuses invalid values only, and says the rest; ``off`` reads nothing.

Errors: InvalidExtraSpec with all that is wrong, InvalidSpec for a missing flavor, CloudError.

Source: document 004; that a policy asks is this project's. It judges flavors that others made,
which is why ``permissive`` is its default.
"""

from __future__ import annotations

from senlin_affinity import extra_specs
from senlin_affinity.core.errors import InvalidExtraSpec, InvalidSpec
from senlin_affinity.core.ports import Inventory
from senlin_affinity.policy.matching import saying
from senlin_affinity.policy.properties import Properties


def check(properties: Properties, name: str | None, inventory: Inventory) -> str:
    """Judge the flavor with this name or id (None: the profile names none); '' says nothing."""
    mode = properties.extra_specs
    if name is None or mode == 'off':
        return ''
    with saying(f"Failed in retrieving flavor '{name}'."):
        flavor = inventory.flavor(name)
    if flavor is None:
        words = f"the flavor '{name}' of the profile is not there"
        if mode == 'strict':
            raise InvalidSpec(f'{words}: name one that the project may use', 'properties.flavor')
        return f'{words}: its extra specs are not checked'
    try:
        let_through = extra_specs.validate_all(flavor.extra_specs, mode)
    except InvalidExtraSpec as error:
        of_flavor = (f"flavor '{flavor.name}': {each}" for each in error.errors)
        raise InvalidExtraSpec(of_flavor) from error
    said = '; '.join(map(str, let_through))
    return said and f"flavor '{flavor.name}': {said}"
