"""Our rules about combinations of settings agree with the functions that nova-api calls."""

import dataclasses
from importlib.metadata import version
from random import Random

import pytest

from senlin_affinity.nova.combination_rules import NEWEST, check
from tests.recordings.combinations import ALIASES, TABLE, guest
from tests.support.nova_api_combinations import Combination, combination
from tests.support.nova_api_oracle import error_of
from tests.support.tables import read

RELEASE = int(version('nova').partition('.')[0])
NUMBER = 1000
#: The exceptions of Nova itself, whose messages are not fixed.
UNPARSED = ('Invalid', 'ValueError')


def some(seed):
    random = Random(seed)
    return [combination(random) for _number in range(NUMBER)]


def outcome(rejection):
    return 'accepted' if rejection is None else rejection.exception


def test_nova_answers_as_recorded():
    if RELEASE != NEWEST:
        return
    for row in read(TABLE):
        error = error_of(Combination(image=row['image'], **row['flavor']), ALIASES)
        assert row['outcome'] == ('accepted' if error is None else error[0]), row['name']


@pytest.mark.parametrize('seed', range(2))
def test_we_reject_what_nova_rejects(seed):
    """An older release has fewer rules, and may fail for reasons that newer ones do not have."""
    for values in some(seed):
        error, rejection = error_of(values, ALIASES), check(guest(values), RELEASE).rejection
        assert rejection is None or error is not None, (values, rejection)
        if RELEASE == NEWEST:
            assert outcome(rejection) == ('accepted' if error is None else error[0]), values
            if rejection is not None and rejection.exception not in UNPARSED:
                assert rejection.message in error[1], values


def test_an_unknown_release_rejects_only_what_every_release_rejects():
    for values in some(2):
        rejection = check(guest(values)).rejection
        assert rejection is None or error_of(values, ALIASES) is not None, (values, rejection)


@pytest.mark.parametrize('unknown', ['image', 'vcpus', 'ram', 'pci_aliases'])
def test_a_rejection_with_an_unknown_value_holds_for_every_value(unknown):
    """Each combination takes the value from the others, which are random."""
    known = some(3)
    for values, other in zip(known, [*known[1:], known[0]], strict=True):
        asked = dataclasses.replace(guest(values), **{unknown: None})
        rejection, aliases = check(asked, RELEASE).rejection, ALIASES
        if rejection is None:
            continue
        if unknown == 'pci_aliases':
            aliases = (*ALIASES, 'nope')
        else:
            values = dataclasses.replace(values, **{unknown: getattr(other, unknown)})
        assert error_of(values, aliases) is not None, (values, rejection)
