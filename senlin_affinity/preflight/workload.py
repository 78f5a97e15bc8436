"""A list of requests for servers, from a file or from a program.

Example::

    Workload((Question(3, 'm1.small', name='web', server_group=group),), server_groups=(group,))

``resolve_workload`` turns the questions into requests, in the way of a single question.

Raises: InvalidSpec for an invalid question, with its name; every mistake is found.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import InvalidSpec, Mistakes
from senlin_affinity.model.request import Request
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.preflight.question import Question, resolve_question

_NO_HOST = 'must not name a host in a list of requests: plan its servers alone'


@dataclass(frozen=True)
class Workload:
    """Questions that are asked together, and what is created beside the servers.

    * ``server_groups`` are all groups that are created, whether or not a question uses them.
    * ``not_read`` are the parts of a file that were not read, with the reason. They may add servers
      and conditions.
    * ``removed`` are servers that are deleted before others are created.
    """

    questions: tuple[Question, ...]
    server_groups: tuple[ServerGroup, ...] = ()
    not_read: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @classmethod
    def of(cls, questions: Workload | Iterable[Question]) -> Workload:
        """Return the questions as a workload, each with a name."""
        if isinstance(questions, Workload):
            return questions
        named = tuple(
            each if each.name else dataclasses.replace(each, name=f'request {number}')
            for number, each in enumerate(questions, 1)
        )
        groups = (each.server_group for each in named if isinstance(each.server_group, ServerGroup))
        new = {each.id: each for each in groups if each.is_planned}
        return cls(named, (*new.values(),))

    def but(self, **fields: Any) -> Workload:
        """Return the workload with these fields in each question, such as its ``options``."""
        questions = tuple(dataclasses.replace(each, **fields) for each in self.questions)
        return dataclasses.replace(self, questions=questions)


def resolve_workload(workload: Workload, view: Cloud) -> tuple[list[tuple[str, Request]], Cloud]:
    """Return the requests with their names, and the cloud to plan them on."""
    mistakes, found = Mistakes(), []
    for question in workload.questions:
        with mistakes.collected(), _about(question):
            if question.host is not None or question.target.is_forced:
                raise InvalidSpec(_NO_HOST, 'availability_zone')
            request, _cloud = resolve_question(question, view)
            found.append((question.name, request))
    mistakes.check()
    return found, view


@contextlib.contextmanager
def _about(question: Question) -> Iterator[None]:
    """Let an InvalidSpec begin with the name of a question."""
    try:
        yield
    except InvalidSpec as error:
        raise InvalidSpec(str(error), question.name) from error
