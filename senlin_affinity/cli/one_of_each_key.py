"""YAML in which each key of a mapping is written once: PyYAML itself keeps the last of several.

Errors: yaml.composer.ComposerError, with the line of the second one.
"""

from __future__ import annotations

from typing import Any

import yaml


class Loader(yaml.SafeLoader):
    """The loader of ``yaml.safe_load``, which refuses a duplicate key."""

    def compose_mapping_node(self, anchor: Any) -> Any:
        """Read a mapping as it is written: nothing is merged into it yet."""
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _value in node.value:
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in seen:
                    raise yaml.composer.ComposerError(
                        None, None, f'duplicate key {key.value!r}', key.start_mark
                    )
                seen.add((key.tag, key.value))
        return node
