"""Change the options and the hypervisors of a running sandbox's Nova.

Example (over HTTP; what a request omits returns to the state at the start)::

    PUT /_nova/options   {"filter_scheduler": {"enabled_filters": ["ComputeFilter"]}}
    PUT /_nova/hosts     {"cmp-1": {"vcpus": 8, "inventory": {"CUSTOM_A": {"total": 4}}}}

    PUT /_nova/servers   sends the servers of each host to nova-scheduler, as at each interval
    PUT /_nova/conductor lets nova-conductor read the filters anew, as its restart does

Use it only while no server is being built.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterable
from typing import Any

from webob import Request, Response

from senlin_affinity.sandbox.blueprint import HostSpec
from senlin_affinity.sandbox.wsgi import Stub, answer, error, not_found, parts_of


class Controls(Stub):
    """The controls of one sandbox's Nova; its drivers read ``specs``."""

    def __init__(self, services: Iterable[Any], specs: dict[str, HostSpec]) -> None:
        self._lock = threading.RLock()
        self._started, self._specs = dict(specs), specs
        self._overrides: list[tuple[str, str | None]] = []
        self._computes, self._schedulers = {}, []
        for service in services:
            if service.binary == 'nova-compute':
                self._computes[service.host] = service.manager
            elif service.binary == 'nova-scheduler':
                self._schedulers.append(service.manager.host_manager)

    def _answer(self, request: Request) -> Response:
        try:
            match (request.method, *parts_of(request)):
                case ('PUT', 'options'):
                    self._set_options(request.json_body)
                case ('PUT', 'hosts'):
                    self._set_hosts(request.json_body)
                case ('PUT', 'servers'):
                    self.sync_servers()
                case ('PUT', 'conductor'):
                    self._restart_conductor()
                case _:
                    return not_found(request)
        except (ValueError, TypeError, LookupError, AttributeError) as problem:
            return error(400, str(problem))
        return answer(204)

    def _set_options(self, sections: dict[str, dict[str, Any]]) -> None:
        from nova.conf import CONF

        for name, group in self._overrides:
            CONF.clear_override(name, group)
        self._overrides = []
        for section, options in sections.items():
            group = None if section == 'DEFAULT' else section
            for name, value in options.items():
                CONF.set_override(name, value, group)
                self._overrides.append((name, group))
        for hosts in self._schedulers:
            hosts.enabled_filters = hosts._choose_host_filters(hosts._load_filters())

    def _set_hosts(self, given: dict[str, dict[str, Any]]) -> None:
        from nova import context
        from nova.scheduler.client import report

        wanted = {
            name: dataclasses.replace(spec, **given.pop(name, {}))
            for name, spec in self._started.items()
        }
        if given:
            raise LookupError(f'no such host: {", ".join(given)}')
        # This cache misses changes that others made in Placement.
        report.report_client_singleton().clear_provider_cache()
        changed = {name: spec for name, spec in wanted.items() if spec != self._specs[name]}
        for name, spec in changed.items():
            self._specs[name] = spec
            manager = self._computes[name]
            manager.driver.take(spec)
            manager.update_available_resource(context.get_admin_context())

    def sync_servers(self) -> None:
        """Let each nova-compute report its servers to nova-scheduler, as it does periodically."""
        from nova import context

        with self._lock:
            for manager in self._computes.values():
                manager._sync_scheduler_instance_info(context.get_admin_context())

    def _restart_conductor(self) -> None:
        from nova import context
        from nova.scheduler import utils

        # nova-conductor remembers which policies of groups the first filters support.
        utils.reset_globals()
        utils._get_group_details(context.get_admin_context(), None)
