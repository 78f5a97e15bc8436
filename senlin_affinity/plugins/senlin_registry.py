"""Lets this project's policy serve the type ``senlin.policy.affinity-1.0`` in a Senlin engine.

Data flow: Senlin's environment loads all entry points of ``senlin.policies``, which imports this
project's policy, and then registers each under its name. Where the option ``serve_version_1_0`` is
on, and the class under the name 1.0 is the one that Senlin brings, ours takes its place; one of a
third party is left there, with an error in the log. No entry point claims the name: of two that do,
Senlin keeps the one that is later on the import path.

Source: ``senlin/engine/environment.py`` and ``registry.py`` (16.0.0, and the same in 14.0.0).
Senlin has no hook between the loading and the registering, so a method is wrapped. It may go when
Senlin no longer brings a policy of that name.
"""

from __future__ import annotations

import functools
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging
from senlin.engine import environment

from senlin_affinity.plugins import senlin_cloud

LOG = logging.getLogger(__name__)

NAME = 'senlin.policy.affinity-1.0'
#: The class of Senlin's own, which is not imported for this.
IN_TREE = ('senlin.policies.affinity_policy', 'AffinityPolicy')


def offer(policy: type) -> None:
    """Have every environment that is made from now on ask which class serves the name."""
    register = environment.Environment.register_policy

    @functools.wraps(register)
    def register_policy(self: Any, name: str, plugin: Any) -> None:
        if plugin is policy:
            senlin_cloud.say()
        register(self, name, _serving(policy, plugin) if name == NAME else plugin)

    environment.Environment.register_policy = register_policy


def _serving(ours: type, found: Any) -> Any:
    """The class that is to be registered under the name."""
    if found is ours or not cfg.CONF.affinity.serve_version_1_0:
        return found
    place = getattr(found, '__module__', None), getattr(found, '__name__', None)
    if place != IN_TREE:
        LOG.error(
            '[affinity] serve_version_1_0 has no effect: %s is served by %s.%s, which is not the '
            'policy that Senlin brings; remove that package, or switch the option off',
            NAME,
            *place,
        )
        return found
    LOG.info('%s is served by senlin-affinity ([affinity] serve_version_1_0)', NAME)
    return ours
