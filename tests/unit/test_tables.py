"""Each row of the rule tables has a unique name, a source, and an outcome."""

from tests.support import tables


def test_rows_have_a_unique_name_and_a_source():
    wrong = []
    for path in tables.CASES.glob('*.yaml'):
        rows = tables.read(path.stem)
        names = [row.get('name') for row in rows]
        default = 'The source of rows without one: ' in path.read_text(encoding='utf-8')
        is_good = [
            (row.get('source') or default) and names.count(row.get('name')) == 1 for row in rows
        ]
        wrong += [(path.stem, name) for name, good in zip(names, is_good, strict=True) if not good]
    assert wrong == []
