"""Run races in the sandbox, with a real Nova, Placement and Senlin, their APIs, engine and workers.

In each round, four clusters get new policies that name one server group. They attach, grow, are
resized and detach; all clusters take each step at the same time. After a round, Nova must have the
same groups as before.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable

from senlin_affinity.model.errors import CloudError
from tests.reliability import promises
from tests.reliability.report import Broken, Part
from tests.support.cloud_fixtures import Judged, Tenant, Truth
from tests.support.sandbox import SandboxCloud

NAME = 'races'
SUCCEEDED, REFUSED = 'succeeded', 'refused'
CLUSTERS = 4
_HOSTS = {'cmp-1': {}, 'cmp-2': {}}


def run(rounds: int, tell: Callable[[str], object] = str) -> Part:
    """Run this number of rounds."""
    begun = time.monotonic()
    outcomes: Counter[str] = Counter()
    found: list[Broken] = []
    with SandboxCloud(_HOSTS, senlin=True) as cloud:
        racing = Racing(Tenant(cloud.connection('demo')), Truth(cloud.connection('admin')))
        for number in range(1, rounds + 1):
            refused, broken = racing.race(number)
            outcomes[REFUSED if refused else SUCCEEDED] += 1
            found += [(f'round {number}', *item) for item in broken]
            tell(f'round {number}: {refused or "succeeded"} {broken or ""}')
    return Part(NAME, rounds, outcomes, tuple(found), time.monotonic() - begun)


class Racing:
    """Four clusters of one project."""

    def __init__(self, user: Tenant, truth: Truth) -> None:
        self.user, self.truth = user, truth
        profile = user.profile()
        self.clusters = [user.cluster(profile) for _ in range(CLUSTERS)]

    def race(self, seed: int) -> tuple[list[str], list[tuple[str, str]]]:
        """Run one round; return the reasons of refusals, and the violations."""
        draw, name = random.Random(seed), f'race-{seed}'
        foreign = self.user.create_group(name, 'soft-anti-affinity') if seed % 3 == 0 else None
        before = self.truth.groups()
        wanted = {'name': name, 'policies': 'soft-anti-affinity'}
        shared = self.user.policy(servergroup=wanted)
        policies = {
            cluster: draw.choice((shared, self.user.policy(servergroup=wanted)))
            for cluster in self.clusters
        }
        refused, broken = [], []
        steps: list[Callable[[str], Judged]] = [
            lambda cluster: self.user.attach(cluster, policies[cluster]),
            lambda cluster: self.user.scale_out(cluster, 1),
            lambda cluster: self.user.resize(cluster, 'EXACT_CAPACITY', draw.choice((0, 2))),
            lambda cluster: self.user.resize(cluster, 'EXACT_CAPACITY', 0),
            lambda cluster: self.user.detach(cluster, policies[cluster]),
        ]
        racing = list(self.clusters)
        try:
            for number, step in enumerate(steps):
                draw.shuffle(racing)
                running = {each: step(each) for each in racing}
                ended = {each: action.ended() for each, action in running.items()}
                failed = [each for each in racing if ended[each].status != 'SUCCEEDED']
                refused += [ended[each].reason for each in failed]
                if not number:  # attaches wait for each other
                    broken += [(promises.RECOVERY, ended[each].reason) for each in failed]
                    racing = [each for each in racing if each not in failed]
        except CloudError as error:  # an action exceeded its deadline
            broken.append((promises.HANG, str(error)))
        after = self.truth.groups()
        broken += [(promises.LEAK, each) for each in after if each not in before]
        broken += [(promises.FOREIGN, each) for each in before if each not in after]
        if foreign is not None and self.truth.group_by_id(foreign) is not None:
            self.user.compute.delete_server_group(foreign)
        return refused, broken
