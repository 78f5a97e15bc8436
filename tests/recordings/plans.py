"""Record the answers of ``plan`` to 48 questions: ``python -m tests.recordings.plans``.

Data flow: ``plan_inputs.jsonl`` has a case on each line (a snapshot and a question), and
``plan_answers.jsonl`` the ``as_dict()`` of each decision, in the same order. The answers are
written again; a case for a new constraint or remedy is written by hand.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from senlin_affinity import api
from senlin_affinity.cloud import snapshot_file
from senlin_affinity.conf.constraint_plugins import load_constraints
from senlin_affinity.engine.decision import TWO
from senlin_affinity.model.image import Image
from tests.support.our_constraints import OURS, remedies_of

INPUTS, ANSWERS = (Path(__file__).with_name(f'plan_{name}.jsonl') for name in ('inputs', 'answers'))
NUMBER = 48
#: A constraint that neither passes nor rejects a host, but only makes a capacity uncertain.
_NEVER_JUDGES = ('candidates',)
#: The fields of an answer that contain sentences, at any depth.
WORDS = ('line', 'text', 'change', 'commands', 'at_most')
Case = dict[str, Any]


def answer(case: Case) -> dict[str, Any]:
    """Return the JSON of the decision about a case."""
    question = dict(case['question'])
    for name in ('member_of', 'spread', 'enabled_filters'):
        if question.get(name) is not None:
            question[name] = tuple(question[name])
    if 'image' in question:
        question['image'] = Image(**question['image'])
    view = snapshot_file.parse(json.dumps(case['snapshot']))
    decision = api.answer(api.Question(**question), view, load_constraints())
    printed: dict[str, Any] = json.loads(json.dumps(decision.as_dict()))
    return printed


def without_words(value: Any) -> Any:
    """Return an answer without the fields that contain sentences."""
    if isinstance(value, dict):
        return {key: without_words(each) for key, each in value.items() if key not in WORDS}
    return [without_words(each) for each in value] if isinstance(value, list) else value


@cache
def wanted() -> frozenset[str]:
    """Return the names that the cases must cover: both outcomes per constraint, and remedies."""
    judges = (item.name for item in load_constraints() if item.name not in _NEVER_JUDGES)
    outcomes = {f'{name} {outcome}' for name in judges for outcome in ('PASS', 'REJECT')}
    remedies = {code for constraint in OURS for code in remedies_of(constraint)}
    return frozenset(outcomes | {f'remedy {code}' for code in (*remedies, TWO)})


def occurring(answered: dict[str, Any]) -> set[str]:
    """Return the names that one answer covers."""
    verdicts = [each for host in answered['hosts'] for each in host['verdicts']]
    verdicts += answered['request']
    outcomes = {f'{each["constraint"]} {each["outcome"]}' for each in verdicts}
    return outcomes | {f'remedy {each["code"]}' for each in answered['remedies']}


def read(path: Path) -> list[Any]:
    """Return the values on the lines of a file."""
    return [json.loads(line) for line in path.read_text(encoding='utf-8').splitlines()]


def record() -> None:
    """Write the answers."""
    answers = [json.dumps(answer(case), separators=(',', ':')) + '\n' for case in read(INPUTS)]
    ANSWERS.write_text(''.join(answers), encoding='utf-8')


if __name__ == '__main__':
    record()
