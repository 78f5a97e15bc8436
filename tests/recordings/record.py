"""Record the responses of the sandbox's real Nova: ``python -m tests.recordings.record``.

Writes the files in this folder, which fake Novas use. ``tests/functional/test_recordings.py`` fails
if the responses of the real Nova differ.
"""

from __future__ import annotations

import sys
from typing import Any

import requests

from tests.recordings import exchanges, files, snapshot
from tests.support.sandbox import SandboxCloud
from tests.support.waiting import until


class SandboxNova:
    """The sandbox's Nova, for raw requests: an :class:`exchanges.Cloud`."""

    def __init__(self, cloud: SandboxCloud) -> None:
        self._cloud = cloud
        self._adapters = {user: cloud.connection(user) for user in ('admin', 'demo')}
        data = self._adapters['demo'].compute.get_endpoint_data()
        self._url = data.url.rstrip('/')
        self.newest = '.'.join(map(str, data.max_microversion))

    def send(self, user, method, path, microversion, query=None, body=None) -> exchanges.Reply:
        """See :class:`exchanges.Cloud`."""
        token = 'nobody' if user == 'nobody' else self._adapters[user].auth_token
        response = requests.request(
            method,
            f'{self._url}{path}',
            params=query,
            json=body,
            headers={
                'X-Auth-Token': token,
                'Accept': 'application/json',
                'OpenStack-API-Version': f'compute {microversion}',
            },
            timeout=60,
        )
        return exchanges.Reply(response.status_code, response.json() if response.text else None)

    def boot(self, group_id: str) -> None:
        """See :class:`exchanges.Cloud`."""
        compute = self._adapters['demo'].compute
        server = {
            'name': 'member',
            'flavorRef': next(iter(compute.flavors())).id,
            'imageRef': self._cloud.image_id,
            'networks': 'none',
        }
        body = {'server': server, 'os:scheduler_hints': {'group': group_id}}
        reply = self.send('demo', 'POST', '/servers', '2.37', body=body)
        if reply.status != requests.codes.accepted:
            raise RuntimeError(f'no server was created: {reply}')


def record() -> dict[str, dict[str, Any]]:
    """Record all responses by microversion; the start of the sandbox takes some seconds."""
    hosts = {host: {'hypervisor_hostname': name} for host, name in exchanges.HOSTS.items()}
    with SandboxCloud(
        hosts,
        aggregates=exchanges.AGGREGATES,
        quotas={'server_groups': exchanges.SERVER_GROUPS_QUOTA},
        flavors=exchanges.FLAVORS,
    ) as cloud:
        return exchanges.exchange_all(SandboxNova(cloud))


def record_snapshot() -> dict[str, Any]:
    """Record the requests of a snapshot, with two hosts, an aggregate and two servers."""
    hosts = {'cmp-1': {'aggregates': {'ssd': {'ssd': 'true'}}}, 'cmp-2': {}}
    tiny = {'id': '1', 'extra_specs': {'hw:cpu_policy': 'shared'}}
    flavors = {'m1.tiny': tiny, 'm1.small': {'id': '2'}}
    with SandboxCloud(hosts, flavors=flavors) as cloud:
        connections = {user: cloud.connection(user) for user in ('admin', 'demo')}
        nova = SandboxNova(cloud)
        body = {'server_group': {'name': 'web', 'policy': 'anti-affinity'}}
        made = nova.send('demo', 'POST', exchanges.GROUPS, nova.newest, body=body).body
        servers = connections['demo'].compute.servers
        for _server in range(2):
            nova.boot(made['server_group']['id'])
            until(lambda: {server.status for server in servers()} == {'ACTIVE'}, what='it is built')
        return snapshot.record(connections)


def main() -> None:
    """Write the files, and print which of them changed."""
    written = {files.NOVA: files.merge(record()), files.SNAPSHOT: record_snapshot()}
    for path, content in written.items():
        text = files.render(content)
        is_same = path.exists() and path.read_text(encoding='utf-8') == text
        path.write_text(text, encoding='utf-8')
        sys.stdout.write(f'{path.name}: {"unchanged" if is_same else "changed"}\n')


if __name__ == '__main__':
    main()
