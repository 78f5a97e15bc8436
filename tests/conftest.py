"""What all tests share: how hypothesis generates its input, and the session's cloud."""

import os

import hypothesis

# The same examples in every run, so that a red run is red again; "explore" looks further.
hypothesis.settings.register_profile(
    'default', derandomize=True, database=None, deadline=None, print_blob=True
)
hypothesis.settings.register_profile(
    'explore', derandomize=False, database=None, deadline=None, max_examples=2000, print_blob=True
)
hypothesis.settings.load_profile(os.environ.get('HYPOTHESIS_PROFILE', 'default'))

# The fixtures that need a cloud; one cloud serves the whole session.
pytest_plugins = ['tests.cloud_fixtures']
