"""Questions to the real Placement, and what ``provider_tree`` answers to the same.

Shapes: a question is the values of an expression and a way to ask: without a suffix, with one, or
as a listing, which judges by direct membership as a group with a suffix does (Q1-1).
"""

from hypothesis import strategies as st

from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.nova.provider_tree import admitted
from tests.property.expressions import EXPRESSIONS
from tests.support.placement_judge import NoAnswer

#: Only the expression is judged then, and not what it leaves.
NOBODY_HAS = 'VCPU:1'
QUESTIONS = st.tuples(EXPRESSIONS, st.sampled_from(['', '_word', '1', 'listing']))


def outlives(forest, member_of):
    """Nested and sharing, not forbidden, but below a root that is: the judge fails on these."""
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
    """The judge's answer; where it fails, that of everybody for itself."""
    try:
        return judge.left(values, suffix)
    except NoAnswer:
        assert not suffix
    odd = set(outlives(forest, MemberOf.parse(values)))
    assert odd
    names = [each.uuid for each in forest if each.uuid not in odd]
    return set().union(*(judge.left(values, own=name) for name in names))


def check_forest(judge, forest, questions):
    """The judge's answers to all questions (values and way), in our words and in its own."""
    judge.build(forest)
    for number, (values, way) in enumerate(questions):
        member_of = MemberOf.parse(values)
        expected = admitted(forest, member_of, suffixed=way != '')
        # What was written, or what we write of it, in turns: both must find the same.
        written = member_of.to_query() if number % 2 else values
        if way == 'listing':
            assert judge.listed(written) == expected, written
        else:
            assert left(judge, forest, written, way) == expected, (written, way)


def check_values(judge, values):
    """What is an InvalidSpec here is a 400 there, and the reverse."""
    try:
        MemberOf.parse(values)
    except InvalidSpec:
        assert status(judge, values) == 400
    else:
        assert status(judge, values) == 200


def status(judge, values):
    """The status of the judge's answer to an expression, whatever forest there is."""
    answer = judge.ask('/allocation_candidates', values, resources=NOBODY_HAS)
    assert answer.status_code in (200, 400), answer.text
    return answer.status_code
