"""Extra specs that are valid one by one, and that nova-api rejects together."""

import pytest

from senlin_affinity.extra_specs.combinations import errors, notes
from senlin_affinity.extra_specs.releases import Releases

PAGES = {'hw:mem_page_size': '1G'}
BOTH = {'hw:cpu_policy': 'dedicated', 'resources:PCPU': '1', 'hw:boot_menu': 'true'}
NODES = {'hw:cpu_policy': 'dedicated', 'hw:numa_nodes': '2'}


@pytest.mark.parametrize(
    ('extra_specs', 'size', 'names'),
    [
        (PAGES, (), {'hw:mem_page_size'}),
        (BOTH, (), {'hw:cpu_policy', 'resources:PCPU'}),
        (NODES, (), set()),
        ({'hw:cpu_policy': 'dedicated'}, (1, 512), set()),
        ({'hw:mem_page_size': 5}, (), set()),
        ({}, (1, 512), set()),
    ],
)
def test_errors_are_about_the_extra_specs_of_the_broken_rule(extra_specs, size, names):
    assert errors(extra_specs, None, *size).keys() == names


def test_an_error_names_the_exception_of_nova_and_what_to_use():
    assert errors(PAGES)['hw:mem_page_size'] == (
        'nova-api answers 400 because of hw:mem_page_size=1G: MemoryPageSizeInvalid ("Invalid '
        'memory page size"); use a page size such as large, 2048 (KiB) or 1GB'
    )


def test_a_note_says_what_is_not_checked():
    assert notes({'hw:cpu_thread_policy': 'require', 'hw:boot_menu': 'true'}) == {
        'hw:cpu_thread_policy': 'not checked, because the image decides: nova-api answers 400 '
        '(CPUThreadPolicyConfigurationInvalid) for an image without properties'
    }
    assert notes({'hw:numa_nodes': '2'}) == {
        'hw:numa_nodes': 'some rules are not checked: they need the CPUs of the flavor'
    }
    assert notes({'hw:cpu_policy': 'dedicated'}) == {}
    alias = notes({'pci_passthrough:alias': 'gpu:1'})['pci_passthrough:alias']
    assert alias.endswith('they need the PCI aliases of nova-api')
    assert notes({'hw:boot_menu': 'true'}) == {}


def test_nothing_is_claimed_about_an_older_release():
    assert errors({'hw:cpu_policy': 'mixed'}, Releases(24, 24)) != {}
    assert notes({'hw:locked_memory': 'true'}, Releases(26, 27)) != {}
    assert notes({'hw:locked_memory': 'true'}, Releases(24, 25)) == {}
