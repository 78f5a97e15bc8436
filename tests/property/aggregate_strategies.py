"""Generate valid and invalid extra specs and metadata for document 000.

An :class:`Expression` is the meaning of a value before it is written as text, so that a test need
not parse the text.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

FORCE = 'force_metadata_check'
SCOPE = 'aggregate_instance_extra_specs:'
SENTINELS = ('*', '~', '!')

VALUES = ('', '1', '2', '3', 'a', 'b', '* 1')
#: Operators, and the values that each accepts, written by hand.
OPERATORS = {
    '>= 2': ('2', '3'),
    '<= 1': ('1',),
    '!= 2': ('1', '3'),
    '= 3': ('3',),
    's< 2': ('', '1', '* 1'),
    's!= a': ('', '1', '2', '3', 'b', '* 1'),
    '<in> 1': ('1', '* 1'),
    '>=': (),
    '<= x': (),
    '== nan': (),
}


@dataclass(frozen=True)
class Expression:
    """Alternatives (values and sentinels), or one operator."""

    alternatives: tuple[str, ...] = ()
    operator: str | None = None

    def __str__(self) -> str:
        if self.operator is not None:
            return self.operator
        if len(self.alternatives) == 1:
            return self.alternatives[0]
        return ' '.join(f'<or> {word}' for word in self.alternatives)


#: An alternative of <or> is one word.
WORDS = st.sampled_from([*(value for value in VALUES if value and ' ' not in value), *SENTINELS])
ALTERNATIVES = st.lists(WORDS, min_size=2, max_size=3, unique=True).map(tuple)
EXPRESSIONS = st.one_of(
    st.builds(Expression, st.tuples(st.sampled_from([*VALUES, *SENTINELS]))),
    st.builds(Expression, ALTERNATIVES),
    st.sampled_from(list(OPERATORS)).map(lambda word: Expression(operator=word)),
)

KEYS = st.sampled_from(['a', 'b', 'n:c', ''])
SCOPED_KEYS = KEYS | KEYS.map(lambda key: SCOPE + key)
FLAVORS = st.dictionaries(SCOPED_KEYS, EXPRESSIONS, max_size=4)
FORCING = st.sampled_from(
    ['True', 'true', '1', 'on', 'False', '', 'maybe', 'off', None, None, None]
)


@dataclass(frozen=True)
class AnAggregate:
    """The expressions of one aggregate; ``force`` is None without the reserved key."""

    says: dict[str, Expression]
    force: str | None = None

    @property
    def is_forcing(self) -> bool:
        return self.force in ('True', 'true', '1', 'on')

    def of(self, key: str) -> list[Expression]:
        """Return the expressions of a key, with and without the escape scope."""
        return [says for name, says in self.says.items() if bare(name) == key]

    def metadata(self) -> dict[str, str]:
        force = {} if self.force is None else {FORCE: self.force}
        return {key: str(says) for key, says in self.says.items()} | force


AGGREGATES = st.lists(
    st.builds(AnAggregate, st.dictionaries(SCOPED_KEYS, EXPRESSIONS, max_size=3), FORCING),
    max_size=3,
)


def bare(name: str) -> str:
    """Return a key without the escape scope, which is generated at most once."""
    return name.removeprefix(SCOPE)


def written(extra_specs: dict[str, Expression]) -> dict[str, str]:
    return {key: str(expression) for key, expression in extra_specs.items()}


# --- for the comparison with Nova: no sentinels, no forced mode, no namespace but the scope

OPERATOR_WORDS = (
    *('=', '==', '!=', '>=', '<=', 's==', 's!=', 's<', 's<=', 's>', 's>='),
    *('<in>', '<all-in>', '<or>', '>', '<'),
)
NUMBERS = st.integers(-3, 12).map(str) | st.sampled_from(
    ['1.0', '1.5', '1e3', '-0', 'nan', 'inf', '-inf', '1_0', '٣', '0x1', '12345678901234567890']
)
TEXTS = (
    NUMBERS | st.sampled_from(['a', 'ab', 'abc', 'B', '', 'big disk', '* 5']) | st.text(max_size=5)
)
OPERANDS = st.lists(TEXTS | st.sampled_from(OPERATOR_WORDS), max_size=5).map(' '.join)
OPERATED = st.tuples(st.sampled_from(OPERATOR_WORDS), st.sampled_from([' ', '  ', '\t']), OPERANDS)
REQUIREMENTS = TEXTS | OPERATED.map(''.join)
PLAIN = REQUIREMENTS.filter(lambda text: not set(text.split()) & set(SENTINELS))
METADATA_VALUES = st.lists(TEXTS, min_size=1, max_size=3).map(','.join)
NAMES = st.sampled_from(['key', 'other', 'other key', '', 'a']) | st.text(max_size=3)
PLAIN_NAMES = NAMES.filter(lambda name: ':' not in name and name != FORCE)
PLAIN_FLAVORS = st.dictionaries(
    PLAIN_NAMES | PLAIN_NAMES.map(lambda name: SCOPE + name), PLAIN, max_size=4
)
PLAIN_AGGREGATES = st.lists(st.dictionaries(PLAIN_NAMES, METADATA_VALUES, max_size=4), max_size=3)
