"""The demo: all its checks pass on the real services, and the README shows what it prints."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from senlin_affinity.sandbox.demo import story
from senlin_affinity.sandbox.demo.screen import Screen

README = Path(__file__).parents[2] / 'README.rst'
ID = r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'


def lines(text):
    text = re.sub(r'\bnode-\w{8}\b', 'node-12345678', re.sub(ID, '(id)', text))
    return [line.strip() for line in text.splitlines()]


def shown():
    """The lines of the README: some are left out, none is changed."""
    _before, after = README.read_text(encoding='utf-8').split('output::\n\n')
    return lines(re.match(r'(?:(?: {4}.*)?\n)+', after)[0].rstrip())


@pytest.mark.long
def test_its_checks_pass_and_the_readme_shows_them():
    output = io.StringIO()
    is_good = story.run(Screen(Console(file=output, width=72, color_system=None)))
    assert is_good, output.getvalue()
    left = iter(lines(output.getvalue()))
    assert [line for line in shown() if line not in left] == []
