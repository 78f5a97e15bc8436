"""What it costs a Senlin engine to load the policy."""

import subprocess
import sys

LOADED = """
import sys
calls = 0
def count(_frame, event, _what):
    global calls
    calls += event == 'call'
sys.setprofile(count)
import senlin.policies.base, senlin.engine.service
of_senlin = calls
import senlin_affinity.plugins.senlin_policy
sys.setprofile(None)
print(sorted({'cliff', 'openstack', 'osc_lib', 'rich'} & {*sys.modules}))
print((calls - of_senlin) / of_senlin)
"""


def test_the_policy_loads_only_what_an_engine_needs_at_once():
    """No command, and no openstacksdk, which Senlin's own driver loads; few calls for each of those
    that Senlin itself makes (1 for 21), which are the same however busy the machine is.
    """
    command = [sys.executable, '-c', LOADED]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    modules, share = done.stdout.splitlines()
    assert modules == '[]'
    assert float(share) < 0.1
