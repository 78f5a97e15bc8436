"""Let this project's policy serve the type ``senlin.policy.affinity-1.0`` in a Senlin engine.

Senlin's environment loads all entry points of ``senlin.policies``, which imports this project's
policy, and then registers each under its name. If the option ``serve_version_1_0`` is on, our class
replaces Senlin's own under the name 1.0; that of a third party stays, and an error is logged. This
package has no entry point of that name, because Senlin keeps the later of two on the import path.

Source: ``senlin/engine/environment.py`` (16.0.0). Senlin has no hook between the loading and the
registering, so a method is wrapped, until Senlin no longer contains a policy of that name.
"""

from __future__ import annotations

import functools
from typing import Any

from oslo_config import cfg
from senlin.engine import environment

from senlin_affinity.plugins import plain_log

LOG = plain_log.get('senlin_affinity.plugins.senlin_registry')

NAME = 'senlin.policy.affinity-1.0'
IN_TREE = ('senlin.policies.affinity_policy', 'AffinityPolicy')


def install(policy: type) -> None:
    """Wrap the registration of policies, if the option is on when the engine starts."""
    if not cfg.CONF.affinity.serve_version_1_0:
        return
    register = environment.Environment.register_policy

    @functools.wraps(register)
    def register_policy(self: Any, name: str, plugin: Any) -> None:
        register(self, name, _serving(policy, plugin) if name == NAME else plugin)

    environment.Environment.register_policy = register_policy


def _serving(ours: type, found: Any) -> Any:
    if found is ours:
        return found
    place = getattr(found, '__module__', None), getattr(found, '__name__', None)
    if place != IN_TREE:
        LOG.error(
            '[affinity] serve_version_1_0 has no effect: %s is served by %s.%s, which is not '
            "Senlin's own policy; remove that package, or switch the option off",
            NAME,
            *place,
        )
        return found
    LOG.info('%s is served by senlin-affinity ([affinity] serve_version_1_0)', NAME)
    return ours
