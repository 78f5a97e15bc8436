"""Validate the extra specs of a flavor in one of three modes.

In mode ``strict``, every name needs a definition and every value must be valid. In mode
``permissive``, names without a definition pass and are returned. Mode ``off`` checks nothing.

Raises: InvalidExtraSpec with one sentence for each error, including a name that is not a string;
InvalidSpec for an unknown mode, and for extra specs that are not a mapping; PluginError for a name
that only a plugin which failed to load can define, and for a name that two plugins define.

Deviation from Nova, which ignores names without a namespace or with an unknown one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from senlin_affinity.extra_specs.base import EXTRA_SPEC
from senlin_affinity.extra_specs.registry import Registry, available, own
from senlin_affinity.extra_specs.releases import UNTIL, Releases
from senlin_affinity.model.errors import InvalidExtraSpec, InvalidSpec, PluginError

STRICT = 'strict'
PERMISSIVE = 'permissive'
OFF = 'off'
MODES = (STRICT, PERMISSIVE, OFF)


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
    found = _judge(name, value, mode, registry, nova)
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
    found = judge(extra_specs, mode, registry, nova)
    errors = [str(finding) for finding in found if finding.is_error]
    if errors:
        raise InvalidExtraSpec(errors)
    return found


def judge(
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
    found = (_judge(name, extra_specs[name], mode, registry, nova) for name in names)
    return tuple(finding for finding in found if finding is not None)


def _check_mode(mode: object) -> None:
    if not isinstance(mode, str) or mode not in MODES:
        raise InvalidSpec(f'the mode must be one of {", ".join(MODES)}, not {mode!r}')


def _judge(
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
    if validator is not None:
        message = validator.complaint(value)
        if message is not None:
            return Finding(name, value, message, is_error=True)
        message = validator.note(value)
        if message is not None:
            return Finding(name, value, message)
    message = nova.unknown(name) if nova is not None else None
    if message is not None:
        return Finding(name, value, message, is_error=mode == STRICT)
    if validator is not None or (nova is not None and name in UNTIL):
        return None
    suggestion = known.suggest(name)
    is_error = mode == STRICT
    package = 'define it in a package, or ' if known.kind == EXTRA_SPEC else ''
    advice = f': {package}use the mode permissive' if is_error else ''
    hint = advice if suggestion is None else f': did you mean {suggestion}?'
    message = f'no {known.kind} of this name is known{hint}'
    return Finding(name, value, message, suggestion, is_error)
