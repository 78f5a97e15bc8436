"""Group the hosts of a snapshot into classes of hosts that constraints need not tell apart.

Hosts of one class agree in all fields but their names, their number of servers, and the figures of
their resources. A constraint that reads neither names nor figures is evaluated once per class.

Example::

    HostClasses.of([a, b, c]).numbers == [0, 1, 0]      # a and c differ in their free resources

Units: classes count from 0, in the order in which they appear.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from senlin_affinity.model.host import Host

_COMPARED = """
    aggregates availability_zone disabled_reason enabled hypervisor_type is_nested is_partial
    stale_aggregates traits unmirrored up
"""
_values = attrgetter(*_COMPARED.split())
#: The fields of a host that a constraint may read per class. Of ``resources``, only the names of
#: the resource classes count, and of ``grants`` the queries, and whether they grant anything.
CLASS_FIELDS = frozenset((*_COMPARED.split(), 'resources', 'grants'))


class ClassKey(NamedTuple):
    """The fields that can be compared, and what counts of ``resources`` and ``grants``."""

    values: Hashable
    resources: tuple[str, ...] | None
    grants: tuple[tuple[str, bool], ...] | None


def class_key(host: Host) -> ClassKey:
    """Return a value that is equal for hosts of one class."""
    grants, resources = host.grants, host.resources
    return ClassKey(
        _values(host),
        None if resources is None else (*resources,),
        None if grants is None else (*((grant.query, grant.room > 0) for grant in grants),),
    )


class HostClasses(NamedTuple):
    """The class of each host, an example of each class, and the number of each class by its key.

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
        """Return the classes with other hosts at these indexes, in ascending order.

        Indexes after the last host append hosts.
        """
        numbers, examples, by_key = [*self.numbers], [*self.examples], {**self.by_key}
        for index, host in changed:
            number = by_key.setdefault(class_key(host), len(examples))
            if number == len(examples):
                examples.append(host)
            numbers[index : index + 1] = (number,)
        return HostClasses(numbers, examples, by_key)
