"""Generate any JSON, and documents that are valid except in one place."""

import copy

from hypothesis import strategies as st

from senlin_affinity.model.server_group import ANTI_AFFINITY, POLICIES

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)

NAMES = st.text(
    st.characters(codec='utf-8', max_codepoint=0xFFFF, categories=['L', 'N', 'P', 'S']),
    min_size=1,
    max_size=255,
)
HOSTS = st.none() | st.sampled_from(['cmp-1', 'cmp-2', 'cmp-3'])


@st.composite
def policies_and_rules(draw):
    """Generate a policy and rules that it may have."""
    policy = draw(st.sampled_from(POLICIES))
    rules = {}
    if policy == ANTI_AFFINITY and draw(st.booleans()):
        rules = {'max_server_per_host': draw(st.integers(min_value=1))}
    return policy, rules


@st.composite
def nearly(draw, right):
    """Generate one of the valid values with arbitrary JSON in one place, or with one place added or
    removed.
    """
    value = copy.deepcopy(draw(st.sampled_from(right)))
    places = list(_places(value))
    container, key = draw(st.sampled_from(places))
    change = draw(st.sampled_from(['replace', 'add', 'remove']))
    if change == 'replace':
        container[key] = draw(JSON)
    elif change == 'remove':
        del container[key]
    elif isinstance(container, dict):
        container[draw(st.text(max_size=8) | st.sampled_from(sorted(_words(right))))] = draw(JSON)
    else:
        container.append(draw(JSON))
    return value


def check_words(error):
    """Check that the text of an InvalidSpec begins with its path and has a message."""
    assert str(error).startswith(error.path)
    assert error.message


def _places(value):
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(items):
        yield value, key
        if isinstance(inner, dict | list):
            yield from _places(inner)


def _words(value):
    if isinstance(value, dict):
        return set(value).union(*map(_words, value.values()))
    return set().union(*map(_words, value)) if isinstance(value, list) else set()
