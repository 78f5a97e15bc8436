"""What all tests share: Ctrl-C, how hypothesis generates its input, and the session's cloud."""

import logging
import os
import signal

import hypothesis

# A shell that starts the tests in the background has them ignore Ctrl-C, and their children would
# inherit that; those that are about Ctrl-C need it as a person at a terminal has it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The plugin logs a line when it is loaded; without a handler, that would follow pytest's last line.
logging.getLogger('senlin_affinity').addHandler(logging.NullHandler())

# The same examples in every run, so that a red run is red again; "explore" looks further, and
# fails for what differs only, not for a slow machine or for many examples that do not apply.
hypothesis.settings.register_profile(
    'default', derandomize=True, database=None, deadline=None, print_blob=True
)
hypothesis.settings.register_profile(
    'explore', derandomize=False, database=None, deadline=None, max_examples=2000, print_blob=True,
    suppress_health_check=list(hypothesis.HealthCheck),
)  # fmt: skip
hypothesis.settings.load_profile(os.environ.get('HYPOTHESIS_PROFILE', 'default'))

# Fixtures of more than one folder; of a cloud, or a Placement alone, one serves the whole session.
pytest_plugins = [
    'tests.support.cloud_fixtures',
    'tests.support.packages',
    'tests.support.placement_judge',
]
