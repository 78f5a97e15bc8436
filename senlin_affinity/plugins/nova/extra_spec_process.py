"""Load extra spec validators in a child process, because Nova and Senlin cannot share a process.

Packages with validators import Nova. In a Senlin engine, Nova's options collide with Senlin's:
``import nova.conf`` raises DuplicateOptError (``host``, ``workers``), and would break the engine.

One child process (the same Python, environment and import path) loads all entry points, and writes
their definitions as JSON. If the child fails, because a package hangs or ends it, each package gets
its own child, so that the error names the package. A ``check`` is code and cannot be transferred:
each value that it checks starts the child again.

Example: questions on stdin, an answer to each on stdout::

    [["definitions", ["acme", "acme:VALIDATORS", "nova.extra_spec_validators"]], ...]
    [{"answer": [{"name": "acme:rack", "value": {"type": "str"}, ..., "is_checked": false}]}, ...]
    [["complaint", ["acme", ...], "acme:rack", "12"]]
    [{"answer": "must be of the form r[0-9]+"}]        or null for a valid value
    [{"error": "..."}]

Raises: nothing from :func:`read`. A check raises ValueError and PluginError.
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

from senlin_affinity.extra_specs.base import ExtraSpecValidator
from senlin_affinity.extra_specs.registry import Plugin, Unanswered, load
from senlin_affinity.model.errors import PluginError
from senlin_affinity.plugins.nova.extra_specs import NovaValidator

#: In seconds; Nova loads in one or two.
TIMEOUT = 30
_TYPES = {kind.__name__: kind for kind in (bool, int, str)}
#: The fields of a definition that Nova's class lacks.
_MORE = ('replaced_by', 'image_property', 'drivers', 'depends_on')


def read(entry_points: Sequence[EntryPoint]) -> list[Plugin | PluginError]:
    """Return the definitions of each entry point, or the PluginError that replaces them.

    It is an Unanswered if no child could be started.
    """
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
        if len(entry_points) > 1 and not isinstance(error, Unanswered):
            return [found for each in entry_points for found in read([each])]
        words = f'extra spec validators {{}} do not load: {error}'
        return [type(error)(words.format(plugin)) for plugin in plugins]


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
    except subprocess.TimeoutExpired as error:
        why = f'did not end within {error.timeout} seconds'
        raise PluginError(f'the process that loads them {why}') from error
    except OSError as error:
        raise Unanswered(f'the process that loads them failed: {error}') from error
    try:
        # Ignore the status: under eventlet, another part of the process may have read it.
        return list(json.loads(done.stdout))
    except ValueError as error:
        last = done.stderr.decode(errors='replace').strip().rpartition('\n')[2]
        raise PluginError(
            f'the process that loads them ended with status {done.returncode} '
            f'without an answer: {last or "no output"}'
        ) from error


def _named(entry_point: EntryPoint) -> list[str]:
    return [entry_point.name, entry_point.value, entry_point.group]


def _definition(written: dict[str, Any], entry_point: EntryPoint) -> ExtraSpecValidator:
    value = {**written.pop('value')}
    value['type'] = _TYPES[value['type']]
    is_checked, name = written.pop('is_checked'), written['name']

    def check(value: Any) -> None:
        """Check a value in the child process."""
        (answer,) = _ask(('complaint', _named(entry_point), name, str(value)))
        if 'error' in answer:
            raise PluginError(answer['error'])
        if answer['answer'] is not None:
            raise ValueError(answer['answer'])

    return ExtraSpecValidator(value=value, check=check if is_checked else None, **written)


# -- in the child


def answer() -> None:
    """Answer the questions, and exit even if a package left threads running."""
    answers = os.dup(1)
    os.dup2(2, 1)  # a package may print
    results: list[dict[str, Any]] = []
    for function, *arguments in json.load(sys.stdin):
        try:
            results.append({'answer': _FUNCTIONS[function](*arguments)})
        except PluginError as error:
            results.append({'error': str(error)})
    with os.fdopen(answers, 'w') as file:
        json.dump(results, file)
    os._exit(0)


def _definitions(entry_point: Sequence[str]) -> list[dict[str, Any]]:
    return [_written(each) for each in _loaded(entry_point)]


def _complaint(entry_point: Sequence[str], name: str, value: str) -> str | None:
    return next(each for each in _loaded(entry_point) if each.name == name).complaint(value)


def _loaded(entry_point: Sequence[str]) -> list[ExtraSpecValidator]:
    """Return each definition once; the parent could not compare those with a check."""
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
