import pytest

from tests.support.edge import Edge


@pytest.fixture
def edge(request):
    """Yield a cloud with the newest recorded Nova, configured by the module's CLOUD."""
    with Edge(**getattr(request.module, 'CLOUD', {})) as edge:
        yield edge


@pytest.fixture
def group(edge):
    return edge.nova.add_group('web', project_id='admin-project')
