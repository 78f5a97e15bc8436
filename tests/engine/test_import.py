"""What it costs a Senlin engine to load the policy."""

import subprocess
import sys

LOADED = """
import sys, time
begun = time.process_time()
import senlin.policies.base, senlin.engine.service
of_senlin = time.process_time()
import senlin_affinity.plugins.senlin_policy
of_ours = time.process_time()
print(sorted({'cliff', 'openstack', 'osc_lib', 'rich'} & {*sys.modules}))
print((of_ours - of_senlin) / (of_senlin - begun))
"""


def test_the_policy_loads_only_what_an_engine_needs_at_once():
    """No command, and no openstacksdk, which Senlin's own driver loads; a small part of Senlin's
    own time (an eighth, on a machine that does nothing else).
    """
    command = [sys.executable, '-c', LOADED]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    modules, share = done.stdout.splitlines()
    assert modules == '[]'
    assert float(share) < 0.25
