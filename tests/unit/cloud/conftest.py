import pytest

from tests.support.edge import Edge


@pytest.fixture
def edge():
    """A cloud whose Nova is the newest that was recorded, seen by an administrator."""
    with Edge() as edge:
        yield edge
