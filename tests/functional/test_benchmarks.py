"""The benchmarks run at a small size."""

import subprocess
import sys

import pytest

from benchmarks import bench_snapshot


def test_the_snapshot_benchmark_runs(capsys):
    bench_snapshot.bench_taking(20, rounds=1)
    baseline, ours = capsys.readouterr().out.splitlines()[1:]
    assert baseline.split()[:2] == ['bare', 'pages']
    assert ours.split()[0] == 'take'
    assert '12 requests and 0 pages more' in ours


@pytest.mark.nightly
def test_the_hook_benchmark_runs():
    """The benchmark needs a separate process, because Senlin and Nova share option names. Times are
    not checked.
    """
    run = [sys.executable, '-W', 'ignore', '-m', 'benchmarks.bench_hook', '100']
    done = subprocess.run(run, capture_output=True, text=True, timeout=300)
    assert 'Traceback' not in done.stderr, done.stderr
    rows = dict(
        line.split(': ', 1)[1].rsplit('  at most', 1)[0].rsplit(None, 1)
        for line in done.stdout.splitlines()
        if line.startswith('100 hosts: ')
    )
    assert rows['accept 1: requests'] == '6'
    assert rows['reject, 3 candidates, administrator: requests'] == '14'
    assert rows['reject, 3 candidates, tenant: requests'] == '14'
    assert rows['accept 10 where 40 hosts have room: requests'] == '9'
    assert rows['pinned: requests'] == '17'
    assert len(rows) == 66
