import pytest

from tests.support.edge import Edge


@pytest.fixture
def edge(request):
    """A cloud whose Nova is the newest that was recorded, with what the module's CLOUD names."""
    with Edge(**getattr(request.module, 'CLOUD', {})) as edge:
        yield edge


@pytest.fixture
def group(edge):
    return edge.nova.add_group('web', project_id='admin-project')
