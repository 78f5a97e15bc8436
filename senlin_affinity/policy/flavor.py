"""Check the extra specs of the flavor in a cluster's profile.

Units: the mode ``strict`` rejects invalid values, unknown names, and a missing flavor;
``permissive`` rejects invalid values only, and reports the rest, also names that the release of
Nova in use does not know; ``off`` reads nothing.

Extra specs that nova-api rejects together, whatever the image, are a mistake in both modes.

Raises: InvalidExtraSpec with all mistakes, InvalidSpec for a missing flavor, CloudError.

Source: Nova's specification "Flavor Extra Spec Validators". Deviation: ``permissive`` is the
default, because others may have created the flavor.
"""

from __future__ import annotations

from senlin_affinity import extra_specs
from senlin_affinity.extra_specs import combinations
from senlin_affinity.extra_specs.releases import Releases
from senlin_affinity.model.errors import InvalidExtraSpec, InvalidSpec
from senlin_affinity.model.ports import Inventory
from senlin_affinity.policy.group_lookup import saying
from senlin_affinity.policy.properties import PolicySpec


def check(properties: PolicySpec, name: str | None, inventory: Inventory) -> str:
    """Check the flavor with this name or id, and return what a log should report, or ''.

    '' also if the name is None (the profile has no flavor).
    """
    mode = properties.extra_specs
    if name is None or mode == 'off':
        return ''
    with saying(f"Failed in retrieving flavor '{name}'."):
        flavor = inventory.flavor(name)
    if flavor is None:
        words = f"the flavor '{name}' of the profile does not exist"
        if mode == 'strict':
            raise InvalidSpec(
                f'{words}: name a flavor that the project can use', 'properties.flavor'
            )
        return f'{words}: its extra specs are not checked'
    nova = Releases.of_microversion(inventory.highest_microversion())
    try:
        let_through = extra_specs.validate_all(flavor.extra_specs, mode, nova=nova)
    except InvalidExtraSpec as error:
        of_flavor = (f"flavor '{flavor.name}': {each}" for each in error.errors)
        raise InvalidExtraSpec(of_flavor) from error
    together = combinations.errors(flavor.extra_specs, nova, flavor.vcpus, flavor.ram)
    if together:
        raise InvalidExtraSpec(f"flavor '{flavor.name}': {words}" for words in {*together.values()})
    findings = '; '.join(map(str, let_through))
    return findings and f"flavor '{flavor.name}': {findings}"
