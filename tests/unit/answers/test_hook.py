"""The hook checks a request for more nodes before they are created."""

import itertools
from collections import Counter

import pytest
from msgspec import structs

from senlin_affinity.answers import hook
from senlin_affinity.conf.constraint_plugins import load_constraints
from senlin_affinity.constraints.image import ImageConstraint
from senlin_affinity.model.cloud import IMAGE, Cloud, OtherHosts
from senlin_affinity.model.errors import AffinityError, BindingError, CloudError, InvalidSpec
from senlin_affinity.model.image import Image
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.policy.properties import TYPE
from senlin_affinity.policy.senlin_data import NO_DRS_HOST, Placement, Refusal
from senlin_affinity.preflight.question import Question
from tests.support.small_cloud import CONSTRAINTS, Fence, rules_of, snapshot_of
from tests.support.tables import check_error, raises, rows
from tests.support.values import replace

RULES = (*CONSTRAINTS, ImageConstraint())
PROFILE = {'flavor': 'small', 'image': 'cirros'}


class Story:
    """A request of a row in the cloud of the row, and the resulting warnings and notes."""

    def __init__(self, row):
        self.row = {'group': {'policy': 'anti-affinity'}, **row}
        self.warnings, self.notes, self.images = [], [], []
        given = row.get('rules', {})
        values = {key: tuple(x) if isinstance(x, list) else x for key, x in given.items()}
        policy = {'type': TYPE, 'version': '1.1', 'properties': row.get('properties', {})}
        spec = {'properties': {**PROFILE, **row.get('profile', {})}}
        self.question = Question(
            row['count'],
            server_group='g',
            policy=policy,
            profile=spec,
            options=values,
            enabled_filters=tuple(row.get('enabled_filters', DEFAULT_FILTERS)),
            explicit_options=rules_of(row).explicit,
            group_rules=row.get('remembered'),
        )

    def view(self):
        """Return the part of the row's cloud that the request needs."""
        if 'fails' in self.row:
            return CloudError(self.row['fails'])
        snapshot, unknown, images = snapshot_of(self.row), self.row.get('unknown', {}), {}
        image = self.question.named_image
        if image is not None:
            self.images.append(image)
            if 'image_fails' not in self.row:
                images[image] = Image(**self.row.get('image', {}))
            else:
                unknown = {**unknown, IMAGE: self.row['image_fails']}
        return structs.replace(
            snapshot,
            unavailable=unknown,
            images=images,
            owner_sees_hosts=self.row.get('owner_sees_hosts', True),
        )

    def place(self):
        outcome = hook.place_nodes(self.question, RULES, self.view())
        self.warnings += [outcome.warning] * (outcome.warning is not None)
        self.notes += [outcome.note] * (outcome.note is not None)
        return outcome.answer


NO_LATE_CHECK = {'disable_group_policy_check_upcall': True}


@pytest.mark.parametrize('row', rows('policy_planned'))
def test_place_nodes(row):
    story = Story(row)
    if raises(row):
        with pytest.raises(AffinityError) as caught:
            story.place()
        check_error(row, caught.value)
        return
    answer = story.place()
    if row['outcome'] == 'placed':
        assert isinstance(answer, Placement), answer
        zones = row['zones'] if isinstance(row['zones'], list) else [None] * row['zones']
        expected = [
            {**({} if zone is None else {'zone': zone}), 'servergroup': 'g'} for zone in zones
        ]
        assert answer.data() == {'placement': {'count': row['count'], 'placements': expected}}
    else:
        assert isinstance(answer, Refusal), answer
        assert answer.status_reason == row.get('status_reason', answer.reason)
        says = row.get('says', ())
        for words in [says] if isinstance(says, str) else says:
            assert words in answer.reason
        if 'remedies' in row:
            assert answer.reason.partition('would help: ')[2].count('capacity') == row['remedies']
        # Remedies name hosts, for an owner who may list them; the rest only counts them.
        counts = answer.reason.partition('would help: ')[0]
        assert not any(f'{host} ' in counts for host in row.get('hosts') or ())
    assert [row['warns'] in text for text in story.warnings] == [True] * ('warns' in row)
    assert [row['notes'] in text for text in story.notes] == [True] * ('notes' in row)
    if 'images' in row:
        assert story.images == row['images']
    assert story.place().data() == answer.data(), 'RX-09: the second call returns the same'


@pytest.mark.parametrize(
    ('disk', 'note'),
    [
        (1, 'fits on 1 of the possible hosts'),
        (
            0,
            'fits on 1 of the possible hosts, assuming that Nova lets the user boot an '
            'image '
            'with a flavor of disk 0',
        ),
    ],
)
def test_an_acceptance_by_a_sample_logs_its_assumptions(disk, note):
    story = Story({'hosts': {'cmp-1': {}}, 'flavor': {'disk': disk}, 'count': 1})
    view = replace(story.view(), rest=OtherHosts.UNKNOWN)
    assert hook.place_nodes(story.question, RULES, view).note == note


#: An available host, a full one, one with unknown resources, and one that a constraint rejects.
KINDS = {'open': {}, 'full': {'free': 0}, 'unread': {'resources': None}, 'out': {}}


@pytest.mark.parametrize('max_skew', [1, 2])
def test_servers_are_spread_evenly_over_the_zones_that_accept_servers(max_skew):
    """Full zones and zones with unknown resources count, too."""
    spread = [{'by': 'availability_zone', 'max_skew': max_skew}]
    for kinds in itertools.combinations_with_replacement(KINDS, 3):
        hosts = {
            f'cmp-{zone}': {'zone': zone, 'aggregates': ['fenced'] * (kind == 'out'), **KINDS[kind]}
            for zone, kind in zip(('az-1', 'az-2', 'az-3'), kinds, strict=True)
        }
        zones = {each['zone'] for each in hosts.values() if not each['aggregates']}
        if not zones:
            continue
        row = {
            'hosts': hosts,
            'group': {'policy': 'soft-anti-affinity', 'members': ['cmp-az-2'] * 2},
            'properties': {
                'preflight': 'warn',
                'servergroup': {'policies': 'soft-anti-affinity'},
                'spread': spread,
            },
            'count': 5,
        }
        story = Story(row)
        answer = story.place()
        placed = Counter(answer.hosts)
        held = placed + Counter({'az-2': 2})
        assert placed.total() == 5
        assert set(placed) <= zones, kinds
        least = min(held[zone] for zone in zones)
        assert all(held[zone] - least <= max_skew for zone in placed), kinds


RESERVED = {'required_member_prefix': 'licence:'}
# name, row, text of the shortfall (None: no shortfall)
SHORTFALLS = [
    ('enough slots', {'count': 2}, None),
    (
        'too few slots',
        {'count': 3},
        'max_server_per_host: 2 (capacity 4)',
    ),
    (
        'too few slots without the late check, which the filter enforces',
        {'count': 3, 'rules': {'disable_group_policy_check_upcall': True}},
        'max_server_per_host: 2 (capacity 4)',
    ),
    (
        'an exceeded quota',
        {'count': 2, 'quotas': {'instances': [1, 0]}},
        'quota instances: 2',
    ),
    (
        'a flavor too small for the image',
        {'count': 1, 'image': {'min_ram': 513}},
        'image.min_ram',
    ),
    (
        'full hosts may become free',
        {'count': 2, 'hosts': {'cmp-1': {'free': 0}, 'cmp-2': {}}},
        None,
    ),
    (
        'hosts that are down may start',
        {'count': 2, 'hosts': {'cmp-1': {'down': True}, 'cmp-2': {}}},
        None,
    ),
    ('unknown hosts may be enough', {'count': 9, 'hosts': None}, None),
    (
        'unknown hosts may be reserved',
        {'count': 9, 'hosts': None, 'unknown': {'hosts': 'Nova says no'}, 'rules': RESERVED},
        None,
    ),
    (
        'a zone with too few hosts',
        {
            'count': 2,
            'properties': {'availability_zone': 'az1'},
            'hosts': {'cmp-1': {'zone': 'az1'}, 'cmp-2': {}},
            'aggregates': {'one': {'zone': 'az1'}},
        },
        'availability_zone.other_zone on 1',
    ),
]


@pytest.mark.parametrize(
    ('row', 'words'), [item[1:] for item in SHORTFALLS], ids=[item[0] for item in SHORTFALLS]
)
def test_max_size_shortfall(row, words):
    story = Story({'hosts': {'cmp-1': {}, 'cmp-2': {}}, **row})
    why = hook.max_size_shortfall(story.question, RULES, story.view())
    assert (why is None) == (words is None), why
    if words is not None:
        assert why.startswith('does not fit: ')
        assert words in why
    assert story.warnings == []


@pytest.mark.parametrize(
    ('policy', 'filters', 'options', 'properties', 'is_warned'),
    [
        ('anti-affinity', ['ComputeFilter'], NO_LATE_CHECK, {}, True),
        ('affinity', ['ServerGroupAntiAffinityFilter'], NO_LATE_CHECK, {}, True),
        ('anti-affinity', ['ComputeFilter'], {}, {}, False),
        ('anti-affinity', None, NO_LATE_CHECK, {}, False),
        ('soft-affinity', ['ComputeFilter'], NO_LATE_CHECK, {}, False),
        (None, ['ComputeFilter'], NO_LATE_CHECK, {}, False),
        ('anti-affinity', ['ComputeFilter'], NO_LATE_CHECK, {'pin_hosts': True}, False),
    ],
)
def test_a_policy_that_no_filter_enforces_is_reported(
    policy, filters, options, properties, is_warned
):
    asked = Story({'count': 1, 'properties': properties}).question
    why = hook.unenforced(replace(asked, enabled_filters=filters, options=options), policy)
    assert (why is not None) is is_warned
    assert why is None or why.startswith(f'{policy} is not enforced here: the scheduler does not')


@pytest.mark.parametrize('is_unresolvable', [True, False])
def test_a_constraint_declares_that_its_rejection_lasts(is_unresolvable):
    fence = Fence()
    fence.is_unresolvable = is_unresolvable
    story = Story({'count': 2, 'hosts': {'cmp-1': {'aggregates': ['fenced']}}})
    why = hook.max_size_shortfall(story.question, [fence], story.view())
    assert (why is not None) is is_unresolvable
    assert why is None or 'fence.forbidden on 1' in why


def test_a_shortfall_names_only_filters_that_no_constraint_models():
    """A constraint about the current state is not evaluated, but it still models its filter."""
    story = Story({'count': 3, 'hosts': {'cmp-1': {}, 'cmp-2': {}}})
    filters = (*DEFAULT_FILTERS, 'AggregateInstanceTypeFilter', 'SomeoneElsesFilter')
    asked = replace(story.question, enabled_filters=filters)
    why = hook.max_size_shortfall(asked, load_constraints(), story.view())
    assert 'at most 2, because of filter SomeoneElsesFilter; would help' in why


def test_a_rejection_on_a_thousand_hosts_is_short():
    """Reasons are grouped by code."""
    hosts = {f'cmp-{n}': {'zone': f'az{n % 50}', 'down': n % 3 == 0} for n in range(1000)}
    row = {'hosts': hosts, 'properties': {'availability_zone': 'az1'}, 'count': 999}
    answer = Story(row).place()
    assert isinstance(answer, Refusal)
    assert len(answer.reason) < 500


def test_nothing_is_placed_without_nodes():
    asked = Story({'count': 0}).question
    assert hook.place_nodes(asked, RULES, Cloud()).answer == Placement(0, '')


def test_nodes_are_rejected_without_a_binding():
    asked = replace(Story({'count': 1}).question, server_group=None)
    with pytest.raises(BindingError, match='detach the policy and attach it again'):
        hook.place_nodes(asked, RULES, Cloud())


def test_the_spread_over_zones_is_one_of_several():
    spread = [{'by': 'rack'}, {'by': 'availability_zone', 'mode': 'soft'}]
    asked = Story({'count': 1, 'properties': {'spread': spread}}).question
    assert asked.zone_spread.by == 'availability_zone'


@pytest.mark.parametrize(
    ('spread', 'zone'), [({}, 'nova'), ({'mode': 'soft'}, None), ({'by': 'rack'}, None)]
)
def test_a_hard_spread_over_zones_ignores_the_default_zone(spread, zone):
    hosts = {'cmp-1': {}, 'cmp-2': {'zone': 'az-1'}}
    properties = {'spread': [{'by': 'availability_zone', **spread}]}
    row = {'hosts': hosts, 'aggregates': {'one': {'zone': 'az-1'}}, 'properties': properties}
    story = Story({**row, 'count': 1})
    assert hook.default_zone(story.question, story.view()) == zone


@pytest.mark.parametrize('mode', ['hard', 'soft'])
def test_a_full_zone_gets_no_more_servers(mode):
    soft = {'servergroup': {'policies': 'soft-anti-affinity'}}
    spread = [{'by': 'availability_zone', 'max_skew': 2, 'mode': mode}]
    hosts = {'cmp-1': {'zone': 'az-1', 'free': 1}, 'cmp-2': {'zone': 'az-2'}}
    row = {'hosts': hosts, 'group': {'policy': 'soft-anti-affinity'}, 'count': 3}
    story = Story({**row, 'properties': {**soft, 'spread': spread}})
    assert sorted(story.place().hosts) == ['az-1', 'az-2', 'az-2']


def test_without_constraints_nothing_is_decided():
    story = Story({'hosts': {'cmp-1': {}}, 'count': 1})
    error = InvalidSpec('no such constraint')
    with pytest.raises(InvalidSpec, match='no such constraint'):
        hook.place_nodes(story.question, (), error)


def test_an_owner_without_a_drs_host_reads_no_fact_about_hosts():
    properties = {'preflight': 'off', 'enable_drs_extension': True}
    asked = Story({'count': 1, 'properties': properties}).question
    view = Cloud((), owner_sees_hosts=False)
    result = hook.place_nodes(asked, (), view)
    assert result.answer == Refusal(NO_DRS_HOST)
    assert 'no hypervisor and no compute service has' in result.refusal


def test_an_owner_reads_a_warning_without_facts_about_hosts():
    row = {'hosts': {'cmp-1': {}}, 'count': 2, 'properties': {'preflight': 'warn'}}
    story = Story({**row, 'owner_sees_hosts': False})
    result = hook.place_nodes(story.question, RULES, story.view())
    assert result.advice.startswith('does not fit: at most 1 of 2; a host may hold 1 of server ')
    assert 'server_group.host_full on 1' in result.warning
