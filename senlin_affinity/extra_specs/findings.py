"""Validate the extra specs of a flavor in one of three modes.

In mode ``strict``, every name needs a definition and every value must be valid. In mode
``permissive``, names without a definition pass and are returned. Mode ``off`` checks nothing.

Raises: InvalidExtraSpec with one sentence for each error, including a name that is not a string;
InvalidSpec for an unknown mode, and for extra specs that are not a mapping; PluginError for a name
that only a plugin which failed to load can define, and for a name that two plugins define.

Of a name that has no definition, the finding says what Nova does: its API rejects the name, Nova
ignores the name, or Nova reads it although its API rejects it.

Source: ``nova/api/openstack/compute/schemas/flavors_extraspecs.py`` and
``nova/api/validation/extra_specs/validators.py``. Deviation: strict mode rejects names without a
namespace or with an unknown one, which Nova's API accepts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from senlin_affinity.extra_specs import hints, image_properties
from senlin_affinity.extra_specs.base import EXTRA_SPEC
from senlin_affinity.extra_specs.registry import Registry, available, own
from senlin_affinity.extra_specs.releases import NEWEST, REMOVED, SINCE, UNREAD, Releases
from senlin_affinity.model.errors import InvalidExtraSpec, InvalidSpec, PluginError

STRICT = 'strict'
PERMISSIVE = 'permissive'
OFF = 'off'
MODES = (STRICT, PERMISSIVE, OFF)
#: The limit of the schema of Nova's request for a name and for a value.
LONGEST = 255
#: Nova's pattern ends with a $, which also matches before a newline.
_ALLOWED = re.compile(r'[a-zA-Z0-9\-_:. ]*\n?')
_READ_BUT_REJECTED = '{} reads this name, but its API rejects it{}: set it with microversion 2.85'


@dataclass(frozen=True)
class Finding:
    """A finding about one extra spec; its text begins with the name.

    ``is_error`` is False for a name that permissive mode accepts. ``suggestion`` is the known name
    that an unknown one resembles, if any.
    """

    name: str
    value: str
    message: str
    suggestion: str | None = None
    is_error: bool = False

    def __str__(self) -> str:
        return f'{self.name}: {self.message}'


def validate(
    name: str,
    value: str,
    mode: str = STRICT,
    registry: Registry | None = None,
    nova: Releases | None = None,
) -> Finding | None:
    """Check one extra spec; return the finding of a name that permissive mode accepts, or None.

    :param nova: the releases of the Nova in use; None: the newest one.
    """
    _check_mode(mode)
    found = _finding(name, value, mode, registry, nova)
    if found is not None and found.is_error:
        raise InvalidExtraSpec([str(found)])
    return found


def validate_all(
    extra_specs: Mapping[str, str],
    mode: str = STRICT,
    registry: Registry | None = None,
    nova: Releases | None = None,
) -> tuple[Finding, ...]:
    """Check all extra specs of a flavor; return the findings that permissive mode accepts."""
    found = findings(extra_specs, mode, registry, nova)
    errors = [str(finding) for finding in found if finding.is_error]
    if errors:
        raise InvalidExtraSpec(errors)
    return found


def findings(
    extra_specs: Mapping[str, str],
    mode: str = STRICT,
    registry: Registry | None = None,
    nova: Releases | None = None,
) -> tuple[Finding, ...]:
    """Return the findings about extra specs, errors included, in the order of the names."""
    _check_mode(mode)
    if not isinstance(extra_specs, Mapping):
        raise InvalidSpec(f'must be a mapping of names to values, not {extra_specs!r}')
    names = sorted(extra_specs, key=str)
    found = (_finding(name, extra_specs[name], mode, registry, nova) for name in names)
    return tuple(finding for finding in found if finding is not None)


def _check_mode(mode: object) -> None:
    if not isinstance(mode, str) or mode not in MODES:
        raise InvalidSpec(f'the mode must be one of {", ".join(MODES)}, not {mode!r}')


def _finding(
    name: str, value: str, mode: str, registry: Registry | None, nova: Releases | None
) -> Finding | None:
    if mode == OFF:
        return None
    if not isinstance(name, str):
        return Finding(repr(name), value, 'the name must be a string', is_error=True)
    known = registry or own()
    validator = known.find(name)
    if validator is None and registry is None:
        known = available()
        validator = known.find(name)
    missing = known.missing_for(name) if known.missing else ()
    if missing:
        why = '' if validator is not None else ', because a plugin that may define it is missing'
        raise PluginError(
            f'{name} cannot be checked{why}: {"; ".join(map(str, missing))}'
        ) from missing[0]
    message = against_schema(name, value) if known.kind == EXTRA_SPEC else None
    if message is None and validator is not None:
        message = validator.complaint(value)
        if message is None and nova is not None:
            message = nova.unknown_value(name, value)
    if message is not None:
        return Finding(name, value, message, is_error=True)
    if validator is None:
        return _of_unknown_name(name, value, mode, known, nova)
    message = validator.note(value)
    if message is not None:
        return Finding(name, value, message)
    return _of_release(name, value, mode, nova) if nova is not None else None


def against_schema(name: str, value: object) -> str | None:
    """Return why the schema of Nova's request rejects a name or value, in every microversion."""
    if not name:
        return 'a name must not be empty'
    if _ALLOWED.fullmatch(name) is None:
        return 'Nova allows only letters (A to Z), digits, spaces and -_:. in a name'
    for what, text in (('name', name.removesuffix('\n')), ('value', str(value))):
        if len(text) > LONGEST:
            return f'Nova allows at most {LONGEST} characters in a {what}, not {len(text)}'
    return None


def _of_release(name: str, value: str, mode: str, nova: Releases) -> Finding | None:
    """Return a finding about a defined name that these releases do not accept."""
    is_known, repaired = nova.knows(name), nova.repaired(name)
    if nova.reads(name) and (is_known is False or (is_known is None and repaired)):
        before = f' before {repaired}' if is_known is None else ''
        message = _READ_BUT_REJECTED.format(nova, before)
    elif is_known is not False:
        return None
    elif ':' in name:
        message = f'the API of {nova} rejects this name; Nova {SINCE[name][0][0]} knows it'
    else:
        message = f'{nova} ignores this property; Nova {SINCE[name][0][0]} reads it'
    return Finding(name, value, message, is_error=mode == STRICT and is_known is False)


def _of_unknown_name(
    name: str, value: str, mode: str, known: Registry, nova: Releases | None
) -> Finding | None:
    """Return a finding about a name without a definition.

    None for a name that an earlier release reads, and these releases know.
    """
    subject, nova = 'Nova' if nova is None else str(nova), nova or NEWEST
    is_spec, is_error = known.kind == EXTRA_SPEC, mode == STRICT
    suggestion, hint = known.suggest(name), hints.of_name(name) if is_spec else None
    if name in REMOVED and nova.knows(name) is not False:
        if name not in UNREAD:
            return None
        message, is_error = f'the API of {subject} accepts this name, but nothing reads it', False
    elif is_spec and suggestion is None and nova.reads(name):
        message = _READ_BUT_REJECTED.format(subject, '')
        return Finding(name, value, message, is_error=is_error)
    elif is_spec and _is_in_namespace_of_nova(name, known, nova):
        message = f'the API of {subject} rejects this name'
    elif is_spec and ':' in name and not known.is_in_namespace_of_plugin(name):
        message = f'{subject} ignores this name'
    else:
        message = f'no {known.kind} of this name is known'
    if suggestion is not None:
        hint = f'did you mean {suggestion}?'
    elif hint is None and is_spec:
        hint = _of_image(name, nova)
    if hint is None and name in REMOVED:
        message += f'; Nova {REMOVED[name][0][0] - 1} was the last one that knew it'
    elif hint is None and is_error:
        hint = f'{"define it in a package, or " if is_spec else ""}use the mode permissive'
    return Finding(name, value, ': '.join(filter(None, (message, hint))), suggestion, is_error)


def _is_in_namespace_of_nova(name: str, known: Registry, nova: Releases) -> bool:
    """Check whether Nova's API knows other names in the namespace of a name."""
    namespace = f'{name.partition(":")[0]}:'
    removed = (each for each in REMOVED if each.startswith(namespace))
    return known.is_in_own_namespace(name) or any(map(nova.knows, removed))


def _of_image(name: str, nova: Releases) -> str | None:
    """Return the hint for an extra spec that these releases read as an image property."""
    meant = name.replace(':', '_', 1)
    is_known = image_properties.registry().find(meant) is not None and nova.knows(meant)
    return f'set the image property {meant} instead' if is_known else None


def same_names(names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return each name that MySQL does not distinguish from an earlier one, with that one.

    Nova's table has MySQL's default collation, which ignores case and blanks at the end. Nova then
    answers 409 to the later name, or to both if they are in one request.
    """
    seen: dict[str, str] = {}
    pairs = ((name, seen.setdefault(name.rstrip(' ').lower(), name)) for name in names)
    return tuple((name, earlier) for name, earlier in pairs if name != earlier)
