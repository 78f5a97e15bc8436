"""Small YAML files that expand to large documents, or have invalid numbers and dates."""


def _nested(first: str, line: str) -> str:
    """Return eleven lines, each of which refers to the previous one nine times."""
    more = (line.format(n, ', '.join([f'*a{n - 1}'] * 9)) for n in range(1, 12))
    return '\n'.join([f'a0: &a0 {first}', *more])


TEXTS = {
    'merge keys': _nested('{x: 1}', 'a{0}: &a{0}\n  <<: [{1}]'),
    'aliases': _nested('[x]', 'a{0}: &a{0} [{1}]'),
    'an alias of itself': 'a: &a [*a]',
    'hexadecimal': 'a: 0x' + 'f' * 200_000,
    'octal': 'a: 0' + '7' * 200_000,
    'binary': 'a: 0b' + '1' * 200_000,
    'decimal': 'a: ' + '9' * 200_000,
    'sexagesimal': 'a: 1' + ':10' * 60_000,
    'sexagesimal with a fraction': 'a: 1' + ':10' * 60_000 + '.5',
    'an empty int': "a: !!int ''",
    'an empty float': "a: !!float ''",
    'an invalid boolean': 'a: !!bool maybe',
    'an invalid time': 'a: !!timestamp x',
    'an invalid date': 'a: 2001-99-99',
    'deep nesting': '[' * 5000,
}
