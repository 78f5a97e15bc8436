"""Create a Senlin cluster with an affinity policy, and let it grow.

Run: cluster.py create, cluster.py grow N.
"""

import collections
import pathlib
import sys
import textwrap
import time

import openstack
import yaml

ETC = pathlib.Path('etc/senlin-affinity')
cloud = openstack.connect()
senlin = cloud.clustering


def finished(operation, *arguments):
    """Start an action when no other action of the cluster runs, and wait until it ends."""
    while (answer := operation(*arguments)).get('code') == 409:
        time.sleep(1)
    while (action := senlin.get_action(answer['action'])).status not in ('SUCCEEDED', 'FAILED'):
        time.sleep(1)
    return action


def create():
    profile = yaml.safe_load((ETC / 'profiles/server.yaml').read_text())
    policy = yaml.safe_load((ETC / 'policies/anti-affinity.yaml').read_text())
    profile = senlin.create_profile(name='small', spec=profile)
    policy = senlin.create_policy(name='spread', spec=policy)
    cluster = senlin.create_cluster(name='web', profile_id=profile.id, desired_capacity=0)
    print(finished(senlin.attach_policy_to_cluster, cluster, policy.id).status)


def grow(count):
    action = finished(senlin.scale_out_cluster, senlin.get_cluster('web'), count)
    reason = textwrap.fill(action.status_reason, 72, break_on_hyphens=False)
    print(action.status, reason, sep='\n')
    # Instead of the name of a host, Nova shows a tenant an id: equal for servers on one host.
    hosts = collections.Counter(server.host_id for server in cloud.compute.servers())
    print('servers on each host:', *hosts.values())


create() if sys.argv[1] == 'create' else grow(int(sys.argv[2]))
