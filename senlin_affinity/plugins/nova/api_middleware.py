"""Add the parameter ``validation`` to nova-api, as a filter of its paste pipeline.

The validators of this project check each request that writes extra specs, from microversion 2.86. A
rejected request gets Nova's 400 from here. A name that this release of Nova does not know is
rejected by ``strict``, and logged by ``permissive``. An accepted request goes on to Nova without
the parameter: ``strict`` with the client's microversion, ``permissive`` and ``off`` with 2.85, the
last microversion without Nova's own checks. The headers of the response name the client's
microversion again. Nothing else of these two calls changed from 2.86 to 2.104.

Nova handles other requests unchanged, also older and unsupported microversions, users who may not
write extra specs (its 403), and bodies that its schema rejects (its 400).

Raises: nothing. A validator that does not load prevents nova-api from starting.

Source: https://blueprints.launchpad.net/nova/+spec/flavor-extra-spec-validators. Nova dropped the
parameter before its release and accepts unknown namespaces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

import microversion_parse
import webob

from senlin_affinity.extra_specs import MODES, OFF, STRICT, Finding, registry, validate_all
from senlin_affinity.extra_specs.findings import LONGEST
from senlin_affinity.extra_specs.releases import Releases
from senlin_affinity.model.errors import InvalidExtraSpec, InvalidSpec
from senlin_affinity.model.terminal_text import escaped
from senlin_affinity.plugins import plain_log

LOG = plain_log.get('senlin_affinity.plugins.nova_api')

PARAMETER = 'validation'
#: Per request: so many are validated in less than a second.
MOST_NAMES = 1000
#: Errors per response.
MOST_TOLD = 20

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
Microversion = tuple[int, int]

FIRST: Microversion = (2, 86)
UNCHECKED = '2.85'
VERSION_HEADER = 'OpenStack-API-Version'
LEGACY_VERSION_HEADER = 'X-OpenStack-Nova-API-Version'
_VARIABLE, _LEGACY_VARIABLE = 'HTTP_OPENSTACK_API_VERSION', 'HTTP_X_OPENSTACK_NOVA_API_VERSION'

_PART = '/os-extra_specs'
#: The paths that Nova's router accepts for these calls: with or without a project or a newline.
_PATH = re.compile(rf'(?:/[0-9a-f-]+)?/flavors/([^/]+){_PART}(/[^/]+)?\n?')
_MICROVERSION = re.compile(r'([1-9][0-9]*)\.([1-9][0-9]*|0)')
_RULES = {
    'POST': 'os_compute_api:os-flavor-extra-specs:create',
    'PUT': 'os_compute_api:os-flavor-extra-specs:update',
}


class ExtraSpecValidation:
    """The WSGI filter around Nova's application.

    :param newest: returns the newest microversion of this Nova.
    """

    def __init__(self, application: Application, newest: Callable[[], str]) -> None:
        self._application = application
        self._newest = newest
        registry.installed()  # raises for a plugin that does not load

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Handle one request; any but a write of extra specs costs two comparisons."""
        if environ['REQUEST_METHOD'] in _RULES and _PART in environ['PATH_INFO']:
            call = _call(environ)
            microversion = self._microversion(environ) if call else None
            if call and microversion and _may(environ, call):
                return self._judge(environ, start_response, call, microversion)
        return self._application(environ, start_response)

    def _microversion(self, environ: dict[str, Any]) -> str | None:
        """Return the client's microversion; None if it is below 2.86 or not supported by Nova."""
        named = ((VERSION_HEADER, _VARIABLE), (LEGACY_VERSION_HEADER, _LEGACY_VARIABLE))
        headers = {name: environ[variable] for name, variable in named if variable in environ}
        asked = microversion_parse.get_version(headers, 'compute', [LEGACY_VERSION_HEADER])
        newest = self._newest()
        if asked == 'latest':
            asked = newest
        pair = _pair(asked)
        return asked if pair and FIRST <= pair <= (_pair(newest) or FIRST) else None

    def _judge(
        self,
        environ: dict[str, Any],
        start_response: Callable[..., Any],
        call: str,
        microversion: str,
    ) -> Iterable[bytes]:
        query = environ.get('QUERY_STRING', '')
        asked = [value for name, value in _pairs(query) if name == PARAMETER] or [STRICT]
        mode = ', '.join(asked)
        if mode not in MODES:
            words = f'{PARAMETER} must be one of {", ".join(MODES)}, not {mode!r}'
            return _refuse(words, microversion)(environ, start_response)
        found: tuple[Finding, ...] = ()
        if mode != OFF:
            try:
                specs = _specs(environ, call)
                if specs is None:
                    return self._application(environ, start_response)
                nova = Releases.of_microversion(_pair(self._newest()) or FIRST)
                found = validate_all(specs, mode, nova=nova)
            except InvalidSpec as error:
                return _refuse(_text(error), microversion)(environ, start_response)
        inner = {**environ, 'QUERY_STRING': _without_parameter(query)}
        if mode == STRICT:
            return self._application(inner, start_response)
        inner.pop(_LEGACY_VARIABLE, None)
        inner[_VARIABLE] = f'compute {UNCHECKED}'
        named = {
            VERSION_HEADER.lower(): f'compute {microversion}',
            LEGACY_VERSION_HEADER.lower(): microversion,
        }

        def answer(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            if found and status.startswith('2'):
                LOG.info(
                    'flavor %s: %s=%s let through %s',
                    environ['PATH_INFO'].partition(_PART)[0].rpartition('/')[2],
                    PARAMETER,
                    mode,
                    _some(map(str, found)),
                )
            headers = [(name, named.get(name.lower(), value)) for name, value in headers]
            return start_response(status, headers, *more)

        return self._application(inner, answer)


def filter_factory(
    _global_conf: Mapping[str, str], **options: str
) -> Callable[[Application], ExtraSpecValidation]:
    """Return the filter for paste: ``use = egg:senlin-affinity#extra_spec_validation``."""
    if options:
        raise ValueError(f'extra_spec_validation has no options, but was given {sorted(options)}')
    from nova.api.openstack import api_version_request

    return lambda application: ExtraSpecValidation(
        application, lambda: str(api_version_request.max_api_version().get_string())
    )


def _call(environ: Mapping[str, Any]) -> str | None:
    """Return POST or PUT if Nova's router uses it (``?_method=`` included); else None."""
    path = _PATH.fullmatch(environ['PATH_INFO'])
    if path is None:
        return None
    call = 'PUT' if path[2] else 'POST'
    is_overridden = '_method' in environ.get('QUERY_STRING', '')
    return call if is_overridden or environ['REQUEST_METHOD'] == call else None


def _may(environ: Mapping[str, Any], call: str) -> bool:
    """Check whether the user may make this call, which Nova checks before it reads the values.

    Without a context (no authentication yet), return True, so that the validation applies.
    """
    context = environ.get('nova.context')
    return context is None or bool(context.can(_RULES[call], target={}, fatal=False))


def _specs(environ: dict[str, Any], call: str) -> dict[str, str] | None:
    """Return the extra specs of the body; None for a body that Nova's schema rejects.

    Raise InvalidSpec for too many extra specs, and for a truncated body.
    """
    try:
        # Read as Nova reads it: webob restores the body.
        body = json.loads(webob.Request(environ).body.decode())
    except (ValueError, RecursionError):
        return None
    except OSError as error:
        raise InvalidSpec('the body of the request is cut off') from error
    if call == 'POST':
        body = body.get('extra_specs') if isinstance(body, dict) else None
    # Nova converts numbers to strings; booleans are invalid.
    if not isinstance(body, dict) or not {str, int, float}.issuperset(map(type, body.values())):
        return None
    specs = {name: str(value) for name, value in body.items()}
    if any(len(text) > LONGEST for pair in specs.items() for text in pair):
        return None
    if len(specs) > MOST_NAMES:
        raise InvalidSpec(f'at most {MOST_NAMES} extra specs in one request, not {len(specs)}')
    return specs


def _text(error: InvalidSpec) -> str:
    return _some(error.errors) if isinstance(error, InvalidExtraSpec) else str(error)


def _some(texts: Iterable[str]) -> str:
    """Join the first texts, and append the number of the others."""
    parts = [*texts]
    more = len(parts) - MOST_TOLD
    return '; '.join([*parts[:MOST_TOLD], f'and {more} more'] if more > 0 else parts)


def _refuse(words: str, microversion: str) -> webob.Response:
    """Return Nova's 400, with its body and the headers of every response."""
    body = json.dumps({'badRequest': {'code': 400, 'message': escaped(words)}}).encode()
    headers = [
        ('Content-Type', 'application/json; charset=UTF-8'),
        (VERSION_HEADER, f'compute {microversion}'),
        (LEGACY_VERSION_HEADER, microversion),
        ('Vary', VERSION_HEADER),
        ('Vary', LEGACY_VERSION_HEADER),
    ]
    return webob.Response(body, 400, headers)


def _pair(microversion: str | None) -> Microversion | None:
    found = _MICROVERSION.fullmatch(microversion or '')
    return (int(found[1]), int(found[2])) if found else None


def _pairs(query: str) -> list[tuple[str, str]]:
    return parse_qsl(query, keep_blank_values=True)


def _without_parameter(query: str) -> str:
    """Return the other parameters, as the client wrote them."""
    parts = query.split('&')
    return '&'.join(part for part in parts if [*dict(_pairs(part))] != [PARAMETER])
