"""The stories of the demo, for both roles, on the hosts that the demo has."""

import io

import pytest
from rich.console import Console

from senlin_affinity.sandbox.demo import story
from senlin_affinity.sandbox.demo.screen import Screen
from tests.cluster import audit
from tests.support.cloud_fixtures import DRS_HOST

STORIES = (story.create_group, story.inherit_group, story.refuse_mismatch, story.spread_zones)


@pytest.fixture(autouse=True)
def hosts_of_the_demo(truth):
    for host in ('cmp-3', DRS_HOST):
        truth.disable(host)
    yield
    for host in ('cmp-3', DRS_HOST):
        truth.enable(host)


def test_the_stories_of_the_demo(user, demo, admin, truth, stack):
    """The preflight tells a tenant less than an administrator, who alone may use DRS."""
    screen = Screen(Console(file=io.StringIO()))
    scene = story.Scene(user, admin, truth, screen, stack.log / 'engine.out', 'cirros')
    for chapter in STORIES:
        chapter(scene)
    if user is demo:
        story.ask_first(scene)
    else:
        truth.enable('cmp-3')  # the story counts the disabled hosts
        story.use_drs(scene)
    assert (screen.failed, screen.passed > 10) == ([], True)
    (group,) = user.compute.server_groups()
    user.compute.delete_server_group(group)
    audit.foreign.discard(group.id)
