"""Check the quotas of servers, cores, ram, metadata items and server group members.

Source: Nova checks these quotas when it creates a server, and answers 403.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import and_
from typing import Any, ClassVar

from msgspec import structs

from senlin_affinity.constraints.base import (
    Assumption,
    Change,
    Constraint,
    Evaluated,
    Reason,
    Request,
    Verdict,
)
from senlin_affinity.model.cloud import Cloud, Quota
from senlin_affinity.model.request import QUOTA
from senlin_affinity.nova import quotas
from senlin_affinity.nova.quota_charges import DRIVER as DRIVER
from senlin_affinity.nova.quota_charges import USAGE as USAGE
from senlin_affinity.nova.quota_charges import costs_of, ways_of
from senlin_affinity.nova.quotas import Counting, quotas_of
from senlin_affinity.scenario.scenario import Scenario

NO_USERS = Assumption('quota.user', 'no lower quota of the user')
METADATA = Assumption('quota.metadata_items', 'a quota metadata_items of at least {items}')


class QuotaConstraint(Constraint):
    """The quotas of the project and its user."""

    name = QUOTA
    order = 900
    summary = 'the quotas of the project allow the servers and the members of the group'
    needs = ('quotas', 'flavors', 'server_groups')
    is_unresolvable = True
    options = DRIVER, USAGE
    reasons: ClassVar[Mapping[str, Reason]] = {
        **quotas.REASONS,
        'quota.no_group': Reason('the request has no server group'),
    }

    def check_request(self, request: Request, cloud: Cloud) -> Verdict:
        """Return the verdict of the quota that leaves the least room, with the bounds of all.

        The fact ``also`` of a REJECT has the other exceeded quotas of servers and members.
        The facts include a known ``project_id``. SKIP ``unknown`` without quotas of the servers'
        project, and ``no_group`` if only those of groups are known, and there is none.
        """
        verdict = self._check(request, cloud)
        if request.project_id is None or verdict.code == 'quota.unknown':
            return verdict
        return replace(verdict, facts={**verdict.facts, 'project_id': request.project_id})

    def _check(self, request: Request, cloud: Cloud) -> Verdict:
        """Return the verdict of ``check_request``, without the fact ``project_id``.

        REJECT ``metadata_items`` comes first; then REJECT with the name of another quota
        (``cores``, ``user_cores``), or PASS ``ok`` or ``unlimited``.
        """
        group, known = request.server_group, quotas_of(request, cloud)
        wanted = request.count
        if not known:
            return Verdict.skipped('quota.unknown')
        of_metadata = quotas.too_much_metadata(known, request.metadata_items)
        if of_metadata is not None:
            return of_metadata
        verdicts = [quotas.room_for_servers(known, costs_of(request), wanted)]
        if group is not None:
            user, ways = request.user_id, ways_of(request)
            verdicts.append(quotas.room_for_members(known, group, wanted, user, ways))
        elif verdicts[0].code == 'quota.unknown':
            return Verdict.skipped('quota.no_group')
        bounds = reduce(and_, (verdict.bounds for verdict in verdicts))
        least = [verdict for verdict in verdicts if verdict.bounds.is_at_most]
        caveats = dict.fromkeys(text for verdict in least for text in verdict.caveats)
        first = _strictest(verdicts)
        others = (each for each in verdicts if not each and each is not first)
        return replace(quotas.with_others(first, others), bounds=bounds, caveats=(*caveats,))

    def assumptions(self, request: Request, cloud: Cloud) -> Iterator[Assumption]:
        """Yield METADATA if metadata items have no quota, NO_USERS if one has no ``of_user``.

        Only quotas that the request uses count. Nothing without quotas, and for a snapshot that
        names no project.
        """
        known = quotas_of(request, cloud)
        if not known or cloud.project_id is None:
            return
        items = request.metadata_items
        if items and quotas.METADATA_ITEMS not in known:
            yield METADATA.of(items=items)
        used = [*_used(request), *([quotas.METADATA_ITEMS] if items else [])]
        if any(name in known and known[name].of_user is None for name in used):
            yield NO_USERS

    def proposals(
        self, request: Request, scenario: Scenario, evaluation: Evaluated
    ) -> Iterator[Change]:
        """Yield one change, such as "quota instances: 12, cores: 24", with what the request needs.

        A user who may not list the hosts asks the operator for it.

        Nothing unless the quotas reject the request. Its size is the number of servers that exceed
        them.
        """
        wanted, known = request.count, quotas_of(request, scenario.cloud)
        verdict = evaluation.verdict
        if known is None or verdict is None or verdict:
            return
        raised: dict[str, Quota] = {}
        for name, costs in costs_of(request).items():
            quota = known.get(name)
            if quota is not None and quota.used is not None:
                raised[name] = _raised(quota, max(cost.of(wanted) for cost in costs))
        members = known.get(quotas.SERVER_GROUP_MEMBERS)
        if request.server_group is not None and members is not None:
            needed = len(request.server_group.members) + wanted
            raised[quotas.SERVER_GROUP_MEMBERS] = _raised(members, needed)
        if quotas.METADATA_ITEMS in known:
            of_metadata = known[quotas.METADATA_ITEMS]
            raised[quotas.METADATA_ITEMS] = _raised(of_metadata, request.metadata_items)
        limits = {
            name: quota.limit for name, quota in raised.items() if quota.limit != known[name].limit
        }
        data: dict[str, Any] = {'project_id': request.project_id, 'limits': limits}
        of_user = {
            name: quota.of_user.limit
            for name, quota in raised.items()
            if quota.of_user is not None and quota.of_user != known[name].of_user
        }
        if of_user:
            data |= {'user_id': request.user_id, 'user_limits': of_user}
        words = [f'{name}: {limit}' for name, limit in limits.items()]
        words += [
            f'{name} of the user: {limit}'
            for name, limit in of_user.items()
            if not _is_projects(known[name])
        ]
        ask = 'ask the operator for ' if scenario.cloud.hosts is None else ''  # no administrator
        change = f'{ask}quota {", ".join(words)}'
        yield Change('quota', change, {'quotas': data}, wanted - (verdict.room or 0))


def are_quotas_known(request: Request, cloud: Cloud) -> bool:
    """Return whether every quota that limits the number of servers is known, also the user's.

    True for a snapshot without a project: it may omit the quotas.
    """
    if cloud.project_id is None:
        return True
    known, has_users = quotas_of(request, cloud) or {}, ways_of(request) != {Counting.UNIFIED}
    return all(
        name in known and _is_known(known[name], name, has_users=has_users)
        for name in _used(request)
    )


def _is_known(quota: Quota, name: str, *, has_users: bool) -> bool:
    """Return whether the free part of a quota is known, with ``has_users`` also the user's."""
    is_counted = quota.limit is None or quota.used is not None
    if not is_counted and name != quotas.SERVER_GROUP_MEMBERS:
        return False
    return not has_users or (
        quota.of_user is not None and _is_known(quota.of_user, name, has_users=False)
    )


def _is_projects(quota: Quota) -> bool:
    """Check whether the user's limit is that of the project, as for a user without an own one."""
    return quota.of_user is not None and quota.of_user.limit == quota.limit


def _used(request: Request) -> Iterator[str]:
    """Yield the names of the quotas that limit the number of servers of the request."""
    yield from costs_of(request)
    if request.server_group is not None:
        yield quotas.SERVER_GROUP_MEMBERS


def _raised(quota: Quota, units: int) -> Quota:
    """Return the quota, and that of its user, with the limit raised until this many are free.

    A limit of None stays; unknown usage is 0.
    """
    of_user = None if quota.of_user is None else _raised(quota.of_user, units)
    needed = (quota.used or 0) + units
    limit = quota.limit if quota.limit is None else max(quota.limit, needed)
    return structs.replace(quota, limit=limit, of_user=of_user)


def _strictest(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict with the least room, else the first ``unlimited``, else the first."""
    limited = [verdict for verdict in verdicts if verdict.room is not None]
    if limited:
        return min(limited, key=lambda verdict: verdict.room or 0)
    return min(verdicts, key=lambda verdict: verdict.code != 'quota.unlimited')
