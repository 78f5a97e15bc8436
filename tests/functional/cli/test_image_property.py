"""``senlin-affinity image-property validate``, ``list`` and ``export``."""

import json
import shlex
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / 'doc/source/reference/image-properties.rst'


def test_the_manual_shows_a_run(run):
    block = PAGE.read_text().split(':name: image-property-validate\n\n')[1].split('\n\n')[0]
    words, lines = block.replace('\\\n', '').split('\n', 1)
    done = run(*shlex.split(words)[2:])
    assert (done.returncode, done.stderr) == (3, '')
    assert done.stdout == ''.join(f'{line.strip()}\n' for line in lines.split('\n'))


def rows_of(run, *arguments, status=0):
    done = run('image-property', *arguments, '-f', 'json')
    assert (done.returncode, done.stderr) == (status, '')
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ('given', 'mode', 'status', 'verdict', 'message'),
    [
        ('hw_cpu_policy=dedicated', 'strict', 0, 'valid', ''),
        ('hw_vif_model=VirtualE1000', 'strict', 0, 'valid', ''),
        ('hw_numa_cpus.1=0-3,^2', 'strict', 0, 'valid', ''),
        ('vmware_ostype=debian', 'strict', 0, 'valid', 'deprecated: use os_distro'),
        ('img_bittorrent=true', 'strict', 0, 'valid', 'deprecated'),
        (
            'hw_pmu=enabled',
            'strict',
            0,
            'let through',
            "Nova reads 'enabled' as false: write true or f",
        ),
        ('hw_cpu_policy=shard', 'strict', 3, 'invalid', 'did you mean shared?'),
        ('hw_numa_cpus.0=3-1', 'permissive', 3, 'invalid', "must not have the range '3-1'"),
        ('img_hv_requested_version=1.0', 'permissive', 3, 'invalid', 'such as >=1.2,<2'),
        ('img_hv_requested_version=>=x', 'permissive', 3, 'invalid', "'x'"),
        ('mappings=[]', 'strict', 0, 'valid', ''),
        ('mappings={}', 'strict', 3, 'invalid', 'a list of mappings of names to texts, in JSON'),
        ('img_mappings=[]', 'strict', 3, 'invalid', 'property from an image: set mappings'),
        ('vmware_adaptertype=IDE', 'strict', 3, 'invalid', "must be 'ide' in lower case"),
        ('hw_numa_cpus=0', 'strict', 3, 'invalid', 'did you mean hw_numa_cpus.{num}?'),
        ('hw:cpu_policy=shared', 'strict', 3, 'invalid', 'did you mean hw_cpu_policy?'),
        ('colour=red', 'strict', 3, 'invalid', 'of this name is known: use the mode permissive'),
        ('colour=red', 'permissive', 0, 'let through', 'no image property of this name is known'),
        ('hw_cpu_policy=shard', 'off', 0, 'not checked', ''),
    ],
)
def test_validate(run, given, mode, status, verdict, message):
    """Document 004, use case 1."""
    (row,) = rows_of(run, 'validate', given, '--mode', mode, status=status)
    assert ([row['name'], row['value']], row['verdict']) == (given.split('=', 1), verdict)
    assert message in row['message']
    assert bool(row['message']) == bool(message)


@pytest.mark.parametrize(
    ('release', 'status', 'message'),
    [
        ('26', 3, 'Nova 26 ignores this property; Nova 32 reads it'),
        ('33.0.2', 3, 'Nova 33.0 does not know the value intel-tdx, but Nova 34 does'),
        ('34', 0, ''),
    ],
)
def test_the_release_of_nova_decides(run, release, status, message):
    specs = ('hw_pmu=true', 'hw_mem_encryption_model=intel-tdx')
    rows = rows_of(run, 'validate', *specs, '--nova-release', release, status=status)
    assert rows[0]['verdict'] == 'valid'
    assert rows[1]['message'] == message
