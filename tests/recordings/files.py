"""Where the records are, and their text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def path(recorded: str) -> Path:
    """The file of a microversion."""
    return HERE / f'nova-{recorded}.json'


def load(recorded: str) -> dict[str, Any]:
    """A record, as it is in its file."""
    loaded: dict[str, Any] = json.loads(path(recorded).read_text(encoding='utf-8'))
    return loaded


def render(content: Mapping[str, Any]) -> str:
    """The text of a file."""
    return json.dumps(content, indent=1, ensure_ascii=False) + '\n'
