"""Judges the extra specs of a flavor, in one of three modes.

Modes: with ``strict`` every name needs a definition, and every value must be what it says; with
``permissive``, names that nothing defines pass, and are handed back; ``off`` looks at nothing.

Errors: InvalidExtraSpec with one sentence for each error, all of them: a name that is no string is
one; InvalidSpec for another word than the three modes, and for extra specs that are no mapping;
PluginError for a name that only an installed package which does not load can define, and for one
that two of them define.

Source: document 004. We differ from Nova on purpose: it never looks at names without a namespace,
or with one that it does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from senlin_affinity.core.errors import InvalidExtraSpec, InvalidSpec, PluginError
from senlin_affinity.extra_specs.registry import Registry, available, own

STRICT = 'strict'
PERMISSIVE = 'permissive'
OFF = 'off'
MODES = (STRICT, PERMISSIVE, OFF)


@dataclass(frozen=True)
class Finding:
    """What is to be said of one extra spec; its text begins with the name.

    ``is_error`` is False for a name that permissive mode lets through. ``suggestion`` is the known
    name that was likely meant, None where there is none or where the name is known.
    """

    name: str
    value: str
    message: str
    suggestion: str | None = None
    is_error: bool = False

    def __str__(self) -> str:
        return f'{self.name}: {self.message}'


def validate(
    name: str, value: str, mode: str = STRICT, registry: Registry | None = None
) -> Finding | None:
    """Check one extra spec; what comes back is a name that permissive mode lets through."""
    _check_mode(mode)
    found = _judge(name, value, mode, registry)
    if found is not None and found.is_error:
        raise InvalidExtraSpec([str(found)])
    return found


def validate_all(
    extra_specs: Mapping[str, str], mode: str = STRICT, registry: Registry | None = None
) -> tuple[Finding, ...]:
    """Check all extra specs of a flavor; what comes back is let through by permissive mode."""
    found = judge(extra_specs, mode, registry)
    errors = [str(finding) for finding in found if finding.is_error]
    if errors:
        raise InvalidExtraSpec(errors)
    return found


def judge(
    extra_specs: Mapping[str, str], mode: str = STRICT, registry: Registry | None = None
) -> tuple[Finding, ...]:
    """What is to be said of these extra specs, errors or not, in the order of their names."""
    _check_mode(mode)
    if not isinstance(extra_specs, Mapping):
        raise InvalidSpec(f'must be a mapping of names to values, not {extra_specs!r}')
    names = sorted(extra_specs, key=str)
    found = (_judge(name, extra_specs[name], mode, registry) for name in names)
    return tuple(finding for finding in found if finding is not None)


def _check_mode(mode: object) -> None:
    if not isinstance(mode, str) or mode not in MODES:
        raise InvalidSpec(f'the mode must be one of {", ".join(MODES)}, not {mode!r}')


def _judge(name: str, value: str, mode: str, registry: Registry | None) -> Finding | None:
    if mode == OFF:
        return None
    if not isinstance(name, str):
        return Finding(repr(name), value, 'the name must be a string', is_error=True)
    known = registry or own()
    validator = known.find(name)
    if validator is None and registry is None:
        # No plugin has a say in what this project defines.
        known = available()
        validator = known.find(name)
    missing = known.missing_for(name) if known.missing else ()
    if missing:
        why = '' if validator is not None else ', as nothing that loads defines it'
        raise PluginError(
            f'{name} cannot be judged{why}: {"; ".join(map(str, missing))}'
        ) from missing[0]
    if validator is not None:
        message = validator.complaint(value)
        return None if message is None else Finding(name, value, message, is_error=True)
    suggestion = known.suggest(name)
    is_error = mode == STRICT
    advice = ': define it in a package, or use permissive' if is_error else ''
    hint = advice if suggestion is None else f': did you mean {suggestion}?'
    message = f'no extra spec of this name is known{hint}'
    return Finding(name, value, message, suggestion, is_error)
