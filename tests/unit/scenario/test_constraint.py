"""A constraint is evaluated once for each class of hosts."""

import pytest

from senlin_affinity.constraints.base import Constraint, Host, Reason, Verdict
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import ConstraintError
from senlin_affinity.scenario.scenario import Scenario
from tests.support.asked import NamedRequest, with_values

A, B = frozenset({'A'}), frozenset({'B'})
HOSTS = (Host('cmp-1', traits=A), Host('cmp-2', traits=B), Host('cmp-3', traits=A))


class Licence(Constraint):
    """Hosts need a trait; ``calls`` has the traits of each host that was checked."""

    name, order, summary, needs, reads = 'licence', 1, 'a trait', ('hosts',), ('traits',)
    reasons = {
        'licence.none': Reason('no licence'),
        'licence.ok': Reason('ok'),
        'licence.missing': Reason('lacks {trait}', advice='add hosts'),
    }
    calls = []

    def prepare(self, request, cloud):
        wanted = request.unknown_flavor
        return wanted or Verdict.skipped('licence.none')

    def check(self, asked, host, cloud):
        self.calls.append(host.traits)
        if asked in host.traits:
            return Verdict.passed('licence.ok')
        return Verdict.rejected('licence.missing', trait=asked)


class AnyOf(Licence):
    """Instances with different traits."""

    def __init__(self, trait):
        self.trait = trait

    def check(self, asked, host, cloud):
        return super().check(self.trait, host, cloud)


def evaluated(constraint, wanted, cloud):
    constraint.calls.clear()
    resolved = with_values(NamedRequest(1, wanted), cloud)
    column = constraint.column(resolved.request, Scenario.of(cloud))
    return [column.verdict(index).code for index in range(len(HOSTS))], len(constraint.calls)


def test_check_is_called_once_for_equal_hosts_and_once_for_equal_requests():
    cloud, (ok, missing) = Cloud(HOSTS), ('licence.ok', 'licence.missing')
    assert evaluated(Licence(), 'A', cloud) == ([ok, missing, ok], 2)
    assert evaluated(Licence(), 'A', cloud) == ([ok, missing, ok], 0)
    assert evaluated(Licence(), 'B', cloud) == ([missing, ok, missing], 2)
    assert evaluated(Licence(), '', cloud) == (['licence.none'] * 3, 0)


def test_instances_with_attributes_do_not_share_verdicts():
    cloud, (ok, missing) = Cloud(HOSTS), ('licence.ok', 'licence.missing')
    assert evaluated(AnyOf('A'), 'any', cloud) == ([ok, missing, ok], 2)
    assert evaluated(AnyOf('B'), 'any', cloud) == ([missing, ok, missing], 2)


def read_other_field(self, asked, host, cloud):
    return host.aggregates


@pytest.mark.parametrize(
    ('check', 'why'),
    [
        (read_other_field, "AttributeError: 'aggregates' is not in reads"),
        (lambda self, asked, host, cloud: asked.rack, "AttributeError: 'str' object has no"),
        (lambda self, asked, host, cloud: {}['rack'], "KeyError: 'rack'"),
        (lambda self, asked, host, cloud: True, 'ValueError: the answer must be a Verdict'),
    ],
)
def test_an_error_names_the_first_host_of_the_class(check, why):
    def fails(self, asked, host, cloud):
        if 'B' in host.traits:
            return check(self, asked, host, cloud)
        return Verdict.passed('licence.ok')

    broken = type('Broken', (Licence,), {'check': fails})()
    with pytest.raises(ConstraintError) as caught:
        evaluated(broken, 'A', Cloud(HOSTS))
    assert f'constraint licence: check failed on host cmp-2: {why}' in str(caught.value)
