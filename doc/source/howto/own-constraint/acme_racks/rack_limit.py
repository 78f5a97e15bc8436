"""At most so many servers of one group in one rack, as aggregates name it: ``rack=r1``."""

from senlin_affinity.constraints import base
from senlin_affinity.constraints.base import Domain, Option, Reason, Verdict

BY = 'rack'
MOST = Option('most_per_rack', 0, 'Servers of one group in one rack; 0: no limit.', minimum=0)


class RackLimit(base.Constraint):
    """A rule about sets of hosts."""

    name = 'rack_limit'
    order = 106
    summary = 'no more servers of one group in one rack than most_per_rack'
    needs = ('hosts', 'aggregates', 'server_groups')
    reads = ('aggregates',)
    couples_domains = False
    options = (MOST,)
    reasons = {
        'rack_limit.off': Reason('there is no limit, or no server group'),
        'rack_limit.unknown': Reason('the servers of the group, or the rack, are not known'),
        'rack_limit.no_rack': Reason('in no rack: not limited'),
        'rack_limit.in_rack': Reason('in one rack'),
        'rack_limit.several': Reason('in several racks', advice='leave the host in one rack'),
        'rack_limit.room': Reason('rack {rack} holds {servers} of {limit} servers'),
        'rack_limit.full': Reason(
            'rack {rack} holds {servers} of {limit} servers',
            advice='raise most_per_rack, or add racks',
            detail='rack',
        ),
    }

    def has_domains(self, request, scenario):
        return request.option(MOST) > 0 and request.server_group is not None

    def prepare(self, request, cloud):
        has_group = request.server_group is not None or request.unknown_group is not None
        if not has_group or not request.option(MOST):
            return Verdict.skipped('rack_limit.off')
        if request.server_group is None or cloud.aggregates is None:
            return Verdict.unknown('rack_limit.unknown')
        return None  # check needs nothing of the request

    def check(self, asked, host, cloud):
        racks = base.domains_of(cloud, BY, host)
        if len(racks) > 1:
            return Verdict.rejected('rack_limit.several')
        return Verdict.passed('rack_limit.in_rack' if racks else 'rack_limit.no_rack')

    def domains(self, request, scenario, host):
        racks = base.domains_of(scenario.cloud, BY, host) or ()
        if len(racks) != 1:
            return []  # prepare or check has the verdict
        return [Domain(BY, rack) for rack in racks]

    def check_domains(self, request, scenario, rooms):
        held, limit = scenario.servers_by(request, BY), request.option(MOST)
        verdicts, lost = {}, request.server_group.has_lost_members
        for domain in rooms:
            facts = {'rack': domain.name, 'servers': held[domain.name], 'limit': limit}
            room = limit - held[domain.name]
            if room < 1:
                verdicts[domain] = Verdict.rejected('rack_limit.full', **facts)
            else:
                verdicts[domain] = Verdict.passed(
                    'rack_limit.room', room=room, is_at_most=lost, **facts
                )
        return verdicts

    def proposals(self, request, scenario, evaluation):
        if self.has_domains(request, scenario):
            now, held = request.option(MOST), scenario.servers_by(request, BY).values()
            yield base.RaisedNumber(
                'most_per_rack',
                'most_per_rack: {number}',
                path=('options', MOST.key),
                now=now,
                most=request.count + max(0, max(held, default=0) - now),
            )
