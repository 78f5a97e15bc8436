"""The benchmarks run, in small: what nobody runs every day breaks unseen."""

import subprocess
import sys

import pytest

from benchmarks import bench_snapshot


def test_a_snapshot_is_taken_as_the_bare_pages_are(capsys):
    bench_snapshot.bench_taking(20, rounds=1)
    bare, ours = capsys.readouterr().out.splitlines()[1:]
    assert bare.split()[:2] == ['bare', 'pages']
    assert ours.split()[0] == 'take'
    assert '12 requests and 0 pages more' in ours


@pytest.mark.long
def test_the_hook_is_measured():
    """In a process of its own, as Senlin's options are not Nova's. Times are not held."""
    run = [sys.executable, '-W', 'ignore', '-m', 'benchmarks.bench_hook', '100']
    done = subprocess.run(run, capture_output=True, text=True, timeout=120)
    assert 'Traceback' not in done.stderr, done.stderr
    rows = dict(
        line.split(': ', 1)[1].rsplit('  at most', 1)[0].rsplit(None, 1)
        for line in done.stdout.splitlines()
        if line.startswith('100 hosts: ')
    )
    assert rows['accept 1: requests'] == '6'
    assert rows['reject, 3 candidates, administrator: requests'] == '14'
    assert rows['reject, 3 candidates, tenant: requests'] == '14'
    assert rows['pinned: requests'] == '13'
    assert len(rows) == 57
