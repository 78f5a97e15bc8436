"""What a terminal shows while a command works."""

import io

from senlin_affinity.cli import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_the_work_and_forgets_it():
    stream = Terminal()
    with progress.shown('Planning', stream):
        assert stream.getvalue() == 'Planning ...'
    assert stream.getvalue() == 'Planning ...\r\x1b[K'


def test_a_file_gets_nothing():
    stream = io.StringIO()
    with progress.shown('Planning', stream):
        pass
    assert stream.getvalue() == ''
