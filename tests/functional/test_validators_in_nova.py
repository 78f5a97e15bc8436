"""Nova's real registry of validators uses ours in both load orders.

The load order is that of Python's import path: our entry point is in a folder before or after
site-packages. A folder before it hides the entry point of the installed package.
"""

import json
import os
import subprocess
import sys

import pytest
from nova import exception

from senlin_affinity.extra_specs.base import ExtraSpecValidator
from senlin_affinity.plugins.nova.extra_specs import NovaValidator

GROUP = 'nova.api.extra_spec_validators'
OURS = 'senlin_affinity'
SCRIPT = """
import json, sys
sys.path.append(sys.argv[1])
from stevedore import extension
order = extension.ExtensionManager(sys.argv[2], invoke_on_load=False).entry_points_names()
from nova import exception
from nova.api.validation.extra_specs import validators
answers = {}
for name, value in json.loads(sys.argv[3]):
    try:
        validators.validate(name, value)
        answers[f'{name}={value}'] = ''
    except exception.ValidationError as error:
        answers[f'{name}={value}'] = str(error)
print(json.dumps({'order': order, 'answers': answers, 'names': sorted(validators.VALIDATORS)}))
"""
SCOPE = 'aggregate_instance_extra_specs:'
#: Extra specs, and a part of Nova's error with our entry point; '': Nova accepts the value.
ERRORS = {
    f'{SCOPE}k=<or> ! <or> 1': '"!" says that the key must be absent',
    'force_metadata_check=x': 'must be a boolean',
    **{f'{SCOPE}k={value}': '' for value in ('*', '~', '!', '<or> 1 <or> ~', '>= 4', 'true')},
    'force_metadata_check=True': '',
    'hw:cpu_policy=shared': '',
    'key=<or> ! <or> 1': '',
    # Sentinels are valid for keys of aggregates only.
    'hw:cpu_policy=*': "'*' is not one of",
}


def distribution(folder, name, entry):
    """Create the metadata of an installed package."""
    info = folder / f'{name}-9.dist-info'
    info.mkdir(parents=True)
    (info / 'METADATA').write_text(f'Metadata-Version: 2.1\nName: {name}\nVersion: 9\n')
    (info / 'entry_points.txt').write_text(entry)


def load(tmp_path, place):
    """Load the registry with our entry point before Nova's, after it, or without it."""
    front, back = tmp_path / 'front', tmp_path / 'back'
    entry = f'[{GROUP}]\n{OURS} = senlin_affinity.plugins.nova.extra_specs\n'
    distribution(front, 'senlin_affinity', entry if place == 'first' else '')
    distribution(back, 'behind_all', entry if place == 'last' else '')
    encoded = json.dumps([each.partition('=')[::2] for each in ERRORS])
    done = subprocess.run(
        [sys.executable, '-W', 'ignore', '-c', SCRIPT, str(back), GROUP, encoded],
        env={**os.environ, 'PYTHONPATH': str(front), 'XDG_CACHE_HOME': str(tmp_path)},
        cwd=tmp_path,  # a build leaves metadata in the checkout, which would come first
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(('place', 'index'), [('first', 0), ('last', -1)])
def test_rx_04_rx_05_our_validators_apply_in_both_orders(tmp_path, place, index):
    found = load(tmp_path, place)
    assert found['order'][index] == OURS
    assert found['order'].count(OURS) == 1
    for extra_spec, part in ERRORS.items():
        message = found['answers'][extra_spec]
        assert part in message if part else not message, (extra_spec, message)


@pytest.mark.long
def test_without_our_entry_point_nova_accepts_the_values(tmp_path):
    """Our entry point adds two names and removes none."""
    without, with_ours = load(tmp_path / '1', 'not at all'), load(tmp_path / '2', 'first')
    assert OURS not in without['order']
    assert [extra_spec for extra_spec, message in without['answers'].items() if message] == [
        'hw:cpu_policy=*'
    ]
    added = {*with_ours['names']} - {*without['names']}
    assert added == {'force_metadata_check', 'reservation:{id}'}
    assert {*without['names']} <= {*with_ours['names']}


def test_control_characters_are_escaped_in_the_error_that_nova_logs():
    validator = NovaValidator(ExtraSpecValidator('acme:x', 'An x.', {'type': int}))
    with pytest.raises(exception.ValidationError) as caught:
        validator.validate('acme:x\nERROR forged', 'a\x1b[31m\u202e')
    assert str(caught.value).isprintable()
