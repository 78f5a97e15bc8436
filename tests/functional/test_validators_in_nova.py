"""Nova's real registry of validators, loaded in both orders, each in a process of its own.

The order is that of Python's import path, as in a deployment: a folder in front of site-packages or
behind it names our entry point, and one in front hides that of the installed package.
"""

import json
import os
import subprocess
import sys

import pytest

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
#: What is asked, and words of what Nova then says with our entry point; '': it takes the value.
SAYS = {
    f'{SCOPE}k=<or> ! <or> 1': '"!" says that the key must be absent',
    'force_metadata_check=x': 'must be a boolean',
    **{f'{SCOPE}k={value}': '' for value in ('*', '~', '!', '<or> 1 <or> ~', '>= 4', 'true')},
    'force_metadata_check=True': '',
    'hw:cpu_policy=shared': '',
    'key=<or> ! <or> 1': '',
    # The sentinels are for the keys of aggregates only.
    'hw:cpu_policy=*': "'*' is not one of",
}


def distribution(folder, name, entry):
    """An installed package, as far as Python's metadata go."""
    info = folder / f'{name}-9.dist-info'
    info.mkdir(parents=True)
    (info / 'METADATA').write_text(f'Metadata-Version: 2.1\nName: {name}\nVersion: 9\n')
    (info / 'entry_points.txt').write_text(entry)


def load(tmp_path, place):
    """Load the registry with our entry point in front of Nova's, behind them, or not at all."""
    front, back = tmp_path / 'front', tmp_path / 'back'
    entry = f'[{GROUP}]\n{OURS} = senlin_affinity.plugins.nova.extra_specs\n'
    distribution(front, 'senlin_affinity', entry if place == 'first' else '')
    distribution(back, 'behind_all', entry if place == 'last' else '')
    asked = json.dumps([each.partition('=')[::2] for each in SAYS])
    done = subprocess.run(
        [sys.executable, '-W', 'ignore', '-c', SCRIPT, str(back), GROUP, asked],
        env={**os.environ, 'PYTHONPATH': str(front), 'XDG_CACHE_HOME': str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(('place', 'index'), [('first', 0), ('last', -1)])
def test_rx_04_rx_05_ours_counts_in_both_orders(tmp_path, place, index):
    found = load(tmp_path, place)
    assert found['order'][index] == OURS
    assert found['order'].count(OURS) == 1
    for asked, words in SAYS.items():
        said = found['answers'][asked]
        assert words in said if words else not said, (asked, said)


def test_without_ours_nova_takes_everything(tmp_path):
    """What the test above rests on; and ours adds two names, and takes none away."""
    without, with_ours = load(tmp_path / '1', 'not at all'), load(tmp_path / '2', 'first')
    assert OURS not in without['order']
    assert [asked for asked, said in without['answers'].items() if said] == ['hw:cpu_policy=*']
    added = {*with_ours['names']} - {*without['names']}
    assert added == {'force_metadata_check', 'reservation:{id}'}
    assert {*without['names']} <= {*with_ours['names']}
