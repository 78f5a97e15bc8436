"""``make nightly`` shows its seed, keeps what it found, and is not stopped by it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import tables

ROOT = Path(__file__).parents[2]
TESTS = """
from hypothesis import given, settings, strategies

@settings(database=None, print_blob=True)
@given(strategies.integers())
def test_fails(number):
    assert number < 5

def test_passes():
    pass
"""


def run(*words, cwd=ROOT):
    return subprocess.run(
        [sys.executable, '-m', *map(str, words)],
        cwd=cwd, env={**os.environ, 'HYPOTHESIS_PROFILE': 'explore'}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


def nightly(folder, *words):
    """Its exit status, its seed, and what it printed."""
    tests = folder / 'test_it.py'
    tests.write_text(TESTS)
    (folder / 'pytest.ini').write_text('[pytest]\n')  # wherever it is, this is its root
    done = run(
        'tests.nightly.run', '--workers', '0', '--clouds', '0', '--tables', folder, *words,
        '--soak', '--explore', tests, '--long', f'{tests}::test_passes',
    )  # fmt: skip
    first, *_, last = done.stdout.splitlines()
    assert first == last
    (seed,) = re.fullmatch(r"seed (\d+): make nightly ARGS='--seed \1'", first).groups()
    return done.returncode, int(seed), done.stdout


def again(row, cwd=ROOT):
    return run('pytest', '-q', row['test'], f'--hypothesis-seed={row["seed"]}', cwd=cwd)


@pytest.mark.long
def test_what_fails_is_kept_and_another_part_runs(tmp_path):
    status, seed, output = nightly(tmp_path, '--workers', '1')
    assert status == 1
    assert '== explore failed;' in output
    assert ' 1 passed' in output
    assert '0 random clouds' in output
    (row,) = tables.load((tmp_path / 'found_examples.yaml').read_text())
    assert (row['test'], row['seed']) == ('test_it.py::test_fails', seed)
    assert 'number=5,' in row['example']
    assert '@reproduce_failure' in ' '.join(row['example'])
    assert '1 failed' in again(row, tmp_path).stdout
    # The next run draws another seed; nothing begins when the time is up.
    status, other, _output = nightly(tmp_path, '--minutes', '0')
    assert status == 0
    assert other != seed


@pytest.mark.long
def test_what_was_kept_passes_now():
    ends = {row['name']: again(row) for row in tables.read('found_examples')}
    assert not [f'{name}: {end.stdout}' for name, end in ends.items() if end.returncode]
