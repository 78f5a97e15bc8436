"""Validate, list and export the extra specs of flavors, and the properties of images.

Exit status 3: a name or a value is not valid.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

from senlin_affinity.cli import base
from senlin_affinity.extra_specs import (
    MODES,
    OFF,
    STRICT,
    combinations,
    findings,
    image_properties,
    metadef,
    render,
    same_names,
)
from senlin_affinity.extra_specs.base import EXTRA_SPEC, IMAGE_PROPERTY, Namespace
from senlin_affinity.extra_specs.findings import against_schema
from senlin_affinity.extra_specs.registry import Registry, available, installed
from senlin_affinity.extra_specs.releases import Releases
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.nova.instance_extra_specs import NOVAS

VERDICTS = ('name', 'value', 'verdict', 'message')
COLUMNS = ('name', 'value', 'status', 'description')
#: The note about a name without a namespace.
_UNSCOPED = f'rejects every host where {NOVAS} is enabled, except in aggregates with this key'
#: The message about a name that MySQL does not distinguish from another one.
_SAME = 'MySQL takes it for {}: where Nova uses MySQL, its API answers 409'
_REGISTRIES: Mapping[str, Callable[[], Registry]] = {
    EXTRA_SPEC: installed,
    IMAGE_PROPERTY: image_properties.registry,
}


class ValidateExtraSpecs(base.Lister):
    """Validate extra specs of a flavor, and report all errors."""

    example = 'hw:cpu_policy=dedicated'
    kind = EXTRA_SPEC

    def _add_arguments(self, add: base.Add) -> None:
        add('specs', metavar='NAME=VALUE', nargs='+', help=f'an {self.kind} and its value')
        add(
            '--mode',
            choices=MODES,
            default=STRICT,
            help='strict (default) rejects unknown names; permissive reports them as "let '
            'through"; off checks nothing',
        )
        add(
            '--nova-release',
            metavar='N',
            type=_release,
            help='the release of Nova, such as 26 (Zed), or 30.2 (default: the newest)',
        )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Return a row for each name; set exit status 3 if one is invalid."""
        specs = _read(parsed_args.specs)
        registry = None if self.kind == EXTRA_SPEC else _REGISTRIES[self.kind]()
        nova = parsed_args.nova_release
        found = findings(specs, parsed_args.mode, registry, nova)
        is_checked = self.kind == EXTRA_SPEC and parsed_args.mode != OFF
        status = 'not checked' if parsed_args.mode == OFF else 'valid'
        shown = {
            each.name: ('invalid' if each.is_error else 'let through', each.message)
            for each in found
        }
        together = combinations.errors(specs, nova) if is_checked else {}
        shown = {name: ('invalid', words) for name, words in together.items()} | shown
        unchecked = combinations.notes(specs, nova) if is_checked else {}
        for name, earlier in same_names(specs) if is_checked else ():
            words = (shown.get(name, ('', ''))[1], _SAME.format(earlier))
            shown[name] = ('invalid', '; '.join(filter(None, words)))
        if together or any(verdict == 'invalid' for verdict, _message in shown.values()):
            self.exit_status = 3
        known = registry or available()
        rows = []
        for name, value in specs.items():
            verdict, message = shown.get(name, (status, _deprecation(name, known)))
            is_noted = is_checked and ':' not in name and against_schema(name, value) is None
            of_rules = unchecked.get(name, '') if verdict == status else ''
            messages = filter(None, (message, of_rules, _UNSCOPED if is_noted else ''))
            rows.append((name, value, verdict, '; '.join(messages)))
        return VERDICTS, rows


class ListExtraSpecs(base.Lister):
    """List the known extra specs, including those that installed packages define."""

    example = '--namespace hw'
    kind = EXTRA_SPEC

    def _add_arguments(self, add: base.Add) -> None:
        _add_namespace(add)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Shown:
        """Return a row for each definition."""
        return COLUMNS, [
            (each.name, each.value.wanted(), each.status, render.plain(each.description))
            for namespace in _chosen(parsed_args.namespace, self.kind)
            for each in render.ordered(namespace)
        ]


class ExportExtraSpecs(base.Command):
    """Write the definitions as pages (rst), or for Glance's metadata catalogue (metadef)."""

    example = '--format rst --output-dir pages'
    kind = EXTRA_SPEC

    def _add_arguments(self, add: base.Add) -> None:
        add('--format', choices=('rst', 'metadef'), required=True, help='pages, or JSON for Glance')
        add(
            '--output-dir',
            metavar='DIR',
            help='write one file for each namespace to this directory (default: write to stdout)',
        )
        _add_namespace(add)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Write the definitions to files, or to stdout."""
        chosen = _chosen(parsed_args.namespace, self.kind)
        if parsed_args.format == 'rst':
            pages = {f'{render.slug(each)}.rst': render.page(each) for each in chosen}
            together = '\n'.join(pages.values())
        else:
            exported = {f'{render.slug(each)}.json': metadef.namespace(each) for each in chosen}
            exported = {name: each for name, each in exported.items() if each['properties']}
            pages = {name: metadef.text(each) for name, each in exported.items()}
            together = metadef.text(list(exported.values()))
        if parsed_args.output_dir is None:
            self.app.stdout.write(together)
            return
        directory = Path(parsed_args.output_dir)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            for name, text in pages.items():
                (directory / name).write_text(text, encoding='utf-8')
        except OSError as error:
            raise base.UsageError(f'{directory} cannot be written: {error.strerror}') from error


class ValidateImageProperties(ValidateExtraSpecs):
    """Check image properties as Nova reads them, and report all errors."""

    example = 'hw_vif_model=virtio'
    kind = IMAGE_PROPERTY


class ListImageProperties(ListExtraSpecs):
    """List the image properties that Nova reads."""

    example = '--namespace os'
    kind = IMAGE_PROPERTY


class ExportImageProperties(ExportExtraSpecs):
    """Write the definitions of image properties as pages (rst), or for Glance (metadef)."""

    example = '--format metadef --namespace hw'
    kind = IMAGE_PROPERTY


def _deprecation(name: str, registry: Registry) -> str:
    """Return the replacement of a deprecated definition; '' if it is not deprecated."""
    known = registry.find(name)
    if known is None or not known.deprecated:
        return ''
    return f'deprecated{f": use {known.replaced_by}" if known.replaced_by else ""}'


def _release(text: str) -> Releases:
    try:
        return Releases.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _read(pairs: list[str]) -> dict[str, str]:
    specs: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition('=')
        if not equals or not name:
            raise base.UsageError(f'write NAME=VALUE, not {pair!r}')
        if specs.setdefault(name, value) != value:
            raise base.UsageError(f'{name} is given twice, with different values')
    return specs


def _add_namespace(add: base.Add) -> None:
    add(
        '--namespace',
        metavar='NAME',
        action='append',
        help='limit the output to this namespace (may be repeated); '
        f'"{render.NO_NAMESPACE}" stands for names without a namespace',
    )


def _chosen(names: list[str] | None, kind: str) -> tuple[Namespace, ...]:
    known = {render.slug(each): each for each in render.namespaces(_REGISTRIES[kind]())}
    for name in names or ():
        if name not in known:
            raise InvalidSpec(f'unknown namespace: {name!r} (namespaces: {", ".join(known)})')
    return tuple(each for name, each in known.items() if name in (names or known))
