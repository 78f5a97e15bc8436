"""The base class of the values of a cloud, and the types of their fields.

One definition of a value serves memory, the snapshot file and its JSON Schema. msgspec decodes a
file; code that creates a value in memory gives the right types itself.

Units: memory in MiB, disk in GiB. None is unknown, which is not the same as empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

#: The largest amount that Nova and Placement store.
_LARGEST = 2**31 - 1
#: A capacity is an amount times an allocation ratio.
_LARGEST_CAPACITY = 2**40

_NO_STRINGS = 'must be a list of strings'

Amount = Annotated[int, Meta(ge=0, le=_LARGEST)]
Size = Annotated[int, Meta(ge=1, le=_LARGEST)]
Capacity = Annotated[int, Meta(ge=0, le=_LARGEST_CAPACITY)]

if TYPE_CHECKING:
    Texts = frozenset[str]
else:

    class Texts(frozenset):
        """A set of strings. Equal sets of a file become one object (:class:`Decoding`)."""

        __slots__ = ()


class Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A value that does not change. A field that has its default is not written."""


class Decoding:
    """Convert the values of one file that JSON has no type for: the ``dec_hook`` of msgspec."""

    def __init__(self) -> None:
        self._sets: dict[tuple[type, tuple[object, ...]], Any] = {}

    def __call__(self, kind: Any, value: Any) -> Any:
        """Return an instance of ``kind``; raise ValueError for a value of another form."""
        if not issubclass(kind, frozenset):
            if type(value) is not dict:
                raise ValueError('must be an object')
            return kind(value)
        if type(value) is not list:
            raise ValueError(_NO_STRINGS)
        try:
            return self._sets[kind, (*value,)]
        except KeyError:
            if not all(type(each) is str for each in value):
                raise ValueError(_NO_STRINGS) from None
        except TypeError:  # a list in the list
            raise ValueError(_NO_STRINGS) from None
        made = self._sets[kind, (*value,)] = kind(value)
        return made
