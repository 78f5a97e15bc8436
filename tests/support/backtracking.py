"""Counts the steps of a backtracking matcher, so that a pattern is judged without a clock.

The pattern, parsed by Python's own parser, becomes a small program; a stack holds what is left to
be tried, as in Python's matcher, of which this is the slower form: it has no shortcuts.
"""

import re
from functools import cache

parser = re._parser


class TooManySteps(Exception):
    pass


def matches(pattern, text, most):
    """Does the whole text match? TooManySteps if that takes more than so many steps."""
    program = Program(pattern).code
    stack, taken = [(0, 0)], 0
    while stack:
        at, place = stack.pop()
        while True:
            taken += 1
            if taken > most:
                raise TooManySteps(f'{pattern}: more than {most} steps for {text!r}')
            kind, what = program[at]
            if kind == 'match':
                if place == len(text):
                    return True
                break
            if kind == 'letter':
                if place == len(text) or not what(text[place]):
                    break
                at, place = at + 1, place + 1
            elif kind == 'jump':
                at = what
            else:
                stack.append((what, place))
                at += 1
    return False


class Program:
    """``fork`` tries what follows first, and its target when that fails."""

    def __init__(self, pattern):
        self.code = []
        self.emit(parser.parse(pattern))
        self.code.append(('match', None))

    def emit(self, parsed):
        for operation, argument in parsed:
            getattr(self, f'emit_{str(operation).lower()}')(operation, argument)

    def emit_literal(self, operation, argument):
        self.code.append(('letter', letter(str(operation), argument)))

    emit_not_literal = emit_in = emit_any = emit_literal

    def emit_subpattern(self, _operation, argument):
        self.emit(argument[-1])

    def emit_branch(self, _operation, argument):
        ends = []
        for choice in argument[1][:-1]:
            fork = self.reserve()
            self.emit(choice)
            ends.append(self.reserve())
            self.code[fork] = ('fork', len(self.code))
        self.emit(argument[1][-1])
        for end in ends:
            self.code[end] = ('jump', len(self.code))

    def emit_max_repeat(self, _operation, argument):
        least, most, repeated = argument
        for _ in range(least):
            self.emit(repeated)
        if most is parser.MAXREPEAT:
            fork = self.reserve()
            self.emit(repeated)
            self.code.append(('jump', fork))
            self.code[fork] = ('fork', len(self.code))
            return
        forks = []
        for _ in range(most - least):
            forks.append(self.reserve())
            self.emit(repeated)
        for fork in forks:
            self.code[fork] = ('fork', len(self.code))

    def reserve(self):
        self.code.append(None)
        return len(self.code) - 1


def letter(operation, argument):
    """Does one letter match this? Python's own matcher says it."""
    regex = re.compile(written(operation, argument))
    return cache(lambda character: regex.fullmatch(character) is not None)


def written(operation, argument):
    if operation == 'LITERAL':
        return re.escape(chr(argument))
    if operation == 'NOT_LITERAL':
        return f'[^{re.escape(chr(argument))}]'
    if operation == 'ANY':
        return '[^\n]'
    classes = {'CATEGORY_DIGIT': r'\d', 'CATEGORY_WORD': r'\w', 'CATEGORY_SPACE': r'\s'}
    parts = []
    for kind, what in argument:
        if str(kind) == 'NEGATE':
            parts.append('^')
        elif str(kind) == 'LITERAL':
            parts.append(re.escape(chr(what)))
        elif str(kind) == 'RANGE':
            parts.append('-'.join(re.escape(chr(end)) for end in what))
        else:
            parts.append(classes[str(what)])
    return f'[{"".join(parts)}]'
