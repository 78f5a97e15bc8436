"""The hook with the preflight."""

import dataclasses
import itertools
from collections import Counter

import pytest

from senlin_affinity.conf.installed import load_constraints
from senlin_affinity.constraints.image import ImageConstraint
from senlin_affinity.model.errors import AffinityError, CloudError
from senlin_affinity.model.image import Image
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.policy.binding import Binding
from senlin_affinity.policy.placement import Placement, Refusal
from senlin_affinity.policy.properties import TYPE
from senlin_affinity.preflight import hook, run
from senlin_affinity.preflight.cloud_view import IMAGE, CloudView, Coverage
from senlin_affinity.preflight.question import Question
from senlin_affinity.preflight.scale_request import ScaleRequest
from tests.support.small_cloud import CONSTRAINTS, Fence, rules_of, snapshot_of
from tests.support.tables import check_error, raises, rows

RULES = (*CONSTRAINTS, ImageConstraint())
BOUND = Binding('g', True)
PROFILE = {'flavor': 'small', 'image': 'cirros'}


class Story:
    """A row's cloud, and what was said and read."""

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
        )
        self.bound = dataclasses.replace(BOUND, rules=row.get('remembered'))

    def scale_request(self, constraints):
        return ScaleRequest(self.question, self.bound, constraints)

    def seen(self):
        """What an adapter answers, by what is needed."""
        needs = run.scope_of(self.scale_request(()))
        if 'fails' in self.row:
            return CloudError(self.row['fails'])
        assert needs.server_groups == ('g',)
        snapshot, unknown, images = snapshot_of(self.row), self.row.get('unknown', {}), {}
        if needs.image is not None:
            self.images.append(needs.image)
            if 'image_fails' not in self.row:
                images[needs.image] = Image(**self.row.get('image', {}))
            else:
                unknown = {**unknown, IMAGE: self.row['image_fails']}
        return CloudView(snapshot, unknown, images, self.row.get('owner_sees_hosts', True))

    def place(self):
        outcome = hook.decide(self.scale_request(RULES), self.seen())
        self.warnings += [outcome.warning] * (outcome.warning is not None)
        self.notes += [outcome.note] * (outcome.note is not None)
        return outcome.answer


NO_LATE_CHECK = {'disable_group_policy_check_upcall': True}


@pytest.mark.parametrize('row', rows('policy_planned'))
def test_place(row):
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
        assert not any(f'{host} ' in answer.reason for host in row.get('hosts') or ())
    assert [row['warns'] in said for said in story.warnings] == [True] * ('warns' in row)
    assert [row['notes'] in said for said in story.notes] == [True] * ('notes' in row)
    if 'images' in row:
        assert story.images == row['images']
    assert story.place().data() == answer.data(), 'RX-09: twice the same'


@pytest.mark.parametrize(
    ('disk', 'note'),
    [
        (1, 'fits, on 1 of the hosts that would do'),
        (
            0,
            'fits, on 1 of the hosts that would do, assuming that Nova lets the user boot an image '
            'with a flavor of disk 0',
        ),
    ],
)
def test_a_yes_by_a_few_hosts_says_what_it_rests_on(disk, note):
    story = Story({'hosts': {'cmp-1': {}}, 'flavor': {'disk': disk}, 'count': 1})
    view = dataclasses.replace(story.seen(), coverage=Coverage.ENOUGH)
    assert hook.decide(story.scale_request(RULES), view).note == note


#: A host with room, a full one, one that was not read, and one that is refused for more than room.
KINDS = {'open': {}, 'full': {'free': 0}, 'unread': {'resources': None}, 'out': {}}


@pytest.mark.parametrize('max_skew', [1, 2])
def test_zones_are_even_among_those_that_may_take_a_node(max_skew):
    """Whatever is known of their hosts, and whatever they hold."""
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
# name, row, words (None: nothing is said)
CEILINGS = [
    ('the group holds it', {'count': 2}, None),
    ('the group does not hold it', {'count': 3}, 'max_server_per_host: 2 (capacity 4)'),
    ('the quota does not', {'count': 2, 'quotas': {'instances': [1, 0]}}, 'quota instances: 2'),
    ('the flavor is too small', {'count': 1, 'image': {'min_ram': 513}}, 'image.min_ram'),
    ('hosts that are full', {'count': 2, 'hosts': {'cmp-1': {'free': 0}, 'cmp-2': {}}}, None),
    ('hosts that are off', {'count': 2, 'hosts': {'cmp-1': {'down': True}, 'cmp-2': {}}}, None),
    ('hosts that nobody sees', {'count': 9, 'hosts': None}, None),
    (
        'reservations that the owner cannot be held to',
        {'count': 9, 'hosts': None, 'unknown': {'hosts': 'Nova says no'}, 'rules': RESERVED},
        None,
    ),
    (
        'a zone that is too small',
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
    ('row', 'words'), [item[1:] for item in CEILINGS], ids=[item[0] for item in CEILINGS]
)
def test_ceiling(row, words):
    story = Story({'hosts': {'cmp-1': {}, 'cmp-2': {}}, **row})
    why = hook.max_size_shortfall(story.scale_request(RULES), story.seen())
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
def test_a_policy_that_nothing_enforces(policy, filters, options, properties, is_warned):
    scale_request = Story({'count': 1, 'properties': properties}).scale_request(RULES)
    asked = dataclasses.replace(scale_request.question, enabled_filters=filters, options=options)
    bound = Binding('g', True, '1.1', policy)
    why = hook.unenforced(dataclasses.replace(scale_request, question=asked, binding=bound))
    assert (why is not None) is is_warned
    assert why is None or why.startswith(f'{policy} is not enforced here: the scheduler does not')


@pytest.mark.parametrize('is_unresolvable', [True, False])
def test_a_rule_of_another_package_says_itself_that_it_lasts(is_unresolvable):
    fence = Fence()
    fence.is_unresolvable = is_unresolvable
    story = Story({'count': 2, 'hosts': {'cmp-1': {'aggregates': ['fenced']}}})
    why = hook.max_size_shortfall(story.scale_request([fence]), story.seen())
    assert (why is not None) is is_unresolvable
    assert why is None or 'fence.forbidden on 1' in why


def test_a_ceiling_names_no_filter_that_a_constraint_models():
    """A constraint that does not last is not asked, but its filter is modelled all the same."""
    story = Story({'count': 3, 'hosts': {'cmp-1': {}, 'cmp-2': {}}})
    scale_request = story.scale_request(load_constraints())
    filters = (*DEFAULT_FILTERS, 'AggregateInstanceTypeFilter', 'SomeoneElsesFilter')
    question = dataclasses.replace(scale_request.question, enabled_filters=filters)
    scale_request = dataclasses.replace(scale_request, question=question)
    why = hook.max_size_shortfall(scale_request, story.seen())
    assert 'at most 2, because of filter SomeoneElsesFilter; would help' in why


def test_the_words_of_a_refusal_stay_short():
    """A thousand hosts of every kind of trouble are a few codes."""
    hosts = {f'cmp-{n}': {'zone': f'az{n % 50}', 'down': n % 3 == 0} for n in range(1000)}
    row = {'hosts': hosts, 'properties': {'availability_zone': 'az1'}, 'count': 999}
    answer = Story(row).place()
    assert isinstance(answer, Refusal)
    assert len(answer.reason) < 500
