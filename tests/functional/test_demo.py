"""All checks of the demo pass on the real services, and the README shows its output."""

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


def readme_lines():
    """Return the lines of the README, which are a part of the output."""
    _before, after = README.read_text(encoding='utf-8').split('output::\n\n')
    return lines(re.match(r'(?:(?: {4}.*)?\n)+', after)[0].rstrip())


@pytest.mark.long
def test_the_demo_passes_and_the_readme_shows_its_output():
    output = io.StringIO()
    is_passed = story.run(Screen(Console(file=output, width=72, color_system=None)))
    assert is_passed, output.getvalue()
    remaining = iter(lines(output.getvalue()))
    assert [line for line in readme_lines() if line not in remaining] == []
