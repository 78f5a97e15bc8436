"""The examples that ``make nightly`` recorded pass."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import tables

ROOT = Path(__file__).parents[2]


def run(*words, cwd=ROOT):
    return subprocess.run(
        [sys.executable, '-m', *map(str, words)],
        cwd=cwd, env={**os.environ, 'HYPOTHESIS_PROFILE': 'explore'}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


def run_example(row, cwd=ROOT):
    return run('pytest', '-q', row['test'], f'--hypothesis-seed={row["seed"]}', cwd=cwd)


@pytest.mark.long
def test_recorded_examples_pass():
    results = {row['name']: run_example(row) for row in tables.read('found_examples')}
    assert not [f'{name}: {result.stdout}' for name, result in results.items() if result.returncode]
