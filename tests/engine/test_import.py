"""The cost of loading the policy into a Senlin engine, and what is imported after that."""

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
COST = """
import sys
calls = 0
def count(_frame, event, _what):
    global calls
    calls += event == 'call'
sys.setprofile(count)
import senlin.policies.base, senlin.engine.service, senlin.drivers.sdk
of_senlin = calls
import senlin_affinity.plugins.senlin.policy
sys.setprofile(None)
print(sorted({'cliff', 'nova', 'osc_lib', 'rich'} & {*sys.modules}))
print((calls - of_senlin) / of_senlin)
"""
#: Only the sandbox itself and the support of the tests import it.
SANDBOX = 'senlin_affinity.sandbox'


def _run(*arguments):
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPOSITORY)
    return done.stdout.splitlines()


def test_the_policy_loads_only_what_an_engine_needs():
    """Loading the policy imports no command and no Nova, and costs few calls.

    It imports openstacksdk, which Senlin's own driver imports for its first action: an import that
    waits for the first hook could read files of another version. Calls are counted, because their
    number does not depend on how busy the machine is. For 100 of Senlin's, the policy makes 17: its
    own are 11, and numpy's 6.
    """
    modules, share = _run('-c', COST)
    assert modules == '[]'
    assert float(share) < 0.18


def test_a_loaded_policy_imports_no_further_module_of_its_package():
    """An upgrade replaces files on disk while an engine runs: it must not mix two versions."""
    (modules,) = _run('-m', 'tests.engine.run_policy')
    assert [name for name in modules.split() if not name.startswith(SANDBOX)] == []
