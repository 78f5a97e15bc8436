"""Compare ``provider_tree`` with the real Placement.

Shapes: a question is the values of an expression and a way to query: without a suffix, with one, or
as a listing, which uses direct membership like a group with a suffix (Q1-1).
"""

from hypothesis import strategies as st

from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.nova.provider_tree import admitted
from tests.property.expressions import EXPRESSIONS
from tests.support.placement_judge import NoAnswer

#: A class without inventory, so that only the validity of the expression matters.
NOBODY_HAS = 'VCPU:1'
QUESTIONS = st.tuples(EXPRESSIONS, st.sampled_from(['', '_word', '1', 'listing']))


def outlives(forest, member_of):
    """Yield nested sharing providers below a forbidden root, for which the judge fails."""
    parents = {each.uuid: each.parent for each in forest}
    aggregates = {each.uuid: each.aggregates for each in forest}
    for each in forest:
        root = each.uuid
        while parents[root] is not None:
            root = parents[root]
        is_below = root != each.uuid and not member_of.forbidden.isdisjoint(aggregates[root])
        if each.sharing and is_below and member_of.forbidden.isdisjoint(each.aggregates):
            yield each.uuid


def left(judge, forest, values, suffix):
    """Return the judge's answer; if it fails, combine the answers for single providers."""
    try:
        return judge.left(values, suffix)
    except NoAnswer:
        assert not suffix
    failing = set(outlives(forest, MemberOf.parse(values)))
    assert failing
    names = [each.uuid for each in forest if each.uuid not in failing]
    return set().union(*(judge.left(values, own=name) for name in names))


def check_forest(judge, forest, questions):
    """Compare the answers to all questions, both as written and in canonical form."""
    judge.build(forest)
    for number, (values, way) in enumerate(questions):
        member_of = MemberOf.parse(values)
        expected = admitted(forest, member_of, suffixed=way != '')
        # Alternate between the original and the canonical form.
        written = member_of.to_query() if number % 2 else values
        if way == 'listing':
            assert judge.listed(written) == expected, written
        else:
            assert left(judge, forest, written, way) == expected, (written, way)


def check_values(judge, values):
    """Check that Placement returns 400 if and only if we raise InvalidSpec."""
    try:
        MemberOf.parse(values)
    except InvalidSpec:
        assert status(judge, values) == 400
    else:
        assert status(judge, values) == 200


def status(judge, values):
    """Return the status of the judge's answer to an expression, in any forest."""
    answer = judge.ask('/allocation_candidates', values, resources=NOBODY_HAS)
    assert answer.status_code in (200, 400), answer.text
    return answer.status_code
