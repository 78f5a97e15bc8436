"""Extra spec validators that do not load where they are needed, read in a process of their own.

Data flow: entry points come in; one child process (the same Python, environment and import path)
loads all of them, and writes what they define as JSON; definitions come out. A ``check`` is code
and stays behind: the child is started again for each value that it has to judge.

Shapes: questions on stdin, an answer to each on stdout::

    [["definitions", ["acme", "acme:VALIDATORS", "nova.extra_spec_validators"]], ...]
    [{"answer": [{"name": "acme:rack", "value": {"type": "str"}, ..., "is_checked": false}]}, ...]
    [["complaint", ["acme", ...], "acme:rack", "12"]]
    [{"answer": "must be of the form r[0-9]+"}]        or null for a value that is right
    [{"error": "..."}]

Units: ``TIMEOUT`` is in seconds; Nova takes one or two to load.

Errors: :func:`read` raises nothing, a PluginError stands in the place of the definitions; so does
an Unanswered for each entry point where the child gives no answer. A check raises ValueError and
PluginError.

Source: document 004.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint
from typing import Any

from senlin_affinity.core.errors import PluginError
from senlin_affinity.extra_specs.base import ExtraSpecValidator
from senlin_affinity.extra_specs.registry import Plugin, Unanswered, load
from senlin_affinity.plugins.nova_extra_specs import NovaValidator

TIMEOUT = 60
_TYPES = {kind.__name__: kind for kind in (bool, int, str)}
#: What a definition has besides the attributes of Nova's class.
_MORE = ('replaced_by', 'image_property', 'drivers', 'depends_on')


def read(entry_points: Sequence[EntryPoint]) -> list[Plugin | PluginError]:
    """Say what each of these entry points defines."""
    plugins = [Plugin(each.name, each.value, ()) for each in entry_points]
    try:
        answers = _ask(*(('definitions', _named(each)) for each in entry_points))
        return [
            PluginError(answer['error'])
            if 'error' in answer
            else replace(
                plugin, validators=tuple(_definition(each, source) for each in answer['answer'])
            )
            for plugin, source, answer in zip(plugins, entry_points, answers, strict=True)
        ]
    except PluginError as error:
        return [
            Unanswered(f'extra spec validators {plugin} do not load: {error}') for plugin in plugins
        ]


def _ask(*questions: Sequence[Any]) -> list[dict[str, Any]]:
    code = (
        f'import sys; sys.path[:] = {[*map(str, sys.path)]!a}; '
        f'from {__name__} import answer; answer()'
    )
    try:
        done = subprocess.run(
            [sys.executable or '', '-c', code],
            input=json.dumps(questions).encode(),
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PluginError(f'the process that loads them failed: {error}') from error
    try:
        # The status says little: under eventlet another part of the process may have taken it.
        return list(json.loads(done.stdout))
    except ValueError as error:
        last = done.stderr.decode(errors='replace').strip().rpartition('\n')[2]
        raise PluginError(
            f'the process that loads them ended with status {done.returncode}, '
            f'and no answer: {last or "it says nothing"}'
        ) from error


def _named(entry_point: EntryPoint) -> list[str]:
    return [entry_point.name, entry_point.value, entry_point.group]


def _definition(written: dict[str, Any], entry_point: EntryPoint) -> ExtraSpecValidator:
    value = {**written.pop('value')}
    value['type'] = _TYPES[value['type']]
    is_checked, name = written.pop('is_checked'), written['name']

    def check(value: Any) -> None:
        """A check that the child makes."""
        (answer,) = _ask(('complaint', _named(entry_point), name, str(value)))
        if 'error' in answer:
            raise PluginError(answer['error'])
        if answer['answer'] is not None:
            raise ValueError(answer['answer'])

    return ExtraSpecValidator(value=value, check=check if is_checked else None, **written)


# -- in the child


def answer() -> None:
    """Answer the questions, and end, whatever the packages leave running."""
    answers = os.dup(1)
    os.dup2(2, 1)  # a package may print
    said: list[dict[str, Any]] = []
    for function, *arguments in json.load(sys.stdin):
        try:
            said.append({'answer': _FUNCTIONS[function](*arguments)})
        except PluginError as error:
            said.append({'error': str(error)})
    with os.fdopen(answers, 'w') as file:
        json.dump(said, file)
    os._exit(0)


def _definitions(entry_point: Sequence[str]) -> list[dict[str, Any]]:
    return [_written(each) for each in _loaded(entry_point)]


def _complaint(entry_point: Sequence[str], name: str, value: str) -> str | None:
    return next(each for each in _loaded(entry_point) if each.name == name).complaint(value)


def _loaded(entry_point: Sequence[str]) -> list[ExtraSpecValidator]:
    """Each definition once: those with a check could not be compared where they are sent to."""
    found: list[ExtraSpecValidator] = []
    for each in load(EntryPoint(*entry_point)).validators:
        if each not in found:
            found.append(each)
    return found


def _written(definition: ExtraSpecValidator) -> dict[str, Any]:
    nova_s = NovaValidator(definition)
    return {
        'name': nova_s.name,
        'description': nova_s.description,
        'deprecated': nova_s.deprecated,
        'value': {**nova_s.value, 'type': definition.value.type.__name__},
        'parameters': nova_s.parameters,
        'is_checked': definition.check is not None,
        **{key: getattr(definition, key) for key in _MORE},
    }


_FUNCTIONS: dict[str, Callable[..., Any]] = {'definitions': _definitions, 'complaint': _complaint}
