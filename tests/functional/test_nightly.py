"""``make nightly`` shows its seed, keeps what it found, and is not stopped by it."""

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


def again(row, cwd=ROOT):
    return run('pytest', '-q', row['test'], f'--hypothesis-seed={row["seed"]}', cwd=cwd)


@pytest.mark.long
def test_what_was_kept_passes_now():
    ends = {row['name']: again(row) for row in tables.read('found_examples')}
    assert not [f'{name}: {end.stdout}' for name, end in ends.items() if end.returncode]
