"""The front door: a question, a look at a cloud or at a file of one, and an answer.

The way of the data::

    Question ─> look (a cloud) or read (a file) ─> Look ─> answer ─> Decision

    question = api.Question(count=3, flavor='m1.small', server_group='web')
    decision = api.answer(question, api.look(connection, question))

Question, Look and Decision are plain values: equal if they say the same, to be pickled. One look
does for every question about the same server group, project and image; what Placement itself
answers is in it for the one that it was taken for. The command ``plan`` and
the policy in Senlin ask here, too.

Errors: InvalidSpec for a question that is not right, names what the cloud does not have, or a file
that is not valid; CloudError for a cloud that does not answer; PluginError for a constraint that
does not load; OSError for a file that can not be written. What a user may not see is no error, but
not known (``Look.unknown``).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from senlin_affinity.cloud import garbage
from senlin_affinity.cloud.eyes import Eyes, OwnersEyes
from senlin_affinity.cloud.eyes import of as eyes_of
from senlin_affinity.cloud.read import Read
from senlin_affinity.conf.installed import load_constraints
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.core import candidate_query, planner
from senlin_affinity.core.aggregates.mirrors import required
from senlin_affinity.core.errors import AffinityError, CloudError, InvalidSpec
from senlin_affinity.core.objects import CloudSnapshot, ResolvedRequest
from senlin_affinity.core.planning.decision import Decision
from senlin_affinity.policy.question import ANSWER, IMAGE, Look, Needs, Question, ask, needs

__all__ = (
    'Decision',
    'Look',
    'Needs',
    'Question',
    'answer',
    'eyes_of',
    'lets_choose_hosts',
    'look',
    'read',
    'save',
    'see',
)


def look(connection: Any, question: Question | None = None, timeout: float | None = None) -> Look:
    """See what a question needs of the cloud behind an ``openstack.connection.Connection``.

    :param question: None is for any question, also about any server group, which costs more.
    :param timeout: seconds that a service may be silent; None is the connection's own, or a minute.
    """
    if question is not None:
        question = _read(question, load_constraints())
    needed = Needs() if question is None else needs(question)
    return see(eyes_of(connection), needed, timeout)


def read(path: str | os.PathLike[str], largest: int | None = None) -> Look:
    """See the cloud in a file of ``senlin-affinity snapshot save``.

    :param largest: how many MiB it may have; None: 256.
    """
    from senlin_affinity.cloud import input_file, snapshot_file

    try:
        return Look(snapshot_file.load(path, largest or input_file.LARGEST))
    except InvalidSpec as error:
        if isinstance(error.__cause__, OSError):  # it names the file already
            raise
        raise InvalidSpec(str(error), os.fspath(path)) from error


def save(look: Look, path: str | os.PathLike[str]) -> None:
    """Keep the snapshot in a file; why parts of it are not known is not in it."""
    from senlin_affinity.cloud import snapshot_file

    snapshot_file.save(look.snapshot, path)


@garbage.unsearched()
def answer(
    question: Question,
    look: Look,
    constraints: Sequence[Constraint] | None = None,
    *,
    remedies: bool = True,
) -> Decision:
    """Will the servers fit, where would they go, and if not, why, and what would help?

    :param constraints: None is all that are installed.
    :param remedies: whether to look for what would help, which is most of a refusal's cost.
    """
    chosen = load_constraints() if constraints is None else constraints
    return planner.decide(ask(_read(question, chosen), look), chosen, remedies=remedies)


def _read(question: Question, constraints: Sequence[Constraint]) -> Question:
    """The question with its options read."""
    if not question.options:
        return question
    # Imported here: without options, a plan does not need oslo.config.
    from senlin_affinity.conf import opts

    return replace(question, options=opts.read(question.options, constraints))


def see(eyes: Eyes, needed: Needs, timeout: float | None = None, read: Read | None = None) -> Look:
    """See what is needed; of a DRS search, only the hosts that are found.

    :param read: what was read of it already, and is not asked for again.
    """
    # Imported here: openstacksdk takes a second to load, and a file needs none.
    from senlin_affinity.cloud import images, mirrors, snapshot
    from senlin_affinity.cloud.connection import ports

    if needed.drs_pattern is not None:
        inventory = ports(eyes, timeout).inventory
        found = inventory.hosts_named_like(needed.drs_pattern)
        is_owners = eyes.are_one or inventory.shows_hosts()
        return Look(CloudSnapshot(hosts=tuple(found)), is_owners=is_owners)
    taken = snapshot.take(
        eyes,
        server_groups=needed.server_groups,
        project_id=needed.project_id,
        is_project_of_group=needed.server_groups is not None,
        timeout=timeout,
        read=read,
    )
    unknown = dict(taken.unknown)
    if needed.server_groups == ():  # then it says no more than that none was asked about
        unknown.pop('server_groups', None)
    seen = Look(taken.snapshot, unknown, is_owners=taken.is_owners)
    image = needed.image
    if image is not None:
        try:
            known = None if read is None else read.image(image)
            known = known or images.find(eyes.owner, image, timeout)
            seen = replace(seen, images={image: known})
        except AffinityError as error:
            if needed.is_image_needed and isinstance(error, InvalidSpec):
                raise
            seen = replace(seen, unknown={**unknown, IMAGE: str(error)})
    resolved = _resolved(needed.question, seen)
    if resolved is None:
        return seen
    checked = mirrors.see(eyes.cloud, taken.snapshot, required(resolved), timeout)
    seen, taken = replace(seen, snapshot=checked), replace(taken, snapshot=checked)
    query = candidate_query.query(resolved)
    if query is None:
        return seen
    try:
        return replace(seen, snapshot=snapshot.answered(eyes.cloud, taken, query, timeout))
    except CloudError as error:
        return replace(seen, unknown={**seen.unknown, ANSWER: str(error)})


def lets_choose_hosts(owner: OwnersEyes, timeout: float | None = None) -> bool:
    """Does Nova let the owner choose the hosts of servers? One request."""
    from senlin_affinity.cloud.connection import ports

    return ports(eyes_of(owner.connection), timeout).inventory.lets_choose_hosts()


def _resolved(question: Question | None, seen: Look) -> ResolvedRequest | None:
    """The question that Nova would put to Placement; None where there is nothing to ask it."""
    if question is None or seen.snapshot.hosts is None:
        return None
    try:
        return ask(question, seen)
    except InvalidSpec:
        return None  # whoever answers the question says what is not right
