"""Whose quotas count for a request, and who its user is."""

import pytest

from senlin_affinity.model.cloud import Cloud, Quota
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.nova.quotas import has_hidden_quotas, quotas_of
from tests.support.asked import Given, NamedRequest, with_values


def resolved(project=None, user=None, group=None, own=('ours', 'amy'), known=True, **rules):
    """Return a request in the snapshot of ``own``, a project and a user."""
    quotas = {'instances': Quota(9, 1, of_user=Quota(3, 1))} if known else None
    snapshot = Cloud(quotas=quotas, project_id=own[0], user_id=own[1])
    request = NamedRequest(1, 'f', project_id=project, user_id=user)
    if group is not None:
        group = ServerGroup('g', 'web', 'affinity', project_id=group[0], user_id=group[1])
    return with_values(request, snapshot, server_group=group, given=Given(**rules))


@pytest.mark.parametrize(
    ('request_', 'user'),
    [
        ({}, 'amy'),
        ({'group': ('ours', 'bob')}, 'amy'),
        ({'group': ('theirs', 'bob')}, 'bob'),
        ({'group': ('theirs', 'bob'), 'own': ('theirs', None)}, 'bob'),
        ({'group': ('theirs', 'bob'), 'project': 'ours'}, 'amy'),
        ({'group': ('theirs', 'bob'), 'project': 'others'}, None),
        ({'project': 'theirs'}, None),
        ({'group': ('theirs', 'bob'), 'user': 'eve'}, 'eve'),
        ({'user': 'eve'}, 'eve'),
        ({'group': (None, None), 'own': (None, None)}, None),
    ],
)
def test_rx_07_the_user_is_given_or_the_callers_or_the_creator_of_the_group(request_, user):
    assert resolved(**request_).request.user_id == user


def test_rx_07_a_quota_of_another_user_does_not_count():
    """Every quota may have a part for each user."""
    assert quotas_of(*resolved()) == {'instances': Quota(9, 1, of_user=Quota(3, 1))}
    assert quotas_of(*resolved(user='eve')) == {'instances': Quota(9, 1)}
    assert quotas_of(*resolved(project='theirs')) is None
    assert quotas_of(*resolved(known=False)) is None


def test_ignored_quotas_are_not_missing():
    ignored = resolved(project='theirs', waived=frozenset({'quota'}))
    assert (quotas_of(*ignored), has_hidden_quotas(*ignored)) == (None, False)
    assert quotas_of(*resolved(waived=frozenset({'quota'}))) is None
    assert has_hidden_quotas(*resolved(project='theirs'))
