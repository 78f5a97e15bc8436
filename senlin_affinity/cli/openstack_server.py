"""Provide ``openstack server explain``, unless another distribution has a command of that name.

``openstack`` uses any of several entry points with the same name. If it uses this one, this module
passes the command of the other distribution on.
"""

from __future__ import annotations

from importlib import metadata

from senlin_affinity.cli.server import ExplainServer

_found = metadata.entry_points(group='openstack.compute.v2', name='server_explain')
_others = [each for each in _found if each.module != __name__]
command = _others[0].load() if _others else ExplainServer
