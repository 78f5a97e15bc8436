"""Load YAML, but reject duplicate keys and documents that aliases make too large.

PyYAML keeps the last of several equal keys, and expands aliases: a kilobyte of nested ones takes
minutes.
"""

from __future__ import annotations

import os
from typing import Any

import yaml

from senlin_affinity.cloud import input_file
from senlin_affinity.model.errors import InvalidSpec

_NODES, _DIGITS = 100_000, 100


def load(path: str | os.PathLike[str]) -> Any:
    """Return the one document of a YAML (or JSON) file.

    Raise OSError for a file that cannot be read, and InvalidSpec (with the path of the file, and
    the line) for invalid content.
    """
    try:
        data = input_file.read(path, input_file.LARGEST_TEXT)
    except InvalidSpec as error:
        raise InvalidSpec(str(error), os.fspath(path)) from error
    return parse(data, os.fspath(path))


def parse(data: bytes | bytearray, name: str) -> Any:
    """Return the document in the content of a file; raise InvalidSpec with the name."""
    try:
        return yaml.load(data.decode(), Loader)
    except UnicodeDecodeError as error:
        raise InvalidSpec('is not UTF-8 text', name) from error
    except InvalidSpec as error:
        raise InvalidSpec(str(error), name) from error
    except yaml.YAMLError as error:
        mark = getattr(error, 'problem_mark', None)
        where = f' in line {mark.line + 1}, column {mark.column + 1}' if mark else ''
        problem = getattr(error, 'problem', None) or str(error)
        raise InvalidSpec(f'is not valid YAML{where}: {problem}', name) from error
    except Exception as error:
        # PyYAML raises other errors for an invalid date, deep nesting, or "!!bool maybe".
        why = f'{type(error).__name__}: {error}'
        raise InvalidSpec(f'is not valid YAML: {why}', name) from error


class Loader(yaml.SafeLoader):
    """A ``yaml.SafeLoader`` with these checks."""

    def compose_mapping_node(self, anchor: Any) -> Any:
        """Compose a mapping; raise ComposerError if two keys have the same text and type.

        A key may override one that a merge key (``<<``) supplies.
        """
        node = super().compose_mapping_node(anchor)
        keys = set()
        for key, _value in node.value:
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in keys:
                    raise yaml.composer.ComposerError(
                        None, None, f'duplicate key {key.value!r}', key.start_mark
                    )
                keys.add((key.tag, key.value))
        return node

    def get_single_node(self) -> Any:
        """Compose the document; raise ComposerError if its aliases make it too large."""
        node = super().get_single_node()
        if node is not None:
            _count(node, {})
        return node

    def _number(self, node: Any) -> Any:
        """Convert an int or float; raise ConstructorError for more than 100 characters."""
        if len(node.value) > _DIGITS:
            raise yaml.constructor.ConstructorError(
                None, None, f'a number has more than {_DIGITS} digits', node.start_mark
            )
        is_int = node.tag.endswith(':int')
        return self.construct_yaml_int(node) if is_int else self.construct_yaml_float(node)


for _kind in ('int', 'float'):
    Loader.add_constructor(f'tag:yaml.org,2002:{_kind}', Loader._number)


def _count(node: Any, known: dict[int, int]) -> int:
    """Count the nodes with all aliases expanded; raise ComposerError for more than 100,000.

    :param known: the results by ``id()``.
    """
    if isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = _NODES  # if it contains itself, it has no end
    inner = node.value
    if isinstance(node, yaml.MappingNode):
        inner = [each for pair in inner for each in pair]
    total = 1 + sum(_count(each, known) for each in inner)
    if total > _NODES:
        raise yaml.composer.ComposerError(
            None, None, f'its aliases expand to more than {_NODES:,} values', node.start_mark
        )
    known[id(node)] = total
    return total
