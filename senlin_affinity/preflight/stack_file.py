"""Read the requests of a file: our own list, a Terraform plan, or a Heat template.

Raises: InvalidSpec for anything else, as the readers do.
"""

from __future__ import annotations

from collections.abc import Mapping

from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.preflight import heat_template, stack_yaml, terraform_plan
from senlin_affinity.preflight.workload import Workload

_FORMS = (
    'must be a list of servers (with the key servers), the JSON of a Terraform plan, or a Heat '
    'template'
)


def read(document: object, parameters: Mapping[str, str]) -> Workload:
    """Return the requests of a parsed file.

    :param parameters: values for the parameters of a Heat template, which no other file has.
    """
    if isinstance(document, Mapping) and heat_template.VERSION in document:
        return heat_template.read(document, parameters)
    if parameters:
        raise InvalidSpec('has no parameters: only a Heat template has', '--parameter')
    if isinstance(document, Mapping) and terraform_plan.VERSION in document:
        return terraform_plan.read(document)
    if isinstance(document, Mapping) and 'servers' in document:
        return stack_yaml.read(document)
    if isinstance(document, Mapping) and 'format' in document:
        raise InvalidSpec('is a snapshot of a cloud: use --snapshot')
    raise InvalidSpec(_FORMS)
