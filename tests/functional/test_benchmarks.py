"""The benchmark of taking a snapshot runs: what nobody runs every day breaks unseen."""

from benchmarks import bench_snapshot


def test_a_snapshot_is_taken_as_the_bare_pages_are(capsys):
    bench_snapshot.bench_taking(20, rounds=1)
    bare, ours = capsys.readouterr().out.splitlines()[1:]
    assert bare.split()[:2] == ['bare', 'pages']
    assert ours.split()[0] == 'take'
    assert '12 requests and 0 pages more' in ours
