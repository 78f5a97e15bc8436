"""The pages for operators of Nova agree with the policy files and the validators."""

import pytest
import yaml

from senlin_affinity.plugins.nova import extra_specs
from tests.unit.docs.test_manual import ROOT, table, text_of

RIGHTS = ROOT / 'etc/senlin-affinity/rights'


def rules(name):
    return yaml.safe_load((RIGHTS / f'{name}.yaml').read_text(encoding='utf-8'))


def test_the_page_lists_the_granted_rights():
    """``test_read_only_account`` checks that each of them is sufficient and necessary."""
    granted = [*rules('nova-reader'), *rules('placement-reader')]
    assert [row[0] for row in table(text_of('howto/nova-only.rst'), 'reader-rights')] == granted


@pytest.mark.parametrize('service', ['nova', 'placement'])
def test_the_rights_of_the_policy_stay_granted(service):
    """A file in policy.d takes precedence over the same rule in policy.yaml."""
    for rule, value in rules(f'{service}-reader').items():
        assert value.endswith(' or role:senlin_affinity_reader')
        before = rules(service).get(rule)
        assert before is None or value.startswith(f'{before} or ')


def test_the_page_names_the_extra_specs_that_nova_api_then_validates():
    page = text_of('howto/nova-api.rst')
    assert all(f'``{name}``' in page for name in extra_specs.OWN)
