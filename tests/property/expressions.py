"""Generate forests of providers and member_of expressions for document 001."""

from hypothesis import strategies as st

from senlin_affinity.nova.provider_tree import Provider
from tests.support.letters import UUIDS

#: The aggregates of the forests, and one that no provider is in.
AGGREGATES = tuple(UUIDS[f'agg{letter}'] for letter in 'ABCDEF')
UNKNOWN = UUIDS['U']
DEEPEST = 3

_few = st.frozensets(st.sampled_from(AGGREGATES), max_size=2)


@st.composite
def forests(draw, min_size=0, max_size=10):
    """Generate trees of up to four levels; any provider may share."""
    forest, depths = [], {}
    for number in range(draw(st.integers(min_size, max_size))):
        parents = [name for name, depth in depths.items() if depth < DEEPEST]
        parent = draw(st.none() | st.sampled_from(parents)) if parents else None
        name = f'p{number}'
        depths[name] = 0 if parent is None else depths[parent] + 1
        sharing = draw(st.integers(0, 3)) == 3
        forest.append(Provider(name, parent, draw(_few), sharing))
    return forest


@st.composite
def values(draw):
    """Generate one valid value of member_of."""
    uuids = draw(st.lists(st.sampled_from((*AGGREGATES, UNKNOWN)), min_size=1, max_size=3))
    is_listed = len(uuids) > 1 or draw(st.booleans())
    return draw(st.sampled_from(['', '!'])) + ('in:' if is_listed else '') + ','.join(uuids)


EXPRESSIONS = st.lists(values(), max_size=3)


@st.composite
def spellings(draw, uuid):
    """Generate one of the spellings of a UUID that Placement accepts."""
    spelt = uuid.replace('-', '') if draw(st.booleans()) else uuid
    spelt = spelt.upper() if draw(st.booleans()) else spelt
    return draw(st.sampled_from(['{}', '{{{}}}', 'urn:uuid:{}', 'uuid:{}'])).format(spelt)


#: The parts of a value, and similar text.
PIECES = st.sampled_from(
    [
        *('in:', '!', ',', 'in:', '!', ','),
        *AGGREGATES[:3],
        UNKNOWN,
        UNKNOWN.upper(),
        UNKNOWN.replace('-', ''),
        f'{{{UNKNOWN}}}',
        *('IN:', 'In:', 'not:', 'urn:uuid:', 'urn:', 'uuid:', 'URN:', ' ', '\n', '\t', '\u2003'),
        *'{-}:x0_\uff11é&+;\0',
        *('foo', '0x', '%21'),
    ]
)


@st.composite
def nearly_valid(draw):
    """Generate a valid value in other spellings, possibly with an additional piece."""
    value = draw(values())
    for uuid in AGGREGATES:
        if uuid in value and draw(st.booleans()):
            value = value.replace(uuid, draw(spellings(uuid)))
    place = draw(st.sampled_from([0, 1, 3, 4, len(value) // 2, len(value)]))
    return value[:place] + draw(st.just('') | PIECES) + value[place:]


NEARLY_VALUES = (
    nearly_valid()
    | st.lists(PIECES, max_size=6).map(''.join)
    | st.text(st.characters(codec='utf-8'), max_size=40)
)
