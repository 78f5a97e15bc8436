"""Run the real Placement in this process as the oracle for ``member_of``, on SQLite.

A test builds a forest of our providers, sends a query, and gets the names of the providers in the
answer.

Shapes::

    judge.build([Provider('cn1', aggregates=frozenset({A})), Provider('numa1', parent='cn1')])
    judge.left(['!A']) == set()                            GET /allocation_candidates
    judge.left(['!A'], suffix='_x') == {'numa1'}
    judge.listed(['!A']) == {'numa1'}                      GET /resource_providers

Every provider has inventory of ``SHARED_CLASS`` and of one class that no other provider has.
"""

import contextlib
import itertools
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import urlencode

import pytest

from senlin_affinity.nova.provider_tree import Provider

#: Forbidden aggregates need 1.32, named suffixes 1.33, root_required 1.35.
MICROVERSION = '1.36'
SHARED_CLASS = 'CUSTOM_SHARED'
SHARING = 'MISC_SHARES_VIA_AGGREGATE'
_LARGEST_FOREST = 12


class NoAnswer(Exception):
    """The judge failed with a 500."""


class Judge:
    """A Placement with one forest at a time; it reads no environment variable."""

    def __init__(self) -> None:
        from oslo_config import cfg
        from placement import conf, db_api, deploy
        from placement.db.sqlalchemy import migration

        options = cfg.ConfigOpts()
        conf.register_opts(options)
        options.set_default('connection', 'sqlite://', 'placement_database')
        files = {'default_config_files': [], 'default_config_dirs': []}
        options([], project='placement', use_env=False, **files)
        options.set_override('auth_strategy', 'noauth2', 'api')
        db_api.configure(options)
        migration.create_schema(db_api.get_placement_engine())
        deploy.update_database(options)
        self._application = deploy.loadapp(options)
        self._options = options
        self._providers: dict[str, str] = {}
        for name in (SHARED_CLASS, *map(_own_class, range(_LARGEST_FOREST))):
            self._change('PUT', f'/resource_classes/{name}')

    def ask(self, path: str, values: Iterable[str], name: str = 'member_of', **more: str) -> Any:
        """Send a query, and return the answer with ``status_code`` and ``json``."""
        query = urlencode([*more.items(), *((name, value) for value in values)])
        return self._send('GET', f'{path}?{query}')

    def status(self, query: str, microversion: str = MICROVERSION) -> tuple[int, Any]:
        """Return the status and the body of the answer to a query for allocation candidates."""
        answer = self._send('GET', f'/allocation_candidates?{query}', microversion=microversion)
        return answer.status_code, answer.json

    def equip(self, name: str, classes: Iterable[str], traits: Sequence[str]) -> None:
        """Give a provider of the forest a lot of these classes, and these traits."""
        path = f'/resource_providers/{self._providers[name]}'
        generation = self._send('GET', path).json['generation']
        parts = {'inventories': {each: {'total': 10**9} for each in classes}, 'traits': traits}
        for number, (part, content) in enumerate(parts.items(), generation):
            body = {part: content, 'resource_provider_generation': number}
            self._change('PUT', f'{path}/{part}', body)

    def create(self, kind: str, name: str) -> None:
        """Create a trait (``traits``) or a resource class (``resource_classes``)."""
        self._change('PUT', f'/{kind}/{name}')

    def existing(self) -> tuple[frozenset[str], frozenset[str]]:
        """Return the names of all traits, and of all resource classes."""
        classes = self._send('GET', '/resource_classes').json['resource_classes']
        traits = self._send('GET', '/traits').json['traits']
        return frozenset(traits), frozenset(each['name'] for each in classes)

    @contextlib.contextmanager
    def cutting(self, most: int) -> Iterator[None]:
        """Truncate the candidates (max_allocation_candidates); -1: not at all."""
        name, group = 'max_allocation_candidates', 'placement'
        self._options.set_override(name, most, group)
        try:
            yield
        finally:
            self._options.clear_override(name, group)

    def build(self, forest: Sequence[Provider]) -> None:
        """Replace the forest; parents come before their children."""
        for identity in reversed(self._providers.values()):
            self._change('DELETE', f'/resource_providers/{identity}')
        self._providers = {}
        for number, provider in enumerate(forest):
            identity = str(uuid.uuid4())
            body = {'name': provider.uuid, 'uuid': identity}
            if provider.parent is not None:
                body['parent_provider_uuid'] = self._providers[provider.parent]
            self._change('POST', '/resource_providers', body)
            self._providers[provider.uuid] = identity
            one = {'total': 1}
            parts = {'inventories': {SHARED_CLASS: one, _own_class(number): one}}
            if provider.aggregates:
                parts['aggregates'] = sorted(provider.aggregates)
            if provider.sharing:
                parts['traits'] = [SHARING]
            for generation, (part, content) in enumerate(parts.items()):
                body = {part: content, 'resource_provider_generation': generation}
                self._change('PUT', f'/resource_providers/{identity}/{part}', body)

    def left(self, values: Iterable[str], suffix: str = '', own: str | None = None) -> set[str]:
        """Return the providers with candidates for the class that all have.

        :param own: the name of a provider whose own class is requested instead.
        """
        number = None if own is None else list(self._providers).index(own)
        resource = SHARED_CLASS if number is None else _own_class(number)
        wanted = {f'resources{suffix}': f'{resource}:1'}
        answer = self.ask('/allocation_candidates', values, f'member_of{suffix}', **wanted)
        if answer.status_code == 500:
            raise NoAnswer(answer.text)
        assert answer.status_code == 200, answer.text
        requests = answer.json['allocation_requests']
        return self._named(itertools.chain(*(each['allocations'] for each in requests)))

    def listed(self, values: Iterable[str]) -> set[str]:
        """Return the providers in a listing with this expression."""
        answer = self.ask('/resource_providers', values)
        assert answer.status_code == 200, answer.text
        return self._named(each['uuid'] for each in answer.json['resource_providers'])

    def _named(self, identities: Iterable[str]) -> set[str]:
        names = {identity: name for name, identity in self._providers.items()}
        return {names[identity] for identity in identities}

    def _change(self, method: str, path: str, body: Any = None) -> None:
        answer = self._send(method, path, body)
        assert answer.status_code < 300, f'{method} {path}: {answer.text}'

    def _send(
        self, method: str, path: str, body: Any = None, microversion: str = MICROVERSION
    ) -> Any:
        import webob

        request = webob.Request.blank(path, method=method)
        request.headers['X-Auth-Token'] = 'admin'
        request.headers['OpenStack-API-Version'] = f'placement {microversion}'
        if body is not None:
            request.content_type = 'application/json'
            request.json = body
        return request.get_response(self._application)


def _own_class(number: int) -> str:
    return f'CUSTOM_OWN_{number}'


@pytest.fixture(scope='session')
def judge() -> Judge:
    """Return the judge of the session; Placement has one database per process."""
    return Judge()
