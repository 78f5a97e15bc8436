"""``cluster explain`` and ``node explain`` in a cloud without Senlin, or without rights.

``tests/engine/test_story_explain.py`` uses the real Senlin.
"""

import pytest

from tests.functional.cli.test_group import Senlin
from tests.recordings.exchanges import Reply
from tests.support import command
from tests.support.fake_nova import FakeNova


class Forbidding(Senlin):
    """A Senlin whose policy permits only the discovery of its version."""

    def _senlin(self, path, query):
        if not path:
            return super()._senlin(path, query)
        return Reply(403, {'error': {'code': 403, 'message': 'You are not authorized.'}})


@pytest.mark.parametrize('kind', ['cluster', 'node'])
@pytest.mark.parametrize(
    ('has_senlin', 'words'),
    [
        (False, 'clustering service in RegionOne region not found'),
        (True, 'error: could not list the {}s of Senlin: Senlin answered 403: You are not author'),
    ],
)
def test_a_cloud_without_senlin_or_without_rights_is_one_line(kind, has_senlin, words):
    with Forbidding(FakeNova()) as cloud:
        cloud.has_senlin = has_senlin
        environment = {**command.NO_CLOUD, **cloud.environment}
        done = command.run(kind, 'explain', 'web', **environment)
    command.check_refused(done, words.format(kind), status=1)


@pytest.mark.parametrize('kind', ['cluster', 'node'])
def test_a_cloud_is_required(kind, run):
    command.check_refused(run(kind, 'explain', 'web'), 'name a cloud: --os-cloud, or OS_CLOUD')
