"""Represent the fetched parts of a cloud, in which a question is answered."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from senlin_affinity.model.image import Image
from senlin_affinity.model.proposal import Change
from senlin_affinity.model.snapshot import CloudSnapshot

#: Keys of ``CloudView.unavailable``: the image's properties, and the allocation candidates.
IMAGE, ANSWER = 'image', 'answer'


class Coverage(enum.Enum):
    """The hosts of a view.

    * ``ENOUGH``: some hosts, which take all servers.
    * ``ENOUGH_FOR_QUOTA``: none; some hosts take all servers that an exceeded quota leaves.
    * ``CANDIDATES``: every host that Placement offers for the request, or some of them from which
      the policy can choose all hosts.
    * ``CLOUD``: every host, or none if they could not be read.
    """

    ENOUGH = 'enough'
    ENOUGH_FOR_QUOTA = 'enough for the quota'
    CANDIDATES = 'candidates'
    CLOUD = 'cloud'


@dataclass(frozen=True)
class CloudView:
    """The fetched parts of a cloud.

    ``unavailable`` gives the reason for each part that could not be read; ``images`` are by the
    names or ids that the question uses. ``owner_sees_hosts``: the owner may list hosts; False also
    if the operator's credentials read them, and nothing has checked whether the owner's may.
    ``helpful`` are changes with which all servers fit on hosts outside the snapshot.
    """

    snapshot: CloudSnapshot = field(default_factory=CloudSnapshot)
    unavailable: Mapping[str, str] = field(default_factory=dict, hash=False)
    images: Mapping[str, Image] = field(default_factory=dict, hash=False)
    owner_sees_hosts: bool = True
    coverage: Coverage = Coverage.CLOUD
    helpful: tuple[Change, ...] = ()
