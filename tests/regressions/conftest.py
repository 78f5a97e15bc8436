"""What the regression tests share: a cloud with the hosts of the stories, for the whole session."""

import pytest

from tests.regressions.stage import CLOUD, Theatre
from tests.support.sandbox import SandboxCloud


# By this name the ends of the logs are shown with a test that failed.
@pytest.fixture(scope='session')
def senlin_cloud():
    with SandboxCloud(**CLOUD) as cloud:
        yield cloud


@pytest.fixture(scope='session')
def theatre(senlin_cloud):
    return Theatre(senlin_cloud)
