"""Say in one phrase what limits the number of servers: the headline of an answer.

Examples::

    the project has 10 of 10 instances
    too little MEMORY_MB left (3 of 4 hosts)
    too little VGPU left (both suitable hosts: gpu-1, gpu-2)
    no suitable host exists: all 6 hosts offer no VGPU
    no host is large enough (at most 16384 of 32768 MEMORY_MB for one server)
    cmp-2 has room, but its compute service is disabled; too little VCPU left (4 of 5 hosts)

1. A rejection of the request, such as a quota, counts only if it allows no more than the hosts do.
2. A host is *suitable* if only its state (full, disabled, reserved) rejects it: it could take the
   servers later. Only suitable hosts decide. The others, such as hosts without GPUs for a flavor
   that requests one, appear in the list of hosts. ``Reason.is_state`` tells the two apart. Without
   a suitable host, those decide that lack the least. Ironic nodes, which offer no CPUs, are among
   them only if a custom resource class is missing elsewhere. The numbers of their reasons count a
   host under its first rejection, as the list of hosts does, or it is said that they do not.
3. A host with room that would take a server if it were enabled, started, or open for the project
   comes before full hosts, unless the rule of a server group also limits the number.
4. Allocations that belong to no server come first, if the servers fit without them.
5. Of several reasons, hosts that take servers come first, then full hosts, then the most frequent
   reason. Reasons that are as frequent as the first one are named, too.

The command's views and :mod:`~senlin_affinity.answers.explanation` call this module. Only who may
list hosts has a decision with hosts; nobody else reads their names or number.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from senlin_affinity.answers.likely_cause import all_hosts
from senlin_affinity.constraints.availability_zone import AvailabilityZoneConstraint
from senlin_affinity.constraints.resources import ResourcesConstraint
from senlin_affinity.constraints.spread import SpreadConstraint
from senlin_affinity.engine.decision import Decision, Remedy
from senlin_affinity.engine.host_reports import HostReport
from senlin_affinity.model.flavor import UNIT_CLASSES
from senlin_affinity.model.host import Host
from senlin_affinity.model.request import QUOTA
from senlin_affinity.model.verdict import Verdict, agreeing, has_subject, sentence
from senlin_affinity.nova.host_status import may_have_orphans
from senlin_affinity.nova.quotas import exceeded

_HOST_FULL, _OTHER_ZONE = 'server_group.host_full', 'availability_zone.other_zone'
_TOO_LARGE, _NOT_OFFERED = 'resources.too_large', 'resources.not_offered'
#: With known hosts, the remedies say what would be accepted and also finds a host.
_WITHOUT_ADVICE: Mapping[str, str] = {
    'flavor.rejected': 'nova-api answers {status} because of {settings}: {exception} ("{message}")'
}
#: The number of reasons, of suitable hosts, and of hosts with room that are named.
_MOST_REASONS, _MOST_NAMES, _MOST_OPEN = 3, 3, 2
#: Of so many suitable hosts, it is said why the others are not.
_FEW = 2
#: The code and the key of the remedy that removes what belongs to no server.
_LEFTOVERS = 'removed_consumers'
#: Of more hosts, the servers are not read.
_MOST_SCARCE = 10


class Limit(NamedTuple):
    """What limits the number of servers, in words, with its reason code ('' for that of no reason).

    ``detail`` is the value of the fact that the code's reason names as its detail, such as a
    resource class. ``short`` are the words without numbers of hosts.
    """

    words: str
    code: str = ''
    detail: str = ''
    short: str = ''

    @classmethod
    def of(cls, words: str, verdict: Verdict, decision: Decision) -> Limit:
        """Return a limit with the code and the detail of a verdict."""
        detail = decision.reasons[verdict.code].detail
        of_code = str(verdict.facts[detail]) if detail else ''
        short = short_sentence(verdict, decision)
        short = short if has_subject(short) else f'hosts {agreeing(short, 2)}'
        return cls(words, verdict.code, of_code, short)


def limiting_reason(decision: Decision, remedies: Sequence[Remedy] | None = None) -> str:
    """Return what limits the number of servers; "there is no host" without a rejection.

    :param remedies: the remedies, if the decision has none.
    """
    return '; '.join(each.words for each in limits(decision, remedies))


def limits(decision: Decision, remedies: Sequence[Remedy] | None = None) -> list[Limit]:
    """Return what limits the number of servers, the first reason first; at least one.

    :param remedies: the remedies, if the decision has none.
    """
    capacity, of_hosts = decision.capacity or 0, decision.of_hosts.upper
    rejected = {name: each for name, each in decision.request.items() if not each}
    deciding = [name for name, each in rejected.items() if (each.room or 0) <= capacity]
    are_hosts_deciding = of_hosts is not None and of_hosts <= capacity
    if not deciding and not are_hosts_deciding:
        deciding = [*rejected]
    found = [limit for name in deciding for limit in _of_request(rejected[name], decision)]
    # Placement and nova-api reject a request as such; of these, the hosts tell nothing more.
    if not found or (are_hosts_deciding and {*deciding} == {QUOTA} and decision.hosts):
        found += _of_leftovers(decision.remedies if remedies is None else remedies, decision.wanted)
        found += _of_hosts(decision)
    return found


def rejections(decision: Decision, by: str | None = None) -> list[str]:
    """Return each rejection of the request as a whole, such as by a quota, in words.

    :param by: only those by the constraint with this name.
    """
    rejected = [each for name, each in decision.request.items() if not each and by in (None, name)]
    return [limit.words for each in rejected for limit in _of_request(each, decision)]


def _of_request(verdict: Verdict, decision: Decision) -> Iterator[Limit]:
    """Yield the rejection of the request; one by quotas once for each exceeded quota."""
    for each in exceeded(verdict):
        words = _WITHOUT_ADVICE.get(each.code) if decision.is_hosts_known else None
        words = words.format_map(each.facts) if words else sentence(each, decision.reasons)
        yield Limit.of(words, each, decision)._replace(short=words)


def _of_leftovers(remedies: Iterable[Remedy], wanted: int) -> Iterator[Limit]:
    """Yield a limit if the servers fit without what belongs to no server."""
    for each in remedies:
        if each.code == _LEFTOVERS and each.capacity >= wanted:
            names = each.data[_LEFTOVERS]
            which = ', '.join(names) if len(names) <= _MOST_NAMES else f'{len(names)} hosts'
            short = 'allocations that belong to no server take the room'
            yield Limit(f'{short} on {which}', _LEFTOVERS, '', short)


def hosts_to_read(decision: Decision, hosts: Iterable[Host]) -> tuple[str, ...]:
    """Return the names of hosts that may be full of something else than servers.

    First those with allocations but no servers; then, if the request does not fit, the suitable
    hosts that lack resources, those with the fewest servers first. Also suitable hosts that another
    state rejects, such as disabled ones, if some of their resources are not known.
    """
    suitable = {
        each.host: each.rejected_by == ResourcesConstraint.name
        for each in (decision.hosts if decision.fits is False else ())
        if each.rejected_by is not None and not _of_kind(each, decision)
    }
    known = [*hosts]
    found = [
        each for each in known if each.host in suitable and (suitable[each.host] or each.is_partial)
    ]
    found.sort(key=lambda host: (host.servers is None, host.servers or 0))
    odd = [each for each in known if may_have_orphans(each)]
    return tuple(dict.fromkeys(each.host for each in (*odd, *found)))


def scarce_hosts(decision: Decision) -> tuple[str, ...]:
    """Return the suitable hosts that lack resources, if the cloud has few but also other hosts.

    Such as the hosts with GPUs: another host may take a server of theirs that needs no GPU.
    """
    if decision.fits is not False:
        return ()
    suitable = [each for each in decision.hosts if not _of_kind(each, decision)]
    if len(suitable) > _MOST_SCARCE or len(suitable) == len(decision.hosts):
        return ()
    lacking = (each for each in suitable if each.rejected_by == ResourcesConstraint.name)
    return tuple(dict.fromkeys(each.host for each in lacking))


def candidates_of(decision: Decision) -> Iterator[str]:
    """Yield the hosts that take the servers, or without any, those that only their state rejects.

    For several servers, of which some fit, the latter, too.
    """
    for each in decision.hosts:
        takes = each.placed or each.rejected_by is None  # a host may be full with these servers
        if takes or (not decision.fits and not _of_kind(each, decision)):
            yield each.host


def short_sentence(verdict: Verdict, decision: Decision) -> str:
    """Return a sentence that is equal for hosts that are rejected alike."""
    reason = decision.reasons[verdict.code]
    for words in (reason.short, reason.for_owner, reason.of_several):
        if words:
            with contextlib.suppress(KeyError):
                return words.format_map(dict(verdict.facts))
    return sentence(verdict, decision.reasons)


def shared_sentence(verdicts: Iterable[Verdict], decision: Decision) -> str:
    """Return the sentence of verdicts with the same short sentence, which may be more exact.

    "is in aggregate gpu, which does not accept project p2" for hosts of this aggregate; "is in an
    aggregate that does not accept project p2" for hosts of several.
    """
    found = dict.fromkeys(
        sentence(each, decision.reasons)
        if decision.reasons[each.code].of_several
        else short_sentence(each, decision)
        for each in verdicts
    )
    if len(found) == 1:
        return next(iter(found))
    return short_sentence(next(iter(verdicts)), decision)


def _of_hosts(decision: Decision) -> Iterator[Limit]:
    """Yield each reason of the hosts that decides."""
    rejected = [each for each in decision.hosts if each.rejected_by is not None]
    if not rejected:
        yield Limit('there is no host', short='there is no host')
        return
    # A host that takes servers is only full.
    kinds = [[] if each.placed else _of_kind(each, decision) for each in rejected]
    suitable = [each for each, others in zip(rejected, kinds, strict=True) if not others]
    total = len(decision.hosts)
    if suitable:
        unsuitable = len(rejected) - len(suitable)
        with_room = [each for each in suitable if _has_room(each, decision)]
        others = [each for each in suitable if each not in with_room]
        if others and not any(_code(each) == _HOST_FULL for each in others):
            yield from _with_room(with_room, decision)
            suitable = others
        yield from _by_state(suitable, decision, total - unsuitable, kinds)
        return
    if too_large := _too_large(rejected, kinds, decision):
        yield too_large
        return
    first, *rest = _by_kind(rejected, kinds, decision)
    no_host = '' if total == 1 else 'no suitable host exists: '
    yield first._replace(words=f'{no_host}{first.words}')
    yield from rest


def _is_comparable(reasons: Iterable[Verdict]) -> bool:
    """Check whether the host offers CPUs, memory and disk, unlike an Ironic node."""
    return not any(
        each.code == _NOT_OFFERED and each.facts['resource'] in UNIT_CLASSES for each in reasons
    )


def _lacks_custom_class(reasons: Iterable[Verdict]) -> bool:
    """Check whether the host lacks a class such as that of an Ironic node."""
    return any(
        each.code == _NOT_OFFERED and str(each.facts['resource']).startswith('CUSTOM_')
        for each in reasons
    )


def _too_large(
    rejected: Sequence[HostReport],
    kinds: Sequence[Collection[Verdict]],
    decision: Decision,
) -> Limit | None:
    """Return that no host is large enough, if that alone rejects the hosts nearest to suitable."""
    if len(decision.hosts) == 1 and decision.is_host_named:
        return None
    fewest = min(map(len, kinds))
    near = [each for each, found in zip(rejected, kinds, strict=True) if len(found) == fewest]
    verdicts = [each.verdicts.get(ResourcesConstraint.name) for each in near]
    facts = [each.facts for each in verdicts if each is not None and each.code == _TOO_LARGE]
    names = {each['resource'] for each in facts}
    others = {each.code for found in kinds if len(found) == fewest for each in found}
    if len(names) != 1 or not others <= {_TOO_LARGE, _NOT_OFFERED}:
        return None
    most, amount = max(each['max_unit'] for each in facts), facts[0]['amount']
    name = names.pop()
    words = f'no host is large enough (at most {most} of {amount} {name} for one server)'
    return Limit(words, _TOO_LARGE, name, f'no host is large enough for its {name}')


def _rejection(report: HostReport) -> Verdict:
    """Return the first rejection."""
    return report.verdicts[report.rejected_by or '']


def _code(report: HostReport) -> str:
    """Return the code of the first rejection."""
    return _rejection(report).code


def _has_room(report: HostReport, decision: Decision) -> bool:
    """Check whether a suitable host has room, so that only a state keeps the servers away."""
    resources = report.verdicts.get(ResourcesConstraint.name)
    # Placement does not offer a disabled host, so it guarantees nothing there.
    if report.placed or resources is None or not (resources and resources.bounds.expected):
        return False
    fixed = (*decision.about_capacity, SpreadConstraint.name)
    return not any(name in fixed for name, each in report.verdicts.items() if not each)


def _with_room(hosts: Sequence[HostReport], decision: Decision) -> Iterator[Limit]:
    """Yield "cmp-2 has room, but its compute service is disabled" for each reason."""
    groups: defaultdict[str, list[HostReport]] = defaultdict(list)
    for report in hosts:
        groups[short_sentence(_rejection(report), decision)].append(report)
    phrases = []
    for found in groups.values():
        words = shared_sentence([*map(_rejection, found)], decision)
        names = [*dict.fromkeys(each.host for each in found)]
        number = len(names)
        which = ' and '.join(names) if number <= _MOST_OPEN else f'{number:,} hosts'
        has, its = ('has', 'its') if number == 1 else ('have', 'their')
        state = agreeing(words, number).replace('the compute', f'{its} compute', 1)
        words = f'{which} {has} room, but {state}'
        phrases.append(Limit.of(words, _rejection(found[0]), decision))
    yield from _first(phrases)


def _of_kind(report: HostReport, decision: Decision) -> list[Verdict]:
    """Return each rejection that the state of the host does not cause."""
    return [
        verdict
        for name, verdict in report.verdicts.items()
        if not verdict and not decision.is_state(name, verdict)
    ]


def _why_few(kinds: Iterable[Collection[Verdict]], decision: Decision, said: Verdict) -> str:
    """Return "; 4 others are in no aggregate that matches ...", if that is true of most others.

    '' without such a reason, and if the sentence says it anyway: the resource of its rejection, or
    the zone (:func:`_which`).
    """
    others = [reasons for reasons in kinds if reasons and _is_comparable(reasons)]
    found = max(_alike(others, decision), key=len, default=())
    if 2 * len(found) <= len(others) or found[0].code == _OTHER_ZONE:
        return ''
    number, first = len(found), found[0]
    if first.code == _NOT_OFFERED and first.facts['resource'] == said.facts.get('resource'):
        return ''
    words = short_sentence(first, decision)
    colon = ':' if has_subject(words) else ''
    return f'; {number:,} {"other" if number == 1 else "others"}{colon} {agreeing(words, number)}'


def _by_state(
    suitable: Sequence[HostReport],
    decision: Decision,
    eligible: int,
    kinds: Iterable[Collection[Verdict]],
) -> Iterator[Limit]:
    """Yield the first reason of suitable hosts, and those as frequent.

    If all of one or two suitable hosts have it, also why the others are not suitable.

    :param eligible: the number of hosts that are suitable, rejected or not.
    :param kinds: of each host, why it is of another kind.
    """
    groups: dict[str, list[HostReport]] = {}
    for report in suitable:
        groups.setdefault(short_sentence(_rejection(report), decision), []).append(report)

    def importance(hosts: Sequence[HostReport]) -> tuple[bool, bool, int]:
        is_full = hosts[0].rejected_by in decision.about_capacity
        return any(each.placed for each in hosts), is_full, len(hosts)

    ranked = sorted(groups.values(), key=importance, reverse=True)
    least, total = len(ranked[0]), len(decision.hosts)
    phrases = []
    for hosts in ranked:
        if len(hosts) < least:
            continue
        number = len(hosts)
        words = shared_sentence([*map(_rejection, hosts)], decision)
        which = _which(number, eligible, decision)
        if _code(hosts[0]) == _HOST_FULL:
            comma = ',' if decision.is_host_named and total == 1 else ''
            words = f'{words}, and {which}{comma} {"is" if number == 1 else "are"} full'
        else:
            names = others = ''
            if eligible < total and number <= _MOST_NAMES:
                names = ', '.join(each.host for each in hosts)
                if number == eligible <= _FEW:
                    others = _why_few(kinds, decision, _rejection(hosts[0]))
            words = _about(words, number, which, names, others)
        phrases.append(Limit.of(words, _rejection(hosts[0]), decision))
    yield from _first(phrases)


def _about(words: str, number: int, which: str, names: str = '', others: str = '') -> str:
    """Return "2 of 5 hosts lack CUSTOM_SSD", or "too little VCPU left (2 of 5 hosts)".

    :param which: the hosts that the words are about, and their ``number`` and ``names``.
    :param others: what is said of other hosts, after "; ".
    """
    if has_subject(words):
        return f'{words} ({which}{f": {names}" if names else ""}{others})'
    comma = ',' if ', which' in which else ''
    return f'{which}{f" ({names})" if names else ""}{comma} {agreeing(words, number)}{others}'


def _by_kind(
    rejected: Sequence[HostReport], kinds: Sequence[Collection[Verdict]], decision: Decision
) -> Iterator[Limit]:
    """Yield each reason of hosts of another kind that decides.

    Those that reject every host; without any, those of the hosts with the fewest. The number of a
    reason is that of the hosts whose first rejection it is, as in the list of hosts. A reason that
    rejects all hosts, or is the first rejection of none, counts all that it rejects; if others come
    first on some of these, a last limit says so.

    :param kinds: the reasons of each host.
    """
    comparable = kinds
    if not any(map(_lacks_custom_class, kinds)):
        comparable = [*filter(_is_comparable, kinds)] or kinds
    fewest, total = min(map(len, comparable)), len(decision.hosts)
    near = [reasons for reasons in comparable if len(reasons) == fewest]
    every = {short_sentence(found[0], decision): found for found in _alike(kinds, decision)}
    shared = [found for found in every.values() if len(found) == len(kinds)]
    ranked = shared or sorted(_alike(near, decision), key=len, reverse=True)
    firsts: defaultdict[str, list[Verdict]] = defaultdict(list)
    for verdict in map(_rejection, rejected):
        firsts[short_sentence(verdict, decision)].append(verdict)
    phrases, is_as_listed = [], True
    for found in ranked:
        short = short_sentence(found[0], decision)
        listed = firsts.get(short, ())
        counted = every[short] if shared or not listed else listed
        is_as_listed &= len(counted) == len(listed)
        words = shared_sentence(counted, decision)
        words = _about(words, len(counted), _which(len(counted), total, decision))
        phrases.append(Limit.of(words, found[0], decision))
    yield from _first(phrases)
    if not is_as_listed and total > 1:
        yield Limit('some hosts are rejected for several reasons')


def _alike(
    kinds: Iterable[Collection[Verdict]], decision: Decision
) -> Collection[Sequence[Verdict]]:
    """Return the verdicts with the same short sentence, one of each host."""
    found: defaultdict[str, list[Verdict]] = defaultdict(list)
    for reasons in kinds:
        for words, verdict in {short_sentence(each, decision): each for each in reasons}.items():
            found[words].append(verdict)
    return found.values()


def _first(limits: Sequence[Limit]) -> Iterator[Limit]:
    """Yield the first few limits, and "and 2 other reasons"."""
    yield from limits[:_MOST_REASONS]
    hidden = len(limits) - _MOST_REASONS
    if hidden > 0:
        yield Limit(f'and {hidden} other {"reason" if hidden == 1 else "reasons"}')


def _which(number: int, eligible: int, decision: Decision) -> str:
    """Return "all 4 hosts", "2 of 4 hosts", "both suitable hosts" or "2 of 3 suitable hosts".

    The number of all suitable hosts counts if it is not that of all hosts; a requested zone is then
    named. A host that the request names: "cmp-3, which the request names".
    """
    total = len(decision.hosts)
    if total == 1 and decision.is_host_named:
        return f'{decision.hosts[0].host}, which the request names'
    if eligible == total:
        return all_hosts(total) if number == total else f'{number:,} of {total:,} hosts'
    zone = _zone(decision)
    if number < eligible:
        return f'{number:,} of {eligible:,} suitable hosts{zone}'
    few = {1: 'the only suitable host', 2: 'both suitable hosts'}
    return f'{few.get(number, f"all {number:,} suitable hosts")}{zone}'


def _zone(decision: Decision) -> str:
    """Return " in zone az-2" if the request names a zone that some hosts are not in."""
    verdicts = (each.verdicts.get(AvailabilityZoneConstraint.name) for each in decision.hosts)
    found = (each for each in verdicts if each is not None and each.code == _OTHER_ZONE)
    return next((f' in zone {each.facts["wanted"]}' for each in found), '')
