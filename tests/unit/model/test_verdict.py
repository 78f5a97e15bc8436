"""The sentences of reason codes."""

import pytest

from senlin_affinity.model.errors import PluginError
from senlin_affinity.model.verdict import Reason, Verdict, is_for_owner, sentence, tenant_reason


def test_the_facts_of_a_sentence_are_the_names_before_attributes_and_items():
    reason = Reason('{host} has {zone.name}, {used[0]} and {free:d}', detail='resource_class')
    assert reason.facts == {'host', 'zone', 'used', 'free', 'resource_class'}


def test_an_owner_reads_the_sentence_of_a_tenant_reason():
    reason = tenant_reason('no {flavor}', 'resize')
    assert reason == Reason('no {flavor}', 'resize', for_owner='no {flavor}')
    assert is_for_owner({'a': Reason('x'), 'b': reason})
    assert not is_for_owner({'a': Reason('x')})


@pytest.mark.parametrize(
    ('count', 'words'),
    [(0, '0 servers need 2 cores'), (1, '1 server needs 2 cores'), (30, '30 servers need 2 cores')],
)
def test_a_noun_and_a_verb_agree_with_their_number(count, words):
    reason = Reason('{count} server(s) need(s) {name}')
    verdict = Verdict.passed('a.b', count=count, name='2 cores')
    assert sentence(verdict, {'a.b': reason}) == words
    assert reason.facts == {'count', 'name'}


@pytest.mark.parametrize(('code', 'missing'), [('a.b', 'flavor'), ('a.c', 'a.c')])
def test_a_missing_fact_or_code_is_an_error_of_the_plugin(code, missing):
    with pytest.raises(PluginError) as caught:
        sentence(Verdict.passed(code), {'a.b': Reason('no {flavor}')})
    assert str(caught.value) == (f"reason '{code}' cannot be rendered: '{missing}' is not declared")
