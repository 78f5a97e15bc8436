"""Provide loggers that escape terminal control characters: ESC becomes a backslash and ``x1b``.

Names and texts in a message come from services and users, and operators read the log in a terminal.
"""

from __future__ import annotations

import logging
from typing import Any

from oslo_log import log

from senlin_affinity.model.terminal_text import escaped


def get(name: str) -> Any:
    """Return the oslo.log logger with this name, which escapes its messages."""
    adapter = log.getLogger(name)
    adapter.logger.addFilter(_escape)
    return adapter


def _escape(record: logging.LogRecord) -> bool:
    record.msg, record.args = escaped(record.getMessage()), None
    return True
