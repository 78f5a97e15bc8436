"""Decision records have one format, are short, and cover every question of the requirements."""

import re

from tests.unit.docs.test_manual import ROOT, SOURCE

PAGES = sorted((SOURCE / 'contribute/decisions').glob('0*.rst'))


def test_the_page_includes_each_decision():
    page = (SOURCE / 'contribute/decisions.rst').read_text(encoding='utf-8')
    labels_and_files = re.findall(
        r'^\.\. _decision-(\d{4}):\n\n\.\. include:: decisions/(.+)$', page, re.MULTILINE
    )
    assert labels_and_files == [(path.stem[:4], path.name) for path in PAGES]


def test_every_question_has_a_decision_and_every_decision_a_number():
    pages = (SOURCE / 'contribute/decisions').glob('*.rst')
    text = '\n'.join(path.read_text(encoding='utf-8') for path in pages)
    requirements = (ROOT / 'tests/mutants/requirements.yaml').read_text(encoding='utf-8')
    questions = {*re.findall(r'\{id: (Q\d-\d+)', requirements)}
    assert questions - {*re.findall(r'Q\d-\d+', text)} == set()
    numbers = re.findall(r'^(?:   \* - )?(\d{4})\b', text, re.MULTILINE)
    assert len(numbers) == len({*numbers}) > len(PAGES)
