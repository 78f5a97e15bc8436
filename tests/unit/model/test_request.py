"""Whose quotas count for a request, and who its user is."""

import pytest

from senlin_affinity.model.request import PlacementRequest, ResolvedRequest, Rules
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.snapshot import CloudSnapshot, Quota


def resolved(project=None, user=None, group=None, own=('ours', 'amy'), known=True, **rules):
    """Return a request in the snapshot of ``own``, a project and a user."""
    quotas = {'instances': Quota(9, 1, of_user=Quota(3, 1))} if known else None
    snapshot = CloudSnapshot(quotas=quotas, project_id=own[0], user_id=own[1])
    request = PlacementRequest(1, 'f', project_id=project, user_id=user)
    if group is not None:
        group = ServerGroup('g', 'web', 'affinity', project_id=group[0], user_id=group[1])
    return ResolvedRequest(request, snapshot, server_group=group, rules=Rules(**rules))


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
    assert resolved(**request_).user_id == user


def test_rx_07_a_quota_of_another_user_does_not_count():
    """Every quota may have a part for each user."""
    assert resolved().quotas == {'instances': Quota(9, 1, of_user=Quota(3, 1))}
    assert resolved(user='eve').quotas == {'instances': Quota(9, 1)}
    assert resolved(project='theirs').quotas is None
    assert resolved(known=False).quotas is None


def test_ignored_quotas_are_not_missing():
    ignored = resolved(project='theirs', given_up=frozenset({'quota'}))
    assert (ignored.quotas, ignored.has_hidden_quotas) == (None, False)
    assert resolved(given_up=frozenset({'quota'})).quotas is None
    assert resolved(project='theirs').has_hidden_quotas
