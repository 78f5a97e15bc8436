"""Configuration of all tests: Ctrl-C, hypothesis, and shared fixtures."""

import collections
import gc
import logging
import os
import signal

import hypothesis
import pytest

# A shell that runs the tests in the background ignores SIGINT in them and their children; tests of
# Ctrl-C need the default.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Loading the plugin logs a line; without a handler, it would follow pytest's last line.
logging.getLogger('senlin_affinity').addHandler(logging.NullHandler())

# Every run has the same examples, so that failures repeat. "brief" has the first of them, for runs
# that compare libraries; "explore" has more and random ones, and must not fail because of a slow
# machine or many rejected examples.
for name, number in {'default': 60, 'brief': 15}.items():
    hypothesis.settings.register_profile(
        name, max_examples=number, derandomize=True, database=None, deadline=None, print_blob=True
    )
hypothesis.settings.register_profile(
    'explore', derandomize=False, database=None, deadline=None, max_examples=2000, print_blob=True,
    suppress_health_check=list(hypothesis.HealthCheck),
)  # fmt: skip
hypothesis.settings.load_profile(os.environ.get('HYPOTHESIS_PROFILE', 'default'))


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without the garbage collector, which nothing of what is collected needs again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Of a test that is ``long(every=3)``, let two of three cases be ``nightly``."""
    numbers = collections.Counter()
    for item in items:
        marker = item.get_closest_marker('long')
        if marker is not None and 'every' in marker.kwargs:
            test = item.nodeid.partition('[')[0]
            if numbers[test] % marker.kwargs['every']:
                item.add_marker('nightly')
            numbers[test] += 1


# Fixtures of several folders; one cloud or Placement serves the whole session.
pytest_plugins = [
    'tests.support.cloud_fixtures',
    'tests.support.packages',
    'tests.support.placement_judge',
]
