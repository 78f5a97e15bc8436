"""Group the hosts of a snapshot into classes of hosts that constraints need not tell apart.

Hosts of one class agree in all fields but their names, their number of servers, and the figures of
their resources. Classes count from 0, in the order in which they appear.

Example::

    HostClasses.of([a, b, c]).numbers == [0, 1, 0]      # a and c differ in their free resources
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from senlin_affinity.model.host import Host


class ClassKey(NamedTuple):
    """The fields of a host that constraints may read per class, in a form that can be compared.

    ``resources`` are names; ``grants`` are queries, and whether they grant anything.
    """

    aggregates: frozenset[str]
    availability_zone: str | None
    disabled_reason: str | None
    enabled: bool
    hypervisor_type: str
    is_nested: bool
    is_partial: bool
    stale_aggregates: frozenset[str]
    traits: frozenset[str]
    unmirrored: frozenset[str]
    up: bool
    resources: tuple[str, ...] | None
    grants: tuple[tuple[str, bool], ...] | None


CLASS_FIELDS = frozenset(ClassKey._fields)
_values = attrgetter(*ClassKey._fields[:-2])


def class_key(host: Host) -> ClassKey:
    """Return a value that is equal for hosts of one class."""
    resources, grants = host.resources, host.grants
    classes = None if resources is None else (*resources,)
    granted = None if grants is None else (*((each.query, each.room > 0) for each in grants),)
    return ClassKey._make((*_values(host), classes, granted))


class HostClasses(NamedTuple):
    """The class of each host, an example of each class, and its number by its key.

    The keys are in the order of the numbers.
    """

    numbers: Sequence[int]
    examples: Sequence[Host]
    by_key: Mapping[ClassKey, int]

    @classmethod
    def of(cls, hosts: Iterable[Host]) -> HostClasses:
        """Return the classes of these hosts."""
        return cls([], [], {}).with_hosts(enumerate(hosts))

    def with_hosts(self, changed: Iterable[tuple[int, Host]]) -> HostClasses:
        """Return the classes with other hosts at these indexes, as ``CloudSnapshot.with_hosts``."""
        numbers, examples, by_key = [*self.numbers], [*self.examples], {**self.by_key}
        for index, host in changed:
            number = by_key.setdefault(class_key(host), len(examples))
            if number == len(examples):
                examples.append(host)
            numbers[index : index + 1] = (number,)
        return HostClasses(numbers, examples, by_key)
