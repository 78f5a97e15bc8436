"""The ``validation`` parameter of document 004 in a real nova-api: a filter of its paste pipeline.

Data flow: a request that writes extra specs, from microversion 2.86, is judged by the validators of
this project. What is refused is answered here with Nova's 400; the rest goes on to Nova, without
the parameter: ``strict`` with the client's own microversion; ``permissive`` and ``off`` with 2.85,
the last one without Nova's own checks. The answer's headers name the client's microversion again.
Nothing else of these two calls has changed from 2.86 to 2.104.

Left to Nova, untouched: every other request; older microversions, and those that Nova does not
have; users who may not write extra specs (its 403); bodies that its schema refuses (its 400).

Units: one request has at most ``MOST_NAMES`` names, and an answer tells of at most ``MOST_TOLD``.

Errors: none leave it. A validator that does not load keeps nova-api from starting.

Source: document 004. Nova dropped the parameter before its release and accepts unknown namespaces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

import microversion_parse
import webob
from oslo_log import log as logging

from senlin_affinity.core.errors import InvalidExtraSpec, InvalidSpec
from senlin_affinity.extra_specs import MODES, OFF, STRICT, Finding, registry, validate_all

LOG = logging.getLogger(__name__)

PARAMETER = 'validation'
#: A flavor has a few dozen extra specs: this many are judged in less than a second.
MOST_NAMES = 1000
MOST_TOLD = 20
#: What Nova's schema allows in a name and in a value.
_LONGEST = 255

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
Microversion = tuple[int, int]

FIRST: Microversion = (2, 86)
#: The last microversion at which Nova itself checks nothing.
UNCHECKED = '2.85'
VERSION_HEADER = 'OpenStack-API-Version'
LEGACY_VERSION_HEADER = 'X-OpenStack-Nova-API-Version'
#: The same two as WSGI names them.
_VARIABLE, _LEGACY_VARIABLE = 'HTTP_OPENSTACK_API_VERSION', 'HTTP_X_OPENSTACK_NOVA_API_VERSION'

_PART = '/os-extra_specs'
#: What Nova's router takes for these two calls: with a project or without, and with a newline.
_PATH = re.compile(rf'(?:/[0-9a-f-]+)?/flavors/([^/]+){_PART}(/[^/]+)?\n?')
_MICROVERSION = re.compile(r'([1-9][0-9]*)\.([1-9][0-9]*|0)')
_RULES = {
    'POST': 'os_compute_api:os-flavor-extra-specs:create',
    'PUT': 'os_compute_api:os-flavor-extra-specs:update',
}


class ExtraSpecValidation:
    """The filter around Nova's application.

    :param newest: gives the newest microversion that this Nova has.
    """

    def __init__(self, application: Application, newest: Callable[[], str]) -> None:
        self._application = application
        self._newest = newest
        registry.installed()  # a plugin that does not load is told now

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer one request. What does not write extra specs costs two comparisons."""
        if environ['REQUEST_METHOD'] in _RULES and _PART in environ['PATH_INFO']:
            call = _call(environ)
            microversion = self._microversion(environ) if call else None
            if call and microversion and _may(environ, call):
                return self._judge(environ, start_response, call, microversion)
        return self._application(environ, start_response)

    def _microversion(self, environ: dict[str, Any]) -> str | None:
        """The client's microversion, where it is one that this is about, and that Nova has."""
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
                found = validate_all(specs, mode)
            except InvalidSpec as error:
                return _refuse(_told(error), microversion)(environ, start_response)
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
                    # Nova takes a newline at the end of a name.
                    _some(map(str, found)).replace('\n', '\\n'),
                )
            headers = [(name, named.get(name.lower(), value)) for name, value in headers]
            return start_response(status, headers, *more)

        return self._application(inner, answer)


def filter_factory(
    _global_conf: Mapping[str, str], **options: str
) -> Callable[[Application], ExtraSpecValidation]:
    """Make the filter for paste: ``use = egg:senlin-affinity#extra_spec_validation``."""
    if options:
        raise ValueError(f'extra_spec_validation has no options, but was given {sorted(options)}')
    from nova.api.openstack import api_version_request

    return lambda application: ExtraSpecValidation(
        application, lambda: str(api_version_request.max_api_version().get_string())
    )


def _call(environ: Mapping[str, Any]) -> str | None:
    """POST or PUT, if Nova's router takes it for this call (from ``?_method=``, too); else None."""
    path = _PATH.fullmatch(environ['PATH_INFO'])
    if path is None:
        return None
    call = 'PUT' if path[2] else 'POST'
    is_overridden = '_method' in environ.get('QUERY_STRING', '')
    return call if is_overridden or environ['REQUEST_METHOD'] == call else None


def _may(environ: Mapping[str, Any], call: str) -> bool:
    """May the user do this? Nova tells that before it looks at the values, and so is it here.

    Where the pipeline has not found out yet who the user is, nobody is let past the check.
    """
    context = environ.get('nova.context')
    return context is None or bool(context.can(_RULES[call], target={}, fatal=False))


def _specs(environ: dict[str, Any], call: str) -> dict[str, str] | None:
    """The extra specs of the body; None for one that Nova's schema refuses (its own 400).

    Errors: InvalidSpec for too many, or for a body of which the end is missing.
    """
    try:
        # Read as Nova reads it: webob puts the body back.
        body = json.loads(webob.Request(environ).body.decode())
    except (ValueError, RecursionError):
        return None
    except OSError as error:
        raise InvalidSpec('the body of the request is cut off') from error
    if call == 'POST':
        body = body.get('extra_specs') if isinstance(body, dict) else None
    # A text, or a number, which Nova makes a text of; True and False are none.
    if not isinstance(body, dict) or not {str, int, float}.issuperset(map(type, body.values())):
        return None
    specs = {name: str(value) for name, value in body.items()}
    if any(len(text) > _LONGEST for pair in specs.items() for text in pair):
        return None
    if len(specs) > MOST_NAMES:
        raise InvalidSpec(f'at most {MOST_NAMES} extra specs in one request, not {len(specs)}')
    return specs


def _told(error: InvalidSpec) -> str:
    return _some(error.errors) if isinstance(error, InvalidExtraSpec) else str(error)


def _some(told: Iterable[str]) -> str:
    """The first of what is to be told, and how many more there are."""
    parts = [*told]
    more = len(parts) - MOST_TOLD
    return '; '.join([*parts[:MOST_TOLD], f'and {more} more'] if more > 0 else parts)


def _refuse(words: str, microversion: str) -> webob.Response:
    """Nova's 400: its body, and the headers that it sends with every answer."""
    body = json.dumps({'badRequest': {'code': 400, 'message': words}}).encode()
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
    """The other parameters, as the client wrote them."""
    parts = query.split('&')
    return '&'.join(part for part in parts if [*dict(_pairs(part))] != [PARAMETER])
