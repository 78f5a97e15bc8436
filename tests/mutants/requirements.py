"""Check that each requirement has a mutant of the code that a test of its own detects.

``find`` tries mutants of the code that the tests of a requirement run, until one of these tests
fails, and writes both to ``requirements.yaml``. ``check`` makes each recorded mutant again, and
the test beside it must fail. Rows with ``by`` or ``no_mutant`` are not checked.

Example of a row::

    - {id: R3-12, text: '...', test: "tests/unit/groups/test_attachment.py::test_attach[...]",
       mutant: senlin_affinity/groups/attachment.py _attach 1f2e3d4c5b6a}
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Mapping, Sequence

import pytest
import yaml

from tests.mutants.operators import Mutant, mutants
from tests.mutants.run import PACKAGE, ROOT, TESTS, files_of
from tests.mutants.server import Server, tell
from tests.unit.test_requirements import KEPT, WRITTEN, claims_of_function

#: Limits for one requirement: the number of mutants, and the number of tests.
_MOST, _QUICKEST = 60, 30


def main(arguments: Sequence[str] | None = None) -> int:
    """Find the mutants of the requirements, or check the recorded ones."""
    parser = argparse.ArgumentParser(prog='python -m tests.mutants.requirements')
    parser.add_argument('what', choices=('find', 'check'))
    parser.add_argument('ids', nargs='*', help='find only the mutants of these requirements')
    given = parser.parse_args(arguments)
    server = Server(PACKAGE, os.cpu_count() or 1)
    return find(server, given.ids) if given.what == 'find' else check(server)


def claimed(items: Mapping[str, pytest.Item]) -> dict[str, list[str]]:
    """Return the tests of each requirement; their names, docstrings or rows have its id."""
    found: dict[str, list[str]] = {}
    for name, item in items.items():
        row = getattr(item, 'callspec', None) and item.callspec.params.get('row')
        texts = [*claims_of_function(item.function)]
        if isinstance(row, dict):
            texts.append(str(row.get('source', '')))
        ids = {'-'.join(each).upper() for text in texts for each in WRITTEN.findall(text)}
        for each in ids:
            found.setdefault(each, []).append(name)
    return found


def find(server: Server, ids: Sequence[str] = ()) -> int:
    """Update ``requirements.yaml``; with ``ids``, only these rows."""
    text = KEPT.read_text(encoding='utf-8')
    rows = yaml.safe_load(text)
    wanted = [row for row in rows if ('mutant' in row if not ids else row['id'] in ids)]

    def work(server: Server) -> None:
        by_id, run_by, known = claimed(server.items), _lines(server), _by_line()
        for row in wanted:
            tests = by_id.get(row['id'], ())
            former = str(row.get('mutant', '')).rpartition(' ')[0]
            killed = _first_killed(server, tests, run_by, known, former)
            row.update(killed or {})
            tell(f'{row["id"]}: {killed["mutant"] if killed else f"{len(tests)} tests, no mutant"}')

    server.run([row['test'] for row in wanted] if ids else list(TESTS), work)
    head = ''.join(line for line in text.splitlines(keepends=True) if line.startswith('#'))
    flow = yaml.safe_dump(rows, sort_keys=False, width=1000, default_flow_style=None)
    KEPT.write_text(head + flow, encoding='utf-8')
    return 0


def _lines(server: Server) -> dict[str, list[tuple[int, str, int]]]:
    """Return the lines that each test executes, each with the number of tests that execute it."""
    run_by: dict[str, list[tuple[int, str, int]]] = {}
    for path, lines in server.coverage.tests.items():
        for line, tests in lines.items():
            for test in tests:
                run_by.setdefault(test, []).append((len(tests), path, line))
    return run_by


def _by_line() -> dict[tuple[str, int], list[Mutant]]:
    known: dict[tuple[str, int], list[Mutant]] = {}
    for file in files_of(()):
        path = str(file.relative_to(ROOT))
        for mutant in mutants(path, file.read_text(encoding='utf-8')):
            for line in mutant.lines:
                known.setdefault((str(file), line), []).append(mutant)
    return known


def _first_killed(
    server: Server,
    tests: Sequence[str],
    run_by: Mapping[str, list[tuple[int, str, int]]],
    known: Mapping[tuple[str, int], list[Mutant]],
    former: str,
) -> dict[str, str] | None:
    """Return the first mutant that a test detects; those of the former mutant's function first."""
    wanted = set(sorted(tests, key=lambda test: (server.coverage.seconds[test], test))[:_QUICKEST])
    lines = sorted({line for test in wanted for line in run_by.get(test, ())})
    same = (each for found in known.values() for each in found if _place(each) == former)
    # Lines that few tests execute come first: they are specific to the requirement.
    found = (each for _number, path, line in lines for each in known.get((path, line), ()))
    found = itertools.chain(same, itertools.islice(found, _MOST * 4))
    unique = {mutant.key: mutant for mutant in found}
    jobs = (
        (mutant, [test for test in server.tests_of(mutant) if test in wanted])
        for mutant in itertools.islice(unique.values(), _MOST)
    )
    for result in server.kill(jobs):
        if result.outcome == 'killed' and result.by in wanted:
            mutant = result.mutant
            return {'test': result.by, 'mutant': f'{_place(mutant)} {mutant.key}'}
    return None


def _place(mutant: Mutant) -> str:
    return f'{mutant.path} {mutant.function}'


def check(server: Server) -> int:
    """Check that the test of each row detects its mutant; return 1 if one does not."""
    kept = yaml.safe_load(KEPT.read_text(encoding='utf-8'))
    rows = [row for row in kept if 'mutant' in row]
    wrong: list[str] = []

    def work(server: Server) -> None:
        by_id, jobs, ids = claimed(server.items), [], {}
        for row in rows:
            mutant = _again(row['mutant'])
            if mutant is None:
                wrong.append(f'{row["id"]}: {row["mutant"]} does not exist any more')
            elif row['test'] not in by_id.get(row['id'], ()):
                wrong.append(f'{row["id"]}: {row["test"]} does not name the requirement')
            else:
                ids.setdefault(mutant.key, []).append(row['id'])
                jobs.append((mutant, [row['test']]))
        for result in server.kill(jobs):
            if result.outcome != 'killed':
                names = ', '.join(ids[result.mutant.key])
                wrong.append(f'{names}: {result.mutant.key} {result.outcome}')

    tests = sorted({row['test'] for row in rows})
    server.run(tests, work)
    tell(*wrong, f'{len(rows)} requirements, {len(wrong)} failed')
    return int(bool(wrong))


def _again(named: str) -> Mutant | None:
    path, function, key = named.split(' ')
    source = ROOT.joinpath(path).read_text(encoding='utf-8')
    return next((each for each in mutants(path, source, function) if each.key == key), None)


if __name__ == '__main__':
    sys.exit(main())
