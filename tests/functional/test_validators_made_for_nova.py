"""Validator packages that use Nova's base class work in Senlin's engine and in nova-api.

Nova and Senlin register options with the same names, so an engine cannot import Nova.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from senlin_affinity.sandbox.cloud import SandboxCloud
from tests.support.cloud_fixtures import Tenant

ROOT = Path(__file__).parents[2]
GROUP = 'nova.extra_spec_validators'
EXAMPLE = ROOT / 'doc/source/howto/nova-validators'
#: The manual's example, which also prints, counts its imports, and registers like Nova's.
ACME = f"""
{(EXAMPLE / 'acme_nova/extra_specs.py').read_text(encoding='utf-8')}

import os
from pathlib import Path

print('acme is loaded')
if 'ACME_LOADED' in os.environ:
    with Path(os.environ['ACME_LOADED']).open('a') as file:
        file.write('once\\n')


def register():
    return VALIDATORS
"""
OTHER = """
from senlin_affinity.extra_specs.base import ExtraSpecValidator

VALIDATORS = [ExtraSpecValidator('other:key', 'Another.', {'type': int})]
"""


def install(folder, name, code, group=GROUP, attribute='VALIDATORS'):
    """Create an installed package."""
    folder.mkdir(exist_ok=True)
    (folder / f'{name}.py').write_text(code)
    info = folder / f'{name}-1.0.dist-info'
    info.mkdir()
    (info / 'METADATA').write_text(f'Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n')
    target = f'{name}:{attribute}' if attribute else name
    (info / 'entry_points.txt').write_text(f'[{group}]\n{name} = {target}\n')


@pytest.fixture
def folder(tmp_path):
    return tmp_path / 'packages'


@pytest.fixture
def environment(folder, tmp_path):
    return {
        **os.environ,
        'PYTHONPATH': os.pathsep.join(map(str, (folder, ROOT))),
        'XDG_CACHE_HOME': str(tmp_path),
        'ACME_LOADED': str(tmp_path / 'loaded'),
    }


@pytest.fixture
def engine(environment, tmp_path):
    """Return a function that runs cases in an engine's process and returns the answers."""

    def run(*cases, code=None):
        words = ['-c', code] if code else ['-m', 'tests.functional.engine_process']
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', *words],
            input=''.join(f'{json.dumps(case)}\n' for case in cases),
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run


def case(mode='strict', clusters=1, *, specs):
    return {'specs': specs, 'mode': mode, 'clusters': clusters}


VALID = {
    'acme:rack': 'r12',
    'acme:disks.nvme': '2',
    'acme:tier': 'gold',
    'acme:cooled': 'true',
    'hw:cpu_policy': 'shared',
}
INVALID = [
    ({'acme:rack': '12'}, "acme:rack: must be of the form r[0-9]+, not '12'"),
    ({'acme:disks.nvme': '9'}, 'acme:disks.nvme: must be a whole number from 1 to 8'),
    ({'acme:tier': 'gild'}, 'acme:tier: must be one of gold, silver'),
    ({'acme:cooled': 'cold'}, 'acme:cooled: must be a boolean'),
    ({'acme:rock': 'r12'}, 'acme:rock: no extra spec of this name is known'),
]


@pytest.mark.long
def test_an_engine_uses_a_package_with_novas_base_class(folder, engine):
    """R4-13, Q4-4: it is read once, while other green threads run, without Nova in the engine."""
    install(folder, 'acme', ACME)
    install(folder, 'other', OTHER)
    first, *rejected, permissive, other = engine(
        case(specs=VALID, clusters=2),
        *(case(specs=specs) for specs, _ in INVALID),
        case('permissive', specs={'acme:rack': '12', 'acme:rock': 'r12'}),
        case(specs={'other:key': 'x'}),
    )

    assert [done for done, _ in first['answers']] == [True, True], first
    assert first['other']
    for answer, (_, words) in zip(rejected, INVALID, strict=True):
        ((done, message),) = answer['answers']
        assert (done, words in message) == (False, True), message
    ((done, message),) = permissive['answers']
    assert (done, 'acme:rack' in message, 'acme:rock' in message) == (False, True, False), message
    ((done, message),) = other['answers']
    assert (done, 'other:key: must be a whole number' in message) == (False, True), message
    assert {tuple(each['nova']) for each in (first, *rejected, permissive, other)} == {()}
    assert (folder.parent / 'loaded').read_text() == 'once\n'


@pytest.mark.long
def test_the_manuals_example_works_with_the_real_services(
    folder, environment, tmp_path, monkeypatch
):
    """R4-13, Q4-4: nova-api loads the package directly, the engine through a reader process."""
    shutil.copytree(EXAMPLE, tmp_path / 'source')
    options = ['--quiet', '--no-deps', '--no-build-isolation', '--no-index', '--target', folder]
    pip = [sys.executable, '-m', 'pip', 'install', *options, tmp_path / 'source']
    subprocess.run(pip, check=True, capture_output=True, timeout=120)
    for name in ('PYTHONPATH', 'XDG_CACHE_HOME'):
        monkeypatch.setenv(name, environment[name])
    flavors = {'right': {'extra_specs': VALID}, 'wrong': {'extra_specs': {'acme:rack': '12'}}}
    filters = ['egg:senlin-affinity#extra_spec_validation']
    with SandboxCloud(1, senlin=True, flavors=flavors, api_filters=filters) as cloud:
        demo = Tenant(cloud.connection('demo'))
        policy = demo.policy(extra_specs='strict')
        cluster = demo.cluster(demo.profile(flavor='right'))
        demo.attach(cluster, policy).succeeded()
        cluster = demo.cluster(demo.profile(flavor='wrong'))
        message = demo.attach(cluster, policy).failed()
        assert "flavor 'wrong': acme:rack: must be of the form r[0-9]+, not '12'" in message
        compute = cloud.connection().compute
        flavor = next(iter(compute.flavors())).id
        response = compute.post(
            f'/flavors/{flavor}/os-extra_specs',
            json={'extra_specs': {'acme:rack': '12'}},
            microversion='2.86',
        )
        assert response.status_code == 400
