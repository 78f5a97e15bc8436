"""``make mutants``: list the small mistakes that no test detects.

``operators`` generates the mutants, without those in ``equivalent/``; ``server`` runs the tests on
them. The surviving mutants are checked further: the tests in ``OF_NOVA`` run in a second process,
because Nova and Senlin register options of the same names; mypy and the unit tests run on a copy of
the checkout; the tests in ``OF_SERVICES`` run last, because they are slow.

Units: ``BAR`` is the percentage of killed mutants below which the exit status is 1.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from tests.mutants.operators import Mutant, in_module, mutants
from tests.mutants.server import BUDGET, Result, Server, tell

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / 'senlin_affinity'
MUTATED = (
    'model',
    'nova',
    'engine',
    'constraints',
    'policy',
    'preflight',
    'answers',
    'groups',
    'cloud',
    'plugins',
    'extra_specs',
    'api.py',
)
#: Tests that need no service.
TESTS = (
    'tests/unit',
    'tests/property',
    *map(str, Path('tests/engine').glob('test_plugin_*.py')),
    'tests/functional/cli',
    'tests/functional/test_silent_cloud.py',
)
OF_NOVA = ('tests/nova',)
#: Tests that start services, and the seconds of tests per mutant: each mutant starts its own.
OF_SERVICES = tuple(
    str(file)
    for folder in ('engine', 'functional', 'accuracy')
    for file in sorted(Path('tests', folder).glob('test_*.py'))
    if str(file) not in TESTS
)
SERVICE_BUDGET = 90.0
#: Further tests of functions that run while a module is imported.
AT_IMPORT = {
    'extra_specs': (
        'tests/functional/test_extra_specs_like_nova.py',
        'tests/nova/test_image_properties.py',
    ),
}
EQUIVALENT = Path(__file__).with_name('equivalent')
BAR = 98.0
#: Outcomes of mutants that no test detects.
LEFT = ('survived', 'uncovered')


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the selected mutants."""
    parser = argparse.ArgumentParser(prog='make mutants')
    parser.add_argument('paths', nargs='*', type=Path, help='files or folders to mutate')
    parser.add_argument('--sample', type=int, metavar='N', help='a random sample of N mutants')
    parser.add_argument('--seed', type=int, default=random.randrange(10**6))
    parser.add_argument('--keys', help='only these mutants: keys, separated by commas')
    parser.add_argument('--budget', type=float, default=BUDGET, help='seconds of tests per mutant')
    parser.add_argument('--workers', type=int, default=os.cpu_count() or 1)
    parser.add_argument('--tests', nargs='*', help='the tests to run')
    parser.add_argument('--quick', action='store_true', help='without the tests of services')
    parser.add_argument('--report', type=Path, help='write the outcome of every mutant here')
    given = parser.parse_args(arguments)
    chosen = list(choose(given))
    equivalent = read_equivalent()
    wanted = [mutant for mutant in chosen if mutant.key not in equivalent]
    print(f'{len(wanted)} mutants, without {len(chosen) - len(wanted)} equivalent ones', flush=True)
    begun, results = time.monotonic(), []

    def work(server: Server) -> None:
        for result in server.kill((mutant, server.tests_of(mutant)) for mutant in wanted):
            results.append(result)
            if len(results) % 100 == 0:
                tell(f'{len(results)} mutants')

    Server(PACKAGE, given.workers, given.budget).run(given.tests or TESTS, work)
    if given.tests is None:
        results = run_on_survivors(results, given, OF_NOVA, given.budget)
        results = list(check_on_disk(results))
        if not given.quick:
            results = run_on_survivors(results, given, OF_SERVICES, SERVICE_BUDGET)
    if given.report:
        facts = ('key', 'path', 'function', 'diff')
        rows = [
            {
                **{name: getattr(each.mutant, name) for name in facts},
                'outcome': each.outcome,
                'by': each.by,
            }
            for each in results
        ]
        given.report.write_text(json.dumps(rows, indent=0), encoding='utf-8')
    return summary(results, time.monotonic() - begun)


def run_on_survivors(
    results: Sequence[Result], given: argparse.Namespace, tests: Sequence[str], budget: float
) -> list[Result]:
    """Run these tests on the surviving mutants, in a new process, and return all results.

    If the tests fail without a mutant, the process says so, and no mutant counts as killed.
    """
    left = [each.mutant.key for each in results if each.outcome in LEFT]
    if not left:
        return list(results)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, 'report.json')
        command = [sys.executable, '-m', 'tests.mutants.run', *map(str, given.paths)]
        options = [f'--keys={",".join(left)}', f'--workers={given.workers}', f'--report={report}']
        more = [f'--budget={budget}', '--tests', *tests]
        subprocess.run([*command, *options, *more], stdout=subprocess.DEVNULL, check=False)
        rows = json.loads(report.read_text(encoding='utf-8')) if report.exists() else ()
    by = {row['key']: row['by'] for row in rows if row['outcome'] == 'killed'}
    return [
        Result(each.mutant, 'killed', by[each.mutant.key]) if each.mutant.key in by else each
        for each in results
    ]


def check_on_disk(results: Sequence[Result]) -> Iterator[Result]:
    """Check the surviving mutants in a copy of the checkout, and yield all results.

    mypy kills a mutant that has a type error. The unit tests of its package run on the mutants
    that no test calls: their functions run while a module is imported.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy, seconds = Path(folder, 'checkout'), itertools.count(int(time.time()))

        def write(path: Path, text: str) -> None:
            """Write a file with a new time: mypy and Python compare its seconds and the size."""
            path.write_text(text, encoding='utf-8')
            os.utime(path, (second := next(seconds), second))

        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns('.venv*', '.git', '.*_cache'))
        for each in results:
            by = ''
            if each.outcome in LEFT:
                path = copy / each.mutant.path
                before = path.read_text(encoding='utf-8')
                after = in_module(before, each.mutant)
                write(path, after)
                # The source of a mutant has no comments, and some permit a type error.
                is_typed = before.count('type: ignore') == after.count('type: ignore')
                by = 'mypy' if is_typed and fails(copy, 'mypy') else ''
                if not by and each.outcome == 'uncovered':
                    package = Path(each.mutant.path).with_suffix('').parts[1]
                    tests = [f'tests/unit/{package}', *AT_IMPORT.get(package, ())]
                    by = ' '.join(tests) if fails(copy, 'pytest', '-qx', '-n0', *tests) else ''
                write(path, before)
            yield Result(each.mutant, 'killed', by) if by else each


def fails(folder: Path, *command: str) -> bool:
    """Run a module of Python in a folder, and return whether its status is not 0."""
    words = [sys.executable, '-m', *command]
    return bool(subprocess.run(words, cwd=folder, capture_output=True, check=False).returncode)


def choose(given: argparse.Namespace) -> Iterator[Mutant]:
    """Yield the mutants of the files in ``given.paths``, by default of the whole package."""
    files = files_of(given.paths)
    found = [
        mutant
        for file in files
        for mutant in mutants(str(file.relative_to(ROOT)), file.read_text(encoding='utf-8'))
    ]
    if given.keys:
        keys = set(given.keys.split(','))
        found = [mutant for mutant in found if mutant.key in keys]
    if given.sample is not None and given.sample < len(found):
        print(f'seed {given.seed}')
        found = random.Random(given.seed).sample(found, given.sample)
    yield from found


def files_of(paths: Sequence[Path]) -> list[Path]:
    """Return the modules below these paths, by default those of ``MUTATED``."""
    folders = paths or [PACKAGE / name for name in MUTATED]
    return [
        file.resolve()
        for folder in folders
        for file in (sorted(folder.rglob('*.py')) if folder.is_dir() else [folder])
    ]


def read_equivalent() -> dict[str, str]:
    """Return the reason for each equivalent mutant, by its key."""
    files = sorted(EQUIVALENT.glob('*.yaml'))
    read = [yaml.safe_load(file.read_text(encoding='utf-8')) or [] for file in files]
    return {row['key']: row['why'] for rows in read for row in rows}


def summary(results: Sequence[Result], seconds: float) -> int:
    """Print the surviving mutants and the number of mutants per outcome."""
    counts = collections.Counter(result.outcome for result in results)
    for result in results:
        if result.outcome in LEFT:
            mutant = result.mutant
            print(f'\n{result.outcome} {mutant.key}: {mutant.path} {mutant.function}')
            print('\n'.join(f'    {line}' for line in mutant.diff.splitlines()))
    run = len(results) - counts['unfit']
    share = 100 * counts['killed'] / run if run else 100.0
    print(
        f'\n{run} mutants in {seconds:.0f} s: {counts["killed"]} killed ({share:.1f} %), '
        f'{counts["survived"]} survived, {counts["uncovered"]} called by no test; '
        f'{counts["unfit"]} could not be made'
    )
    return int(share < BAR)


if __name__ == '__main__':
    sys.exit(main())
