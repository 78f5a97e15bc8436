"""Change frozen values: Structs of msgspec and dataclasses."""

import dataclasses

import msgspec


def replace(value, /, **changes):
    """Return the value with other fields."""
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.replace(value, **changes)
    return dataclasses.replace(value, **changes)
