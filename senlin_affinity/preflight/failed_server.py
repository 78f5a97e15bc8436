"""Describe a server whose creation failed, and the request that created it.

Units: times are ISO 8601 in UTC, as Nova writes them. None: unknown, or not specified.

Source: ``nova.exception``, ``nova.scheduler.manager``; nova-compute, which stores the text of any
exception (``_build_and_run_instance``); nova-conductor (``populate_retry``), which quotes that of
the last attempt; Nova cuts a message at 255 characters. Senlin 16.0.0, ``engine/actions``.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.image import Image
from senlin_affinity.model.server_group import DELETED
from senlin_affinity.nova.actions import ServerAction
from senlin_affinity.policy import profile
from senlin_affinity.preflight.question import Question


class Cause(enum.Enum):
    """The kind of a failure. The values are public (JSON)."""

    NO_HOST = 'no_host'
    RETRIES = 'retries'
    QUOTA = 'quota'
    VOLUME = 'volume'
    PORT = 'port'
    IMAGE = 'image'
    CLAIM = 'claim'
    GROUP_CHECK = 'group_check'
    GROUP_FILTER = 'group_filter'
    HYPERVISOR = 'hypervisor'
    BUILD = 'build'
    NOT_SHOWN = 'not_shown'
    OTHER = 'other'
    POLICY = 'policy'
    LOCK = 'lock'
    TIMEOUT = 'timeout'
    CANCELLED = 'cancelled'
    SENLIN = 'senlin'


#: The failure in words.
HEADLINES: Mapping[Cause, str] = {
    Cause.NO_HOST: 'found no host',
    Cause.RETRIES: 'found no host that could start it',
    Cause.QUOTA: 'exceeded a quota',
    Cause.VOLUME: 'failed because of its volume',
    Cause.PORT: 'failed because of its network port',
    Cause.IMAGE: 'failed because of its image',
    Cause.CLAIM: 'failed because the chosen host had too few resources',
    Cause.GROUP_CHECK: 'failed because it would have violated its server group',
    Cause.GROUP_FILTER: 'failed because Nova does not run the filter of its server group',
    Cause.HYPERVISOR: 'failed because the hypervisor could not start it',
    Cause.POLICY: 'was rejected by the affinity policy',
    Cause.LOCK: 'failed, because another action held the lock,',
    Cause.TIMEOUT: 'timed out',
    Cause.CANCELLED: 'was cancelled',
}
#: The causes that the preflight models: the placement of the server, and the quotas.
MODELLED = (
    *(Cause.NO_HOST, Cause.RETRIES, Cause.QUOTA, Cause.NOT_SHOWN, Cause.POLICY),
    *(Cause.CLAIM, Cause.GROUP_CHECK, Cause.GROUP_FILTER),
)
#: What nova-conductor and nova-compute put before the text of an exception.
_LAST = re.compile(r'\bLast exception: (.+)', re.DOTALL)
_BUILD = re.compile(r'Build of instance \S+ (?:aborted|was re-scheduled): (.*)', re.DOTALL)
#: A cause, the pattern of its exceptions, and what they mean ('' for no more than the cause). The
#: first pattern that matches counts.
_EXCEPTIONS: tuple[tuple[Cause, str, str], ...] = (
    (
        Cause.GROUP_CHECK,
        r'instance group policy was violated',
        'its host did not satisfy the policy of its server group',
    ),
    (
        Cause.GROUP_FILTER,
        r'ServerGroup policy is not supported',
        "the enabled_filters of nova-conductor lack the filter of the group's policy",
    ),
    (
        Cause.PORT,
        r'Maximum number of ports exceeded',
        "the project's quota of ports in Neutron is used up",
    ),
    (
        Cause.PORT,
        r'No fixed IP addresses available|No more IP addresses',
        'a network has no free address',
    ),
    (
        Cause.PORT,
        r'Binding failed for port|vif_type=binding_failed',
        'Neutron could not bind a port to the chosen host',
    ),
    (
        Cause.VOLUME,
        r'Maximum number of volumes|Quota exceeded.*(volumes|gigabytes)|Volume\w+Exceed',
        "the project's quota of volumes in Cinder is used up",
    ),
    (Cause.QUOTA, r'^Quota exceeded|^Maximum number of', ''),
    (
        Cause.CLAIM,
        r'NUMA topology',
        'no NUMA node of the chosen host had the requested CPUs, memory or pages',
    ),
    (
        Cause.CLAIM,
        r'Claim pci failed|PCI device',
        'the chosen host had no free PCI device of the requested kind',
    ),
    (Cause.CLAIM, r'^Insufficient compute resources', ''),
    (
        Cause.HYPERVISOR,
        r'^Unacceptable CPU info|compatibility with the (?:source )?CPU',
        'the CPU of the chosen host lacks what the server uses',
    ),
    (Cause.HYPERVISOR, r'^Migration pre-check error', ''),
    (
        Cause.HYPERVISOR,
        r'^(internal error|unsupported configuration|operation failed|invalid argument|XML error'
        r'|Requested operation is not valid|Cannot access storage file)|libvirt|qemu|hypervisor',
        '',
    ),
    (Cause.VOLUME, r'volume|block device|cinder', ''),
    (Cause.PORT, r'\bports?\b|network|neutron|\bvif', ''),
    (Cause.IMAGE, r'\bimage\b|glance', ''),
)
#: As above, for failed actions of Senlin.
_ACTION_MESSAGES = (
    (Cause.POLICY, r"Failed policy '"),
    (Cause.LOCK, r'^Failed in locking|^Exceeded maximum number of retries'),
    (Cause.TIMEOUT, r'\btimeout$'),
)
NOVA = 'Nova'
_NO_HOST = 'No valid host was found.'
#: nova-conductor's words for a move, which hide the reason, and those about a rebuild.
_OF_CONDUCTOR = ('No valid host found for ', 'Image traits ')
#: The reason after it if Placement returned candidates.
_FILTERED = 'There are not enough hosts available'


@dataclass(frozen=True)
class ActionFailure:
    """The failure of an action: the message (None: not shown), its time and the hosts tried.

    ``source`` is the service of the message.
    """

    cause: Cause
    message: str | None = None
    at: str | None = None
    tried: tuple[str, ...] = ()
    source: str = NOVA

    @property
    def is_by_filters(self) -> bool | None:
        """Whether the filters left too few hosts; False: Placement had no candidate.

        None for another cause than NO_HOST, with :attr:`rejection`, and if the message does not
        tell.
        """
        if self.cause is not Cause.NO_HOST or self.message is None or self.rejection:
            return None
        reason = self.message.removeprefix(_NO_HOST).strip()
        return None if reason.startswith(_OF_CONDUCTOR) else _FILTERED in reason

    @property
    def rejection(self) -> str:
        """Why nova-scheduler rejected the request without asking Placement; '' if it asked.

        "Scheduling failed: A" of "No valid host was found. Scheduling failed: A".
        """
        reason = (self.message or '').removeprefix(_NO_HOST).strip()
        is_known = _FILTERED in reason or reason.startswith(_OF_CONDUCTOR)
        return '' if self.cause is not Cause.NO_HOST or is_known else reason

    @property
    def last_exception(self) -> str | None:
        """The exception of the last attempt, if Nova used up its attempts and quotes it."""
        found = _LAST.search(self.message or '') if self.cause is Cause.RETRIES else None
        text = '' if found is None else found[1].strip()
        return None if text in ('', 'None') else text

    @property
    def origin(self) -> Cause:
        """The cause; if Nova used up its attempts, that of the last one, if it is known."""
        last = self.last_exception
        cause = self.cause if last is None else cause_of(last)
        return self.cause if cause is Cause.OTHER else cause

    @property
    def meaning(self) -> str:
        """What Nova's exception means, such as 'a network has no free address'; '' if unknown."""
        text = self.last_exception or self.message or ''
        return _exception(text)[1] if self.source == NOVA else ''


@dataclass(frozen=True)
class Sibling:
    """A server of the request, also the explained one."""

    id: str
    name: str
    status: str
    is_failed: bool = True


@dataclass(frozen=True)
class Change:
    """What has happened in the cloud since a failure, when, and on which host (None: unknown)."""

    noun: str
    what: str
    at: str
    host: str | None = None


CREATED, ENDED = 'created', 'deleted'


@dataclass(frozen=True)
class SenlinAction:
    """A failed action of a cluster or node (``target``), and the names of the nodes that failed."""

    name: str
    target: str
    cause: Cause
    reason: str
    at: str
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True)
class FailedServer:
    """A failed server, and its request as far as Nova returns it.

    * ``flavor`` is the embedded one (its id is the name); ``flavor_name`` is its name or id.
      ``image`` is None if it is unknown, or if the server boots from a volume.
    * ``hints`` lack ``group``, which is ``server_group`` (an id).
    * ``number`` is the number of servers of the request; Nova may show fewer ``siblings``.
      ``is_number_at_least``: there may have been more.
    * ``hidden`` has a phrase about each part that Nova does not return, by the option that
      specifies it. ``changes`` are those of the cloud since the failure.
    * ``action`` is the action of Senlin that created the server. Without a server (``id`` is ''),
      the name is that of the node or of the action.
    * ``attempt`` is the action that failed on a server that ran (None: its creation), and ``host``
      the target that it named, if Nova shows it.
    """

    id: str
    name: str
    status: str
    failure: ActionFailure
    project_id: str | None = None
    user_id: str | None = None
    flavor: Flavor | None = None
    flavor_name: str | None = None
    image: Image | None = None
    is_volume_booted: bool = False
    availability_zone: str | None = None
    server_group: str | None = None
    hints: Mapping[str, Any] = field(default_factory=dict, hash=False)
    siblings: tuple[Sibling, ...] = ()
    number: int = 1
    is_number_at_least: bool = False
    hidden: Mapping[str, str] = field(default_factory=dict, hash=False)
    changes: tuple[Change, ...] = ()
    action: SenlinAction | None = None
    attempt: ServerAction | None = None
    host: str | None = None

    @property
    def what(self) -> str:
        """The noun of what failed: 'request', 'live migration'."""
        return 'request' if self.attempt is None else self.attempt.action.noun

    @property
    def remaining(self) -> tuple[Sibling, ...]:
        """The failed siblings that are not deleted, so they count in the group and in quotas."""
        return tuple(each for each in self.siblings if each.is_failed and each.status != DELETED)

    @property
    def wanted(self) -> int:
        """The number of servers that did not start, at least 1."""
        return max(1, self.number - sum(not each.is_failed for each in self.siblings))


def cause_of(message: str | None) -> Cause:
    """Return the cause that a message of Nova names; NOT_SHOWN for None, OTHER without a match.

    'No valid host was found. ...' is NO_HOST, 'Build of instance 5c aborted: Volume ...' VOLUME.
    """
    if message is None:
        return Cause.NOT_SHOWN
    if message.startswith('Exceeded maximum number of retries'):
        return Cause.RETRIES
    return Cause.NO_HOST if message.startswith(_NO_HOST) else _exception(message)[0]


def _exception(message: str) -> tuple[Cause, str]:
    """Return the cause of an exception's text, and what it means.

    Without a match, BUILD if nova-compute aborted the build, otherwise OTHER.
    """
    aborted = _BUILD.match(message)
    text = message if aborted is None else aborted[1]
    for cause, pattern, meaning in _EXCEPTIONS:
        if re.search(pattern, text, re.IGNORECASE):
            return cause, meaning
    return Cause.OTHER if aborted is None else Cause.BUILD, ''


def action_cause(status: str, reason: str) -> Cause:
    """Return CANCELLED for that status, or else the cause that the reason names.

    POLICY, LOCK ('Failed in locking cluster.') or TIMEOUT; SENLIN without a match.
    """
    found = (cause for cause, pattern in _ACTION_MESSAGES if re.search(pattern, reason))
    return Cause.CANCELLED if status == 'CANCELLED' else next(found, Cause.SENLIN)


def question_of(failed: FailedServer, given: Question) -> Question:
    """Return the question whether the same request would fit now.

    Raise InvalidSpec if neither names a flavor.

    :param given: the parts of the request that the user specifies, which override those of Nova but
        for the project and the user; a count of 0 is not specified.
    """
    flavor = given.flavor or failed.flavor_name
    if flavor is None:
        words = f'{failed.name} is deleted, and Nova shows only its actions: specify at least'
        words += ' its flavor'
        if failed.attempt is not None:
            hidden = failed.hidden.get('--flavor', 'the flavor')
            words = f'Nova does not show {hidden} of the {failed.what} of {failed.name}: specify it'
        # Not every command that asks has the option, and other servers may have this name.
        command = f'senlin-affinity server explain {failed.id} --flavor FLAVOR'
        raise InvalidSpec(f'{words} with "{command}"')
    hints = {**failed.hints, **given.scheduler_hints}
    hinted = profile.group_hint({'scheduler_hints': hints})
    zone = failed.availability_zone if given.availability_zone is None else given.availability_zone
    return replace(
        given,
        count=given.count or failed.wanted,
        flavor=flavor,
        server_group=given.server_group or hinted or failed.server_group,
        availability_zone=zone,
        image=given.image or failed.image,
        is_volume_booted=given.is_volume_booted or (failed.is_volume_booted and not given.image),
        project_id=failed.project_id,
        user_id=failed.user_id,
        scheduler_hints={key: value for key, value in hints.items() if key != 'group'},
    )
